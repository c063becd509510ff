// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests that tensors on GPU ranks are created, redistributed and downloaded with the same results
// as on the host. All ordered pairs of placements are tried on 1 and 2 ranks, and one pair in seven
// on 4 ranks, since transfers are slow if 4 ranks share a device. Random tensors must have the same
// values as on a mesh of as many ranks on the host, with a relative difference of at most 1e-6.

#include <doctest/doctest.h>
#include <support/device_instances.hpp>
#include <support/gpu_ranks.hpp>
#include <support/numbers.hpp>
#include <support/placement_cases.hpp>

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/gather.hpp>

namespace ashlar_test {
namespace {

template <class T>
void try_pairs(ashlar::topology const& t, ashlar::shape const& extents) {
  ashlar::nccl::mesh const m(gpu_ranks(), t);
  auto const values = numbers<T>(extents);
  auto const states = all_placements(2, m.axes(), {ashlar::reduction::sum});
  int const one_in = m.ranks() < 4 ? 1 : 7;
  int wrong = 0, number = 0;
  for (auto const& from : states)
    for (auto const& to : states) {
      if (number++ % one_in != 0) continue;
      auto const x = ashlar::from_full<2>(m, extents, from, std::span<T const>(values));
      if (ashlar::to_full(ashlar::redistribute(x, to)) != values) {
        if (++wrong <= 3) MESSAGE(to_string(from) << " -> " << to_string(to, t));
      }
    }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("every pair of placements") {
  for (auto const& t : topologies(world_size()))
    for (ashlar::shape const extents : {ashlar::shape{8, 12}, {5, 7}, {1, 3}, {0, 4}}) {
      try_pairs<float>(t, extents);
      try_pairs<std::int64_t>(t, extents);
    }
}

TEST_CASE("random tensors have the host's values") {
  for (auto const& t : topologies(world_size())) {
    ashlar::nccl::mesh const m(gpu_ranks(), t);
    ashlar::mesh const host(MPI_COMM_WORLD, t);
    for (auto const& p : all_placements(2, m.axes(), {ashlar::reduction::sum})) {
      auto const here = ashlar::to_full(ashlar::normal<float, 2>(m, {9, 14}, p, {.seed = 3}));
      auto const there = ashlar::to_full(ashlar::normal<float, 2>(host, {9, 14}, p, {.seed = 3}));
      CHECK(here.size() == there.size());
      for (std::size_t i = 0; i < here.size(); ++i)
        CHECK(here[i] == doctest::Approx(there[i]).epsilon(1e-6));
    }
  }
}

}  // namespace ashlar_test
