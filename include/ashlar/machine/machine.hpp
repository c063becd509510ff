// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the figures from which plans are priced: α (seconds per message) and β (seconds per byte)
// of each network tier, and the compute rates of one rank.
//
//   intra      the link between two ranks of one node; β in seconds per byte of one rank's traffic
//   inter      the link between nodes; β in seconds per byte of a NODE's traffic, which all its
//              ranks share
//   intra_of,  separate links of single collectives, if they were measured; a collective without an
//   inter_of   entry uses intra or inter
//   flow       seconds per byte of one flow: the messages from one rank to one rank of another
//              node. Networks of clouds limit each flow, so one rank cannot use the whole link of
//              its node. Crossings between parts of a mesh (plan/cross_mesh.hpp) do not count the
//              limit.
//   flops      rate of large GEMMs; gemm_half makes small ones slower (machine/gemm.hpp)
//
// machine/link.hpp computes the link of a group of ranks from these figures. machine/presets.hpp
// lists named machines and the sources of their numbers. Presets are for planning. Measure your own
// machine if accuracy matters (bench/calibrate).

#include <cstdint>

#include <ashlar/machine/collective.hpp>

namespace ashlar {

struct link {
  double alpha = 0;  ///< seconds per message
  double beta = 0;   ///< seconds per byte
  friend constexpr bool operator==(link const&, link const&) = default;
};

/// Separate links of single collectives. They replace the link of their network tier.
struct collective_links {
  /// The number of collectives that can have a separate link: all_gather to permute.
  static constexpr int kinds = static_cast<int>(collective::permute) + 1;

  link of[kinds]{};
  unsigned given = 0;  ///< bit k says whether of[k] is set

  constexpr bool has(collective kind) const { return (given >> static_cast<int>(kind) & 1u) != 0; }
  constexpr link const& operator[](collective kind) const { return of[static_cast<int>(kind)]; }
  constexpr void set(collective kind, link const& l) {
    of[static_cast<int>(kind)] = l;
    given |= 1u << static_cast<int>(kind);
  }
  friend constexpr bool operator==(collective_links const&, collective_links const&) = default;
};

struct machine {
  link intra{1e-6, 2e-10};
  link inter{5e-6, 4e-10};
  double flops = 1e11;  ///< floating-point operations per second of one rank in large GEMMs
  double memory_bandwidth = 1e10;  ///< bytes per second of one rank, reads plus writes
  std::int64_t memory = 0;         ///< bytes per rank; 0 means no limit
  double gemm_half = 0;            ///< h of machine/gemm.hpp; with 0, every GEMM runs at `flops`
  collective_links intra_of{};
  collective_links inter_of{};
  double flow = 0;  ///< the least seconds per byte of one flow between nodes; 0 means no limit
  friend constexpr bool operator==(machine const&, machine const&) = default;
};

namespace machines {

/// MPI ranks that share the cores and the memory of one workstation: 5 GB/s between two ranks, and
/// 100 GFLOP/s of float GEMM per core. Both tiers use the same memory.
inline constexpr machine workstation{{2e-6, 2e-10}, {2e-6, 2e-10}, 1e11, 1e10, 0};

/// A cluster of 8-GPU nodes (A100 class). Links: 200 GB/s inside a node, 25 GB/s per node between
/// nodes. Each GPU: 150 TFLOP/s of mixed-precision GEMM, 1.5 TB/s of memory bandwidth, 80 GB of
/// memory.
inline constexpr machine gpu_cluster{{3e-6, 5e-12}, {6e-6, 4e-11}, 1.5e14, 1.5e12, 80'000'000'000};

}  // namespace machines
}  // namespace ashlar
