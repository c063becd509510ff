// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests reshapes, slices and concatenations that need no communication. The reference tries all
// placements of the result by the naive definition (naive_placement.hpp). The library must find a
// placement whenever the reference finds one, and never a wrong one.

#include <map>
#include <set>

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <support/naive_placement.hpp>

#include <ashlar/layout/reshape.hpp>
#include <ashlar/layout/slice.hpp>
#include <ashlar/mesh/text.hpp>

using namespace ashlar_test;

using ashlar::reshapes_locally;

namespace {

index naive_extents(ashlar::shape const& s) {
  index e;
  for (auto const n : s.extent) e.push_back(static_cast<int>(n));
  return e;
}

/// The row-major indices of the elements that each rank holds, by rank and in memory order.
using contents = std::vector<std::vector<int>>;

contents contents_of(ashlar::shape const& s, naive_mesh const& mesh, placement const& p) {
  dense numbers(naive_extents(s));
  for (std::size_t i = 0; i < numbers.values.size(); ++i) numbers.values[i] = double(i);
  contents all;
  for (auto const& c : mesh.all_coordinates()) {
    auto const part = cut(numbers, held(numbers.extents, p, mesh, c));
    all.emplace_back(part.values.begin(), part.values.end());
  }
  return all;
}

/// Returns one number for each axis: 0 if the axis is not partial, else a number that identifies
/// its reduction. A reshape does not change these numbers.
std::vector<int> addends_of(placement const& p) {
  std::vector<int> kinds;
  for (auto const& a : p.axis) kinds.push_back(a.is_partial() ? 1 + static_cast<int>(a.op) : 0);
  return kinds;
}

/// A placement of a shape, with a number for the elements that the ranks hold under it. Two
/// placements, even of different shapes, have equal numbers if every rank holds the same elements
/// in the same order, with the same reductions. A reshape between them then needs no communication.
struct meaning {
  placement p;
  int number;
};

/// Lists all placements of a shape, each with a number. Two placements have the same number if and
/// only if every rank holds the same elements under both (see `meaning`). Caches the lists.
class meanings {
 public:
  meanings(ashlar::topology const& t, std::vector<reduction> partials)
      : topology_(t), partials_(std::move(partials)) {}
  std::vector<meaning> const& of(ashlar::shape const& s) {
    auto& list = lists_[naive_extents(s)];
    if (list.empty())
      for (auto const& p : all_placements(s.rank(), topology_.axes(), partials_)) {
        auto const key = std::pair(addends_of(p), contents_of(s, naive_mesh(topology_), p));
        list.push_back({p, numbers_.emplace(key, int(numbers_.size())).first->second});
      }
    return list;
  }
  int of(ashlar::shape const& s, placement const& p) {
    for (auto const& m : of(s))
      if (m.p == p) return m.number;
    return -1;
  }

 private:
  ashlar::topology topology_;
  std::vector<reduction> partials_;
  std::map<index, std::vector<meaning>> lists_;
  std::map<std::pair<std::vector<int>, contents>, int> numbers_;
};

/// Returns all shapes of at most `rank` dimensions with n elements. For n = 0, only extents 0, 1
/// and 2 occur.
std::vector<ashlar::shape> shapes_of(int n, int rank) {
  std::vector<ashlar::shape> all;
  for (int r = 0; r <= rank; ++r)
    for_each_index(index(static_cast<std::size_t>(r), n == 0 ? 3 : n + 1), [&](index const& i) {
      ashlar::shape s;
      for (int e : i) s.extent.push_back(e);
      if (s.elements() == n) all.push_back(s);
    });
  return all;
}

struct tally {
  int legal = 0, illegal = 0;
};

tally compare(ashlar::topology const& t, int elements, int rank,
              std::vector<reduction> const& partials = {}) {
  tally seen;
  meanings known(t, partials);
  auto const shapes = shapes_of(elements, rank);
  for (auto const& to : shapes) {
    std::set<int> reachable;
    for (auto const& m : known.of(to)) reachable.insert(m.number);
    for (auto const& from : shapes)
      for (auto const& before : known.of(from)) {
        auto const q = reshape_placement(from, to, t, before.p);
        // This is a plain `if` and not an assertion, because millions of doctest assertions would
        // take longer than the tested code.
        bool const right = q ? ashlar::check(*q, to.rank(), t.axes()) == nullptr &&
                                   known.of(to, *q) == before.number &&
                                   (!(from == to) || *q == before.p)
                             : !reachable.contains(before.number);
        if (!right)
          FAIL(to_string(from) << " " << before.p << " to " << to_string(to) << " "
                               << (q ? to_string(*q) : "nowhere") << " @" << t);
        ++(q ? seen.legal : seen.illegal);
      }
  }
  return seen;
}

}  // namespace

