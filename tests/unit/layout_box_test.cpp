// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests local boxes (the index ranges of the shards) for every placement on several meshes. Some
// tensor extents are smaller and some are larger than the extents of the mesh axes. The boxes must
// equal those of the naive definition, and must together cover the tensor.

#include <doctest/doctest.h>
#include <support/naive_placement.hpp>

#include <ashlar/layout/layout.hpp>

using namespace ashlar_test;

namespace {

void check_boxes(ashlar::shape const& extents, ashlar::topology const& t, placement const& p) {
  INFO(ashlar::to_string(extents));
  naive_mesh const mesh(t);
  index small;
  for (auto e : extents.extent) small.push_back(static_cast<int>(e));
  dense owners(small), holders(small);
  std::int64_t largest = 0;
  int copies = 1;
  for (int a = 0; a < t.axes(); ++a)
    if (!p[a].is_split()) copies *= t.extent(a);
  auto const all = mesh.all_coordinates();
  for (std::size_t r = 0; r < all.size(); ++r) {
    auto const c = t.coordinates_of(static_cast<int>(r));
    auto const box = ashlar::local_box(extents, t, p, c);
    auto const naive = held(small, p, mesh, all[r]);
    REQUIRE(box.rank() == extents.rank());
    for (int d = 0; d < box.rank(); ++d) {
      auto const& items = naive[static_cast<std::size_t>(d)];
      REQUIRE(box[d].size == static_cast<std::int64_t>(items.size()));
      if (!items.empty()) REQUIRE(box[d].begin == items.front());
    }
    REQUIRE(box.extents().elements() == box.elements());
    largest = std::max(largest, box.elements());
    bool const representative = ashlar::is_representative(p, c);
    for_each_index(small, [&](index const& i) {
      bool inside = true;
      for (int d = 0; d < box.rank(); ++d) {
        int const at = i[static_cast<std::size_t>(d)];
        inside = inside && at >= box[d].begin && at < box[d].end();
      }
      holders(i) += inside;
      owners(i) += inside && representative;
    });
  }
  // Of all ranks with equal copies, exactly one is the representative. Together, the
  // representatives hold each element once, or once per addend if some axes are partial.
  int addend_count = 1;
  for (int a = 0; a < t.axes(); ++a)
    if (p[a].is_partial()) addend_count *= t.extent(a);
  for (double n : owners.values) REQUIRE(n == addend_count);
  for (double n : holders.values) REQUIRE(n == copies);
  REQUIRE(ashlar::max_local_elements(extents, t, p) == largest);
}

void check_all(ashlar::topology const& t, int rank, std::vector<reduction> const& partials) {
  std::vector<std::int64_t> const sizes{0, 1, 2, 5, 7, 8};
  for (auto const& p : all_placements(rank, t.axes(), partials)) {
    if (rank == 1)
      for (auto n : sizes) check_boxes({n}, t, p);
    if (rank == 2)
      for (auto m : sizes)
        for (auto n : sizes) check_boxes({m, n}, t, p);
    if (rank == 3)
      for (auto const& s : {ashlar::shape{5, 7, 8}, ashlar::shape{1, 2, 5}, ashlar::shape{7, 0, 2},
                            ashlar::shape{8, 8, 1}})
        check_boxes(s, t, p);
  }
}

}  // namespace

TEST_CASE("the boxes of every placement of a vector, a matrix and a rank-3 tensor cover it once") {
  for (int rank : {1, 2, 3}) {
    check_all({{"node", 2}, {"gpu", 3}}, rank, {});
    check_all({{"a", 2}, {"b", 2}, {"c", 2}}, rank, {});
    check_all({{"a", 3}, {"b", 1}, {"c", 2}}, rank, {});
  }
}

TEST_CASE("a partial axis leaves the box as it is, and each of its ranks holds an addend") {
  for (int rank : {1, 2}) check_all({{"node", 2}, {"gpu", 3}}, rank, {reduction::sum});
}

TEST_CASE("every rank holds a scalar") {
  ashlar::topology const t{{"a", 2}, {"b", 2}};
  for (int r = 0; r < 4; ++r)
    CHECK(ashlar::local_box({}, t, placement::all_broadcast(2), t.coordinates_of(r)).elements() ==
          1);
}

TEST_CASE("the order of the axes that split one dim decides which rows a rank has") {
  ashlar::topology const t{{"a", 2}, {"b", 2}};
  auto begin = [&](placement const& p, int rank) {
    return ashlar::local_box({8}, t, p, t.coordinates_of(rank))[0].begin;
  };
  placement const canonical{ashlar::split(0), ashlar::split(0)};
  placement const swapped{ashlar::split(0, 1), ashlar::split(0, 0)};
  int different = 0;
  for (int r = 0; r < 4; ++r) different += begin(canonical, r) != begin(swapped, r);
  CHECK(different == 2);  // 2 of the 4 ranks have different shards under the two orders
  ashlar::topology const wide{{"a", 2}, {"b", 4}};
  different = 0;
  for (int r = 0; r < 8; ++r)
    different += ashlar::local_box({8}, wide, canonical, wide.coordinates_of(r)) !=
                 ashlar::local_box({8}, wide, swapped, wide.coordinates_of(r));
  CHECK(different == 6);  // 6 of the 8 ranks have different shards under the two orders
}

TEST_CASE("boxes intersect dim by dim") {
  ashlar::box a, b;
  a.dim = {{0, 4}, {2, 5}};
  b.dim = {{3, 4}, {0, 4}};
  auto const c = ashlar::intersect(a, b);
  CHECK(c[0] == ashlar::interval{3, 1});
  CHECK(c[1] == ashlar::interval{2, 2});
  CHECK(c.elements() == 2);
}
