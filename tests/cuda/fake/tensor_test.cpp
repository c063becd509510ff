// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests that tensors on fake GPU ranks (fake_cuda.hpp) are created, redistributed, sliced,
// concatenated and downloaded with the same results as on the host. If host code accesses a shard
// without waiting for the stream, it reads garbage, and these tests fail.

#include <doctest/doctest.h>
#include <support/device_instances.hpp>
#include <support/numbers.hpp>
#include <support/placement_cases.hpp>

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/tensor/concat.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/redistribute_async.hpp>
#include <ashlar/tensor/reshape.hpp>
#include <ashlar/tensor/slice.hpp>

#include "fake_ranks.hpp"

namespace ashlar_test {
namespace {

using ashlar::shape;

/// Runs body(mesh) as all ranks at the same time.
template <class Body>
void on_mesh(ashlar::topology const& t, Body const& body) {
  fake::all_ranks(t.ranks(), [&](ashlar::nccl::world const& w) { body(ashlar::nccl::mesh(w, t)); });
}

/// Redistributes between all ordered pairs of placements. Returns the number of wrong results.
template <class T>
int wrong_pairs(ashlar::nccl::mesh const& m, shape const& extents) {
  auto const values = numbers<T>(extents);
  auto const states = all_placements(2, m.axes(), {ashlar::reduction::sum}, {1});
  int wrong = 0;
  for (auto const& from : states)
    for (auto const& to : states) {
      auto const x = ashlar::from_full<2>(m, extents, from, std::span<T const>(values));
      auto const y = ashlar::redistribute(x, to);
      if (!(y.placement() == to) || ashlar::to_full(y) != values) ++wrong;
    }
  return wrong;
}

}  // namespace

TEST_CASE("every pair of placements") {
  for (shape const& extents : {shape{6, 4}, {5, 3}, {1, 2}, {0, 3}})
    on_mesh({{"node", 2}, {"gpu", 2}},
            [&](auto const& m) { CHECK(wrong_pairs<float>(m, extents) == 0); });
  on_mesh({{"gpu", 3}}, [](auto const& m) {
    CHECK(wrong_pairs<std::int64_t>(m, {7, 4}) == 0);
    CHECK(wrong_pairs<ashlar::bfloat16>(m, {4, 7}) == 0);
  });
}

TEST_CASE("side by side with the program") {
  on_mesh({{"node", 2}, {"gpu", 2}}, [](auto const& m) {
    auto const values = numbers<double>({6, 8});
    auto const p = ashlar::parse_placement("S(0),B"), q = ashlar::parse_placement("B,S(1)"),
               whole = ashlar::parse_placement("B,B");
    auto const x = ashlar::from_full<2>(m, {6, 8}, p, std::span<double const>(values));
    auto first = ashlar::redistribute_async(x, q);
    auto second = ashlar::redistribute_async(x, whole);
    auto const third = ashlar::redistribute(x.clone(), q);
    CHECK(ashlar::to_full(second.wait()) == values);
    CHECK(ashlar::to_full(first.wait()) == values);
    CHECK(ashlar::to_full(third) == values);
  });
}

TEST_CASE("slices, concatenations and reshapes") {
  on_mesh({{"gpu", 2}}, [](auto const& m) {
    auto const values = numbers<float>({4, 6});
    auto const x = ashlar::from_full<2>(m, {4, 6}, ashlar::parse_placement("S(0)"),
                                        std::span<float const>(values));
    auto const joined = ashlar::concat<1>(ashlar::slice<1>(x, 0, 2), ashlar::slice<1>(x, 2, 4));
    CHECK(ashlar::to_full(joined) == values);
    CHECK(ashlar::to_full(ashlar::reshape(x, {2, 2, 6})) == values);
  });
}

TEST_CASE("tensors by index, and values of the host over all ranks") {
  on_mesh({{"gpu", 3}}, [](auto const& m) {
    auto const p = ashlar::parse_placement("S(1)");
    auto const x = ashlar::from_index<float, 2>(
        m, {2, 5}, p, [](auto const& i) { return static_cast<float>(10 * i[0] + i[1]); });
    CHECK(ashlar::to_full(x) == std::vector<float>{0, 1, 2, 3, 4, 10, 11, 12, 13, 14});
    auto const sevens = ashlar::full<std::int32_t>(m, {2, 2}, ashlar::parse_placement("P"), 7);
    CHECK(ashlar::to_full(sevens) == std::vector<std::int32_t>(4, 7));
    std::vector<double> values{1, double(m.rank())};
    m.all_reduce(std::span<double>(values));
    CHECK(values == std::vector<double>{3, 3});
    m.barrier();
    CHECK_THROWS_WITH_AS(m.require_agreement(std::uint64_t(m.rank()), "test", "they differ"),
                         doctest::Contains("they differ"), ashlar::error);
  });
}

}  // namespace ashlar_test