TEST_CASE("a reshape on one axis is found exactly when some placement of the result keeps it") {
  tally all;
  for (int p : {1, 2, 3, 4, 5})
    for (int n : {0, 1, 2, 3, 4, 6, 7, 8, 12}) {
      auto const seen = compare({{"gpu", p}}, n, n > 8 ? 3 : 4);
      all.legal += seen.legal;
      all.illegal += seen.illegal;
    }
  CHECK(all.legal > 1000);
  CHECK(all.illegal > 1000);
}

TEST_CASE("a reshape on two axes is found exactly when some placement of the result keeps it") {
  for (auto const& t : {ashlar::topology{{"a", 2}, {"b", 2}}, ashlar::topology{{"a", 2}, {"b", 3}},
                        ashlar::topology{{"a", 3}, {"b", 2}}, ashlar::topology{{"a", 1}, {"b", 3}},
                        ashlar::topology{{"a", 4}, {"b", 2}}})
    for (int n : {0, 1, 2, 3, 4, 5, 6, 8, 9, 12}) compare(t, n, n > 4 ? 3 : 4);
}

TEST_CASE("a reshape on three axes is found exactly when some placement of the result keeps it") {
  for (int n : {0, 1, 2, 3, 4, 6, 8, 12}) {
    compare({{"a", 2}, {"b", 2}, {"c", 2}}, n, 3);
    compare({{"a", 2}, {"b", 1}, {"c", 3}}, n, 3);
    compare({{"a", 3}, {"b", 2}, {"c", 2}}, n, 2);
  }
}

TEST_CASE("partial axes stay partial, with their reduction") {
  std::vector<reduction> const kinds{reduction::sum, reduction::max};
  for (int n : {0, 1, 4, 6}) compare({{"a", 2}, {"b", 2}}, n, 2, kinds);
  CHECK_FALSE(
      reshapes_locally({4}, {ashlar::partial()}, {2, 2}, {ashlar::broadcast()}, {{"gpu", 1}}));
  CHECK_FALSE(reshapes_locally({4}, {ashlar::partial()}, {2, 2}, {ashlar::partial(reduction::max)},
                               {{"gpu", 2}}));
}

TEST_CASE("a given placement either keeps every rank's elements or does not") {
  for (auto const& t : {ashlar::topology{{"gpu", 3}}, ashlar::topology{{"a", 2}, {"b", 2}}})
    for (int n : {0, 1, 2, 4, 6}) {
      meanings known(t, {reduction::sum});
      for (auto const& from : shapes_of(n, 2))
        for (auto const& to : shapes_of(n, 2))
          for (auto const& before : known.of(from))
            for (auto const& after : known.of(to)) {
              bool const local = reshapes_locally(from, before.p, to, after.p, t);
              if (local != (before.number == after.number))
                FAIL(to_string(from)
                     << " " << before.p << " to " << to_string(to) << " " << after.p << " @" << t);
            }
    }
}

TEST_CASE("large and uneven tensors") {
  rc::check("what is found keeps every rank's elements", [] {
    auto const size = [](int most) { return *rc::gen::inRange(1, most + 1); };
    ashlar::topology const t{{"a", size(5)}, {"b", size(5)}, {"c", size(3)}};
    std::int64_t const i = size(7), j = size(7), k = size(7), l = size(3);
    std::vector<ashlar::shape> const shapes{{i, j, k, l},    {i * j, k * l},  {i, j * k, l},
                                            {i * j * k * l}, {l, k, 1, j, i}, {i * l, k, j}};
    auto const& from = *rc::gen::elementOf(shapes);
    auto const& to = *rc::gen::elementOf(shapes);
    placement p;
    for (int a = 0; a < 3; ++a)
      p.axis.push_back(*rc::gen::element(0, 1, 2) == 0
                           ? ashlar::broadcast()
                           : ashlar::split(*rc::gen::inRange(0, from.rank())));
    p.resolve_order();
    auto const q = reshape_placement(from, to, t, p);
    RC_CLASSIFY(q.has_value());
    if (q) RC_ASSERT(contents_of(from, naive_mesh(t), p) == contents_of(to, naive_mesh(t), *q));
    else if (from.elements() <= 64 && to.rank() <= 2)
      for (auto const& other : all_placements(to.rank(), 3, {}))
        RC_ASSERT(contents_of(from, naive_mesh(t), p) != contents_of(to, naive_mesh(t), other));
  });
}

