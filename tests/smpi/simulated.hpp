// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tools that the programs on simulated clusters share.
//
//   arguments            Parses PROGRAM MESH MACHINE ... The simulated cluster was built from the
//                        same mesh and machine (platform.cpp).
//   value_at, numbered   Elements are integers that depend on the global index only. The addends of
//                        partial tensors differ from rank to rank and have both signs.
//   simulated_seconds    Measures one call, with all ranks starting at the same moment.
//   from_rank_0          Makes a value once, for all ranks.
//   verdict              Counts the faults of all ranks, which determine the exit code. The counts
//                        are reduced once at the end, so that checks add no simulated messages.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>
#include <smpi/machines.hpp>
#include <time.h>

#include <ashlar/ashlar.hpp>

namespace ashlar_test {

struct arguments {
  ashlar::topology topology;
  ashlar::machine machine;
  std::vector<std::string> rest;

  arguments(int argc, char** argv) {
    if (argc < 3) throw ashlar::error("arguments", "expected MESH MACHINE.");
    topology = ashlar::parse_topology(argv[1]);
    machine = machine_named(argv[2]);
    rest.assign(argv + 3, argv + argc);
  }
  /// Returns the i-th argument after mesh and machine as a number, where i counts from 0.
  int number(std::size_t i) const { return std::stoi(rest.at(i)); }
};

/// Returns the value of an element of a global tensor: a small integer. Any 101 consecutive
/// elements have different values, so that most wrong permutations of elements are noticed.
inline int value_at(std::int64_t global_index) {
  return static_cast<int>((global_index * 7919 + 13) % 101) - 50;
}

/// Calls visit(global index, local index) for each element of the shard of `t`.
template <class Tensor, class Visit>
void for_each_element(Tensor const& t, Visit visit) {
  auto const& b = t.local_box();
  std::int64_t const n = t.local_elements();
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t rest = i, global = 0, stride = 1;
    for (int d = Tensor::rank - 1; d >= 0; --d) {
      global += (b[d].begin + rest % b[d].size) * stride;
      rest /= b[d].size;
      stride *= t.extents()[d];
    }
    visit(global, i);
  }
}

/// Returns a tensor with the values of value_at, placed by `p`. The addends of a partial tensor
/// differ from rank to rank and add up to the value.
inline ashlar::tensor<float, 2> numbered(ashlar::mesh const& m, ashlar::shape const& extents,
                                         ashlar::placement const& p) {
  ashlar::tensor<float, 2> t(m, extents, p);
  ashlar::axis_list partial;
  for (int a = 0; a < p.axes(); ++a)
    if (p[a].is_partial()) partial.push_back(static_cast<signed char>(a));
  int const addends = m.topology().group_size(partial);
  int const mine = m.topology().index_in_group(m.coordinate(), partial);
  for_each_element(t, [&](std::int64_t global, std::int64_t i) {
    // The first rank's addend contains the value. To each addend an offset is added. The offsets
    // sum to zero: all ranks but the last add 1, 2, 3, ..., and the last one subtracts their sum.
    // The sign of the offsets alternates with the index.
    int const offset = mine + 1 < addends ? mine + 1 : -(addends - 1) * addends / 2;
    int const sign = global % 2 == 0 ? 1 : -1;
    t.data()[i] = static_cast<float>((mine == 0 ? value_at(global) : 0) + sign * offset);
  });
  return t;
}

