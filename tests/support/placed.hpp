// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Creates meshes of all ranks and distributed tensors with a given placement, and compares the
// shards of all ranks with dense values. The shards come from the naive definition of placements
// (naive_placement.hpp), not from the library's layouts, factories or collectives. Partial tensors
// are divided into different addends of both signs.

#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <mpi.h>
#include <range/v3/view/transform.hpp>
#include <support/naive_placement.hpp>
#include <support/to_shape.hpp>
#include <support/transport.hpp>

#include <ashlar/tensor/tensor.hpp>

namespace ashlar_test {

inline int world_size() {
  int n = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  return n;
}
inline int world_rank() {
  int r = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &r);
  return r;
}

/// A machine with negligible latency, on which the planner does not avoid plans of many steps.
inline constexpr ashlar::machine bandwidth_bound{{1e-12, 1e-9}, {1e-12, 4e-9}, 1e11, 1e10, 0};

/// A machine on which computations and transfers take similar times, so that overlap is worthwhile.
inline constexpr ashlar::machine even_machine{{1e-6, 1e-7}, {1e-6, 1e-7}, 1e7, 1e9, 0};

/// A machine on which messages cost so much that gradients share buckets.
inline constexpr ashlar::machine slow_messages{{1e-3, 1e-9}, {1e-3, 1e-9}, 1e11, 1e10, 0};

/// A machine whose ranks compute so slowly that a forward pass takes longer than the renewals of
/// parameters that run beside it.
inline constexpr ashlar::machine slow_computation{{1e-6, 1e-9}, {1e-6, 1e-9}, 1e7, 1e7, 0};

/// Returns mesh topologies of n ranks: one axis, two axes for each pair of factors of n, and for
/// some n also topologies with three axes or with an axis of extent 1.
inline std::vector<ashlar::topology> topologies(int n) {
  std::vector<ashlar::topology> all{{{"gpu", n}}};
  for (int a = 2; a < n; ++a)
    if (n % a == 0) all.push_back({{"node", a}, {"gpu", n / a}});
  if (n <= 3) all.push_back({{"node", 1}, {"gpu", n}});
  if (n == 4) all.push_back({{"node", 2}, {"one", 1}, {"gpu", 2}});
  if (n == 6) all.push_back({{"node", 2}, {"gpu", 3}, {"one", 1}});
  if (n == 8) all.push_back({{"node", 2}, {"gpu", 2}, {"core", 2}});
  return all;
}
inline std::vector<ashlar::topology> const& world_topologies() {
  static auto const all = topologies(world_size());
  return all;
}

/// Returns a range of meshes of all ranks, one for each topology. Each mesh is created when a loop
/// reaches it. Its creation is collective, so all ranks must run the loop.
inline auto all_meshes(ashlar::machine const& machine = ashlar::machines::workstation) {
  return world_topologies() | ranges::views::transform([=](ashlar::topology const& t) {
           return ashlar::mesh(MPI_COMM_WORLD, t, machine);
         });
}
/// Returns a range like all_meshes, with every mesh on the given transport.
inline auto all_meshes_on(transport on,
                          ashlar::machine const& machine = ashlar::machines::workstation) {
  return world_topologies() | ranges::views::transform([=](ashlar::topology const& t) {
           return mesh_on(on, t, machine);
         });
}
/// Returns a range like all_meshes, but with two meshes for each topology. One mesh has the default
/// machine, the other has a machine of negligible latency. On more than four ranks there is one
/// mesh for each topology, and the machines take turns, unless ASHLAR_BOTH_MACHINES is set.
inline auto all_meshes_of_two_machines() {
  static auto const list = [] {
    ashlar::machine const machines[] = {ashlar::machines::workstation, bandwidth_bound};
    bool const both = world_size() <= 4 || std::getenv("ASHLAR_BOTH_MACHINES") != nullptr;
    std::vector<std::pair<ashlar::topology, ashlar::machine>> pairs;
    for (std::size_t i = 0; i < world_topologies().size(); ++i)
      for (std::size_t k = 0; k < 2; ++k)
        if (both || i % 2 == k) pairs.emplace_back(world_topologies()[i], machines[k]);
    return pairs;
  }();
  return list | ranges::views::transform([](auto const& each) {
           return ashlar::mesh(MPI_COMM_WORLD, each.first, each.second);
         });
}