TEST_CASE("an idle axis may have to change its place in the order") {
  // Dimension 0 has one row, so splitting it over axis "a" leaves half of the ranks without
  // elements. The result has only one dimension. In the shard order of this dimension, "b" must be
  // the outermost axis.
  auto const q = ashlar::reshape_placement({1, 2}, {2}, {{"a", 2}, {"b", 2}},
                                           {ashlar::split(0), ashlar::split(1)});
  REQUIRE(q.has_value());
  CHECK(*q == placement{ashlar::split(0, 1), ashlar::split(0, 0)});
}

TEST_CASE("positions of splits if dims are split or merged by name") {
  for (auto const& p : all_placements(3, 3)) {
    auto const split = ashlar::split_axis_placement(p, 1, 2);
    CHECK(ashlar::check(split, 4, 3) == nullptr);
    CHECK(
        reshapes_locally({24, 24, 24}, p, {24, 24, 1, 24}, split, {{"a", 2}, {"b", 3}, {"c", 4}}));
    auto const merged = ashlar::merge_axes_placement(p, 0, 2);
    CHECK(ashlar::check(merged, 2, 3) == nullptr);
    // All axis extents divide 24. Merging dimensions 0 and 1 therefore needs no communication if
    // dimension 1 is not split.
    if (p.split_count(1) == 0)
      CHECK(reshapes_locally({24, 24, 24}, p, {576, 24}, merged, {{"a", 2}, {"b", 3}, {"c", 4}}));
    // Merging also needs no communication if only the first axis splits dimension 0. This dimension
    // has 2 rows here, so each part is a single row.
    if (p.split_count(0) == 1 && p[0].is_split_of(0))
      CHECK(reshapes_locally({2, 24, 24}, p, {48, 24}, merged, {{"a", 2}, {"b", 3}, {"c", 4}}));
  }
}

TEST_CASE("a slice is local exactly if each rank's part comes from its own shard") {
  for (auto const& t : {ashlar::topology{{"gpu", 3}}, ashlar::topology{{"a", 2}, {"b", 2}},
                        ashlar::topology{{"a", 1}, {"b", 5}}}) {
    naive_mesh const mesh(t);
    int local = 0, other = 0;
    for (auto const& p : all_placements(2, t.axes()))
      for (int n = 0; n <= 9; ++n)
        for (int size = 0; size <= n; ++size)
          for (int begin = 0; begin + size <= n; ++begin) {
            bool truth = true;
            for (auto const& c : mesh.all_coordinates()) {
              auto const have = held(n, p, 1, mesh, c);
              for (int i : held(size, p, 1, mesh, c))
                truth = truth && std::count(have.begin(), have.end(), begin + i) == 1;
            }
            REQUIRE(ashlar::slices_locally(n, 1, begin, size, t, p) == truth);
            ++(truth ? local : other);
          }
    CHECK(local > 0);
    CHECK(other > 0);
  }
}

TEST_CASE("a concatenation is local exactly if each rank holds the parts of its result") {
  for (auto const& t : {ashlar::topology{{"gpu", 3}}, ashlar::topology{{"a", 2}, {"b", 2}}}) {
    naive_mesh const mesh(t);
    for (auto const& p : all_placements(2, t.axes()))
      for_each_index({5, 5, 5}, [&](index const& sizes) {
        bool truth = true;
        for (auto const& c : mesh.all_coordinates()) {
          std::set<int> have;
          int begin = 0;
          for (int n : sizes) {
            for (int i : held(n, p, 0, mesh, c)) have.insert(begin + i);
            begin += n;
          }
          for (int i : held(begin, p, 0, mesh, c)) truth = truth && have.contains(i);
        }
        std::vector<std::int64_t> const n(sizes.begin(), sizes.end());
        REQUIRE(ashlar::concatenates_locally(n, 0, t, p) == truth);
      });
  }
}