/// Returns whether `t` has the values of value_at. If `t` is not partial, does not communicate. If
/// `t` is partial, communicates (one MPI_Reduce), and only rank 0 returns the result. The other
/// ranks then return true.
inline bool is_numbered(ashlar::tensor<float, 2> const& t) {
  auto const& p = t.placement();
  bool right = true;
  if (!p.has_partial()) {
    for_each_element(t, [&](std::int64_t global, std::int64_t i) {
      right = right && t.data()[i] == static_cast<float>(value_at(global));
    });
    return right;
  }
  auto const n = static_cast<std::size_t>(t.extents().elements());
  std::vector<double> mine(n), sum(n);
  for_each_element(t, [&](std::int64_t global, std::int64_t i) {
    mine[static_cast<std::size_t>(global)] = static_cast<double>(t.data()[i]);
  });
  MPI_Reduce(mine.data(), sum.data(), static_cast<int>(n), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (t.mesh().rank() != 0) return true;
  int copies = 1;
  for (int a = 0; a < p.axes(); ++a)
    if (p[a].is_broadcast()) copies *= t.mesh().topology().extent(a);
  for (std::size_t i = 0; i < n; ++i)
    right = right && sum[i] == copies * value_at(static_cast<std::int64_t>(i));
  return right;
}

/// Synchronizes all ranks without messages: each rank sleeps until the simulated time is a multiple
/// of 0.25 seconds. The work between two calls must take much less than 0.25 seconds, so that all
/// ranks wait for the same moment. Sleeping takes no real time.
inline void meet() {
  constexpr double apart = 0.25;
  double const rest = (std::floor(MPI_Wtime() / apart + 0.5) + 1) * apart - MPI_Wtime();
  timespec wait{static_cast<time_t>(rest), 0};
  wait.tv_nsec = static_cast<long>((rest - static_cast<double>(wait.tv_sec)) * 1e9);
  nanosleep(&wait, nullptr);
}

/// Returns the simulated seconds of `call` on this rank. All ranks start together. At the end, each
/// rank waits until all ranks have finished, so that its later work does not slow down the other
/// ranks.
template <class Call>
double simulated_seconds(Call call) {
  meet();
  double const begin = MPI_Wtime();
  call();
  double const end = MPI_Wtime();
  meet();
  return end - begin;
}

/// Calls `make` on rank 0 and returns its result on all ranks. Simulated ranks share one process,
/// so the other ranks copy the object from its address.
template <class Make>
auto from_rank_0(Make const& make) {
  using made = decltype(make());
  std::optional<made> own;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) own = make();
  made const* where = rank == 0 ? &*own : nullptr;
  MPI_Bcast(&where, sizeof where, MPI_BYTE, 0, MPI_COMM_WORLD);
  made copied = *where;
  MPI_Barrier(MPI_COMM_WORLD);
  return copied;
}

/// Collects the faults of all ranks. Each rank prints its first fault, and rank 0 prints the total.
class verdict {
 public:
  void check(bool right, std::string const& what) {
    ++checks_;
    if (right) return;
    if (++faults_ == 1) std::printf("wrong: %s\n", what.c_str());
  }
  /// Returns the exit code: 1 if any rank found a fault. Communicates: one MPI_Allreduce.
  int exit_code() const {
    int all = 0, rank = 0;
    MPI_Allreduce(&faults_, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) std::printf("%d checks on rank 0, %d faults on all ranks\n", checks_, all);
    return all > 0;
  }

 private:
  int checks_ = 0;
  int faults_ = 0;
};

/// Returns all placements of a tensor of `rank` dims on a mesh, with every shard order.
inline std::vector<ashlar::placement> every_placement(int rank, ashlar::topology const& t) {
  ashlar::placement_graph const graph(rank, t);
  std::vector<ashlar::placement> all;
  for (int i = 0; i < graph.states(); ++i) all.push_back(graph.state(i));
  return all;
}

/// Returns all ordered pairs of placements, or a random sample of about `limit` pairs, which is the
/// same on all ranks.
inline std::vector<std::pair<ashlar::placement, ashlar::placement>>
sampled_pairs(std::vector<ashlar::placement> const& states, int limit) {
  std::vector<std::pair<ashlar::placement, ashlar::placement>> pairs;
  std::mt19937 random(11);
  double const share = limit /
                       (static_cast<double>(states.size()) * static_cast<double>(states.size()));
  for (auto const& from : states)
    for (auto const& to : states)
      if (static_cast<double>(random()) < share * 4294967296.0) pairs.emplace_back(from, to);
  return pairs;
}

}  // namespace ashlar_test