inline index to_index(ashlar::coordinates const& c, int axes) {
  return index(c.begin(), c.begin() + axes);
}

template <class T>
T to_element(double x) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<std::int64_t>(x));
  else return static_cast<T>(x);
}

/// Returns a tensor with the values of x and the placement p. This rank's shard follows the naive
/// definition of placements.
template <class T, int Rank>
ashlar::tensor<T, Rank> placed(ashlar::mesh const& m, dense const& x, placement const& p,
                               unsigned seed = 1) {
  std::mt19937 random(seed);  // the same seed on all ranks
  naive_mesh const ranks(m.topology());
  index const here = to_index(m.coordinate(), m.axes());
  dense const mine = cut(addends(x, p, ranks, random).at(addend_of(p, here)),
                         held(x.extents, p, ranks, here));
  ashlar::tensor<T, Rank> t(m, to_shape(x.extents), p);
  for (std::size_t i = 0; i < mine.values.size(); ++i) t.data()[i] = to_element<T>(mine.values[i]);
  return t;
}

/// Returns the shards of all ranks. Communicates.
template <class Tensor>
std::vector<dense> all_shards(Tensor const& t) {
  naive_mesh const ranks(t.mesh().topology());
  index extents;
  for (int d = 0; d < Tensor::rank; ++d) extents.push_back(static_cast<int>(t.extents()[d]));
  std::vector<dense> shards;
  std::vector<int> counts, offsets;
  int total = 0;
  for (auto const& c : ranks.all_coordinates()) {
    index local;
    for (auto const& list : held(extents, t.placement(), ranks, c))
      local.push_back(static_cast<int>(list.size()));
    shards.emplace_back(local);
    counts.push_back(static_cast<int>(shards.back().values.size()));
    offsets.push_back(total);
    total += counts.back();
  }
  std::vector<double> mine(t.local_addends().begin(), t.local_addends().end());
  mine.resize(static_cast<std::size_t>(counts[static_cast<std::size_t>(t.mesh().rank())]));
  std::vector<double> all(static_cast<std::size_t>(total));
  // Polls and yields the core, because some MPI libraries spin while they wait and tests run more
  // ranks than there are cores.
  MPI_Request request;
  PMPI_Iallgatherv(mine.data(), static_cast<int>(mine.size()), MPI_DOUBLE, all.data(),
                   counts.data(), offsets.data(), MPI_DOUBLE, MPI_COMM_WORLD, &request);
  for (int done = 0; PMPI_Test(&request, &done, MPI_STATUS_IGNORE), !done;)
    std::this_thread::yield();
  auto value = all.begin();
  for (auto& shard : shards)
    for (auto& v : shard.values) v = *value++;
  return shards;
}

/// Compares `t` with the values of x. Returns a description of the difference, or an empty text.
/// Collective for partial placements.
template <class Tensor>
std::string wrong_with(Tensor const& t, dense const& x, double tolerance = 0) {
  naive_mesh const ranks(t.mesh().topology());
  auto const p = t.placement();
  dense const mine = cut(
      x, held(x.extents, p, ranks, to_index(t.mesh().coordinate(), t.mesh().axes())));
  std::string text;
  if (t.local_elements() != static_cast<std::int64_t>(mine.values.size()))
    text = "the shard of " + describe(t) + " has " + std::to_string(t.local_elements()) +
           " elements, not " + std::to_string(mine.values.size());
  if (p.has_partial())
    return is_placed(all_shards(t), x, p, ranks, tolerance)
               ? text
               : text + "wrong addends: " + describe(t);
  if (!text.empty()) return text;
  for (std::size_t i = 0; i < mine.values.size(); ++i)
    if (!close(static_cast<double>(t.data()[i]), mine.values[i], tolerance))
      return "local element " + std::to_string(i) + " of " + describe(t) + " is " +
             std::to_string(static_cast<double>(t.data()[i])) + ", not " +
             std::to_string(mine.values[i]);
  return "";
}

}  // namespace ashlar_test
