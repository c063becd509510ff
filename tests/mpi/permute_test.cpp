// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests permute and transpose of two dims against a dense reordering, on every placement of tensors
// with three dims, with uneven and empty shards. The operations must not communicate. The type of a
// typed result must give each split dim its new number.

#include <doctest/doctest.h>
#include <support/combinations.hpp>
#include <support/placed.hpp>

#include <ashlar/comm/no_communication.hpp>
#include <ashlar/tensor/permute.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::reduction;
using ashlar::sbp;

/// Returns a tensor whose dim i is dim order[i] of x.
dense reordered(dense const& x, index const& order) {
  index extents, of(order.size());
  for (int const d : order) extents.push_back(x.extent(d));
  dense y(extents);
  for_each_index(extents, [&](index const& i) {
    for (std::size_t d = 0; d < order.size(); ++d) of[static_cast<std::size_t>(order[d])] = i[d];
    y(i) = x(of);
  });
  return y;
}

}  // namespace

TEST_CASE("a permutation of dims on every placement") {
  int const n = world_size();
  for (auto const& m : all_meshes()) {
    ashlar::no_communication const forbidden(m);
    for (index const& extents : {index{n + 1, 3, 2}, {2, 0, 5}}) {
      auto const a = seeded_integers(extents);
      for (auto const op : {reduction::sum, reduction::max, reduction::min})
        for (auto const& p : all_placements(3, m.axes(), {op})) {
          if (op != reduction::sum && !p.has_partial()) continue;
          auto const x = placed<float, 3>(m, a, p);
          CHECK(wrong_with(ashlar::permute<2, 0, 1>(x), reordered(a, {2, 0, 1})) == "");
          CHECK(wrong_with(ashlar::transpose<0, 2>(x), reordered(a, {2, 1, 0})) == "");
          auto const back = ashlar::permute<1, 2, 0>(ashlar::permute<2, 0, 1>(x));
          CHECK(back.placement() == p);
          CHECK(wrong_with(back, a) == "");
        }
    }
  }
}

TEST_CASE("a typed permutation renames the split dims and keeps the shard order") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"one", 1}, {"gpu", world_size()}});
  auto const a = seeded_integers({world_size() + 1, 3, 2});
  auto const x =
      placed<double, 3>(m, a, {ashlar::split(2), ashlar::split(0)}).as_static<sbp<S<2>, S<0>>>();
  auto const y = ashlar::permute<1, 0, 2>(x);
  static_assert(std::same_as<decltype(y)::placement_type, sbp<S<2>, S<1>>>);
  CHECK(wrong_with(y, reordered(a, {1, 0, 2})) == "");
  static_assert(
      std::same_as<decltype(ashlar::transpose<0, 2>(x))::placement_type, sbp<S<0>, S<2>>>);
  using nested = ashlar::tensor<float, 3, sbp<S<0, 1>, S<0, 0>>>;
  static_assert(std::same_as<decltype(ashlar::permute<2, 0, 1>(nested()))::placement_type,
                             sbp<S<1, 1>, S<1, 0>>>);
}

}  // namespace ashlar_test
