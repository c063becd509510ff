// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What a plan is priced with: α and β of each link tier, and what one rank computes.
//
//   intra      between two ranks of one node: β in seconds per byte of one rank's traffic
//   inter      between nodes: β in seconds per byte of a NODE's traffic, shared by all its ranks
//   intra_of,  the same for single collectives, where they were measured apart; a collective that
//   inter_of   is not given there takes the tier's link
//   flops      of large GEMMs; small ones take gemm_half into account (machine/gemm.hpp)
//
// Which of them a group of ranks sees, and how ranks of a node share a link: machine/link.hpp.
// Machines by name with their sources: machine/presets.hpp. Presets are for planning; measure your
// own machine where it matters (bench/calibrate).

#include <cstdint>

#include <ashlar/machine/collective.hpp>

namespace ashlar {

struct link {
  double alpha = 0;  ///< seconds per message
  double beta = 0;   ///< seconds per byte
  friend constexpr bool operator==(link const&, link const&) = default;
};

/// Links of single collectives, in place of their tier's.
struct collective_links {
  static constexpr int kinds = static_cast<int>(collective::permute) + 1;  ///< that communicate

  link of[kinds]{};
  unsigned given = 0;  ///< bit k: of[k] is there

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
  double flops = 1e11;             ///< floating-point operations per second of one rank's GEMM
  double memory_bandwidth = 1e10;  ///< bytes per second of one rank, read and written
  std::int64_t memory = 0;         ///< bytes per rank; 0: no limit
  double gemm_half = 0;            ///< extents; 0: every GEMM runs at `flops`
  collective_links intra_of{};
  collective_links inter_of{};
  friend constexpr bool operator==(machine const&, machine const&) = default;
};

namespace machines {

/// MPI ranks sharing the cores and the memory of one workstation: 5 GB/s between two ranks, 100
/// GF/s of float GEMM a core. Both tiers are the same memory.
inline constexpr machine workstation{{2e-6, 2e-10}, {2e-6, 2e-10}, 1e11, 1e10, 0};

/// A cluster of 8-GPU nodes (A100 class): 200 GB/s inside, 25 GB/s per node between nodes,
/// 150 TF/s of mixed-precision GEMM, 1.5 TB/s of memory, 80 GB.
inline constexpr machine gpu_cluster{{3e-6, 5e-12}, {6e-6, 4e-11}, 1.5e14, 1.5e12, 80'000'000'000};

}  // namespace machines
}  // namespace ashlar
