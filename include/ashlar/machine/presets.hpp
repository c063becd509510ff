// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Lists machines by name, with the source of each number:
//
//   [sheet]     the vendor's figure
//   [measured]  measured on this machine or on the same hardware
//   [guess]     our estimate; calibrate if accuracy matters (bench/calibrate)
//
// Unless a comment on a machine says otherwise, α and β are those of NCCL. β is the inverse of
// NCCL's bus bandwidth (the rate at which a rank receives during a large collective). α is NCCL's
// own estimate for one step of a ring (src/graph/tuning.cc in NCCL, protocol Simple): 3.4 µs within
// NVLink, 14 µs between nodes. The flops are those of large GEMMs. The papers on AutoDDL and HiDup
// print neither their α and β nor their GEMM rates. So we compare our plans with the plans in these
// papers only by ratios of volume and of time.

#include <string_view>

#include <ashlar/machine/machine.hpp>

namespace ashlar {
namespace machines {

/// Piz Daint (AutoDDL section 5.2): Cray XC50, one P100 (PCIe, 16 GB) per node, Aries; single
/// precision. Sources are in brackets; [sheet] is the vendor's data sheet.
///   flops      8.4e12 [guess]: 90 % of 9.3 TF/s [sheet]; gemm_half 32 [guess]
///   memory     16 GB, 732 GB/s [sheet]
///   inter      8 GB/s [guess]: below the roughly 10 GB/s that a node can send into Aries; the
///              paper fits its own α and β for NCCL (section 3.2) but does not print them
///   intra      the same as inter, since a node has only one rank
inline constexpr machine piz_daint{{1.4e-5, 1 / 8e9}, {1.4e-5, 1 / 8e9}, 8.4e12,
                                   7.32e11,           16'000'000'000,    32};

/// Workstations of one rank each on 1 Gb/s Ethernet. A rank is as fast as on machines::workstation.
///   inter      1 Gb/s per node [sheet of the network]; α 50 µs [guess]: TCP through one switch
///   intra      as on machines::workstation
inline constexpr machine gigabit_cluster{{2e-6, 2e-10}, {5e-5, 8e-9}, 1e11, 1e10, 0};

/// Servers of 16 A100 (40 GB) on Google Cloud; AutoDDL section 5.3 uses two of them, with mixed
/// precision. Sources are in brackets; [sheet] is the vendor's data sheet.
///   flops      2.5e14 [guess]: 80 % of 312 TF/s [sheet]; gemm_half 128 [guess]
///   memory     40 GB, 1,555 GB/s [sheet]
///   intra      232 GB/s [measured: 8 A100 with NVSwitch, github.com/NVIDIA/nccl issue 1048]; the
///              peak is 300 GB/s per direction [sheet; the paper's 600 GB/s count both directions]
///   inter      10 GB/s per node [guess]; the peak is 100 Gb/s [the paper; Google's table of A2
///              machines]
inline constexpr machine a100_server{
    {3.4e-6, 1 / 2.32e11}, {1.4e-5, 1 / 1e10}, 2.5e14, 1.555e12, 40'000'000'000, 128};

/// p3.8xlarge of Amazon EC2: 4 V100 (16 GB); mixed precision. HiDup also measures on V100 in a
/// cloud. Sources are in brackets; [sheet] is the vendor's data sheet.
///   flops      9.5e13 [guess]: 76 % of 125 TF/s [sheet]; gemm_half 128 [guess]
///   memory     16 GB, 900 GB/s [sheet]
///   intra      80 GB/s [guess]; the peak is 100 GB/s per direction [sheet: 200 GB/s for both]
///   inter      1.21 GB/s per node [measured: 9.71 Gb/s by iperf3, HiDup section 6.1, machines of 8
///              V100]; the peak is 10 Gb/s [sheet]
inline constexpr machine p3_8xlarge{
    {3.4e-6, 1 / 8e10}, {1.4e-5, 8 / 9.71e9}, 9.5e13, 9e11, 16'000'000'000, 128};

/// Servers of 8 H200 (141 GB) with NVSwitch and a 400 Gb/s network card per GPU; mixed precision.
/// Sources are in brackets; [sheet] is the vendor's data sheet.
///   flops      7e14 [guess]: 71 % of 989 TF/s, dense bfloat16 [sheet]; gemm_half 192 [guess]
///   memory     141 GB, 4.8 TB/s [sheet]
///   intra      370 GB/s [measured: NVLink 4, by a maintainer of NCCL, github.com/NVIDIA/nccl-tests
///              issue 212]; the peak is 450 GB/s per direction [sheet]. All-reduces, which are
///              summed in the switches: 475 GB/s [measured: 8 H200, nccl-tests issue 272]
///   inter      384 GB/s per node [measured: 24 GB/s for a card of 200 Gb/s, nccl-tests issue 119,
///              scaled to 8 cards of 400 Gb/s; sheet: Google's table of A3 Ultra machines]
inline constexpr machine h200_server = [] {
  machine m{{3.4e-6, 1 / 3.7e11}, {1.4e-5, 1 / 3.84e11}, 7e14, 4.8e12, 141'000'000'000, 192};
  m.intra_of.set(collective::all_reduce, {3.4e-6, 1 / 4.75e11});
  return m;
}();

/// Nodes of AutoDist's cluster A (section 3 of the paper): one GeForce GTX TITAN X (12 GB), 40 Gb/s
/// Ethernet, single precision. The paper says TITAN X; earlier papers of its authors name this card
/// for a cluster of this kind. Sources are in brackets; [sheet] is the vendor's data sheet.
///   flops      4.9e12 [guess]: 80 % of 6.1 TF/s [sheet]; gemm_half 64 [guess]
///   memory     12 GB, 336 GB/s [sheet]
///   inter      5 GB/s [the paper]; α 30 µs [guess: messages over TCP]
///   intra      the same as inter, since a node has only one rank
inline constexpr machine titan_x_40gbe{{3e-5, 1 / 5e9}, {3e-5, 1 / 5e9}, 4.9e12,
                                       3.36e11,         12'000'000'000,  64};

/// g3.4xlarge of Amazon EC2 (AutoDist's cluster B): one M60 (8 GB), single precision. Sources are
/// in brackets; [sheet] is the vendor's data sheet.
///   flops      3.8e12 [guess]: 80 % of 4.8 TF/s, one of the two GPUs of a card [sheet]; gemm_half
///              64 [guess]
///   memory     8 GB, 160 GB/s [sheet]
///   inter      10 Gb/s [the paper]; α 30 µs [guess: messages over TCP]
///   flow       10 Gb/s [the paper]
///   intra      the same as inter, since a node has only one rank
inline constexpr machine g3_4xlarge{
    {3e-5, 8 / 1e10}, {3e-5, 8 / 1e10}, 3.8e12, 1.6e11, 8'000'000'000, 64, {}, {}, 8 / 1e10};

/// g3.16xlarge of Amazon EC2 (AutoDist's cluster B): 4 M60 and 25 Gb/s, otherwise like g3_4xlarge.
///   intra      5 GB/s [guess: PCIe 3 through the host]; α is that of NCCL's own model for PCIe
inline constexpr machine g3_16xlarge = [] {
  machine m = g3_4xlarge;
  m.intra = {5.7e-6, 1 / 5e9};
  m.inter.beta = 8 / 2.5e10;
  return m;
}();

/// g4dn.12xlarge of Amazon EC2 (AutoDist's cluster B): 4 T4 (16 GB), single precision. Sources are
/// in brackets; [sheet] is the vendor's data sheet.
///   flops      4.9e12 [guess]: 60 % of 8.1 TF/s [sheet], since a T4 at 70 W lowers its clock;
///              gemm_half 64 [guess]
///   memory     16 GB, 320 GB/s [sheet]
///   intra      5 GB/s [guess: PCIe 3 through the host]; α is that of NCCL's own model for PCIe
///   inter      50 Gb/s per node [the paper]; α 30 µs [guess: messages over TCP]
///   flow       10 Gb/s [the paper]
inline constexpr machine g4dn_12xlarge{
    {5.7e-6, 1 / 5e9}, {3e-5, 8 / 5e10}, 4.9e12, 3.2e11, 16'000'000'000, 64, {}, {}, 8 / 1e10};

/// g4dn.2xlarge of Amazon EC2 (AutoDist's cluster B): one T4 and 25 Gb/s, otherwise like
/// g4dn_12xlarge.
///   intra      the same as inter, since a node has only one rank
inline constexpr machine g4dn_2xlarge = [] {
  machine m = g4dn_12xlarge;
  m.intra = m.inter = {3e-5, 8 / 2.5e10};
  return m;
}();

}  // namespace machines

struct named_machine {
  std::string_view name;
  machine const* is = nullptr;
};

/// All machines of this file and of machine.hpp, by name.
inline constexpr named_machine named_machines[] = {
    {"workstation", &machines::workstation},     {"gpu_cluster", &machines::gpu_cluster},
    {"piz_daint", &machines::piz_daint},         {"a100_server", &machines::a100_server},
    {"p3_8xlarge", &machines::p3_8xlarge},       {"h200_server", &machines::h200_server},
    {"titan_x_40gbe", &machines::titan_x_40gbe}, {"g3_4xlarge", &machines::g3_4xlarge},
    {"g3_16xlarge", &machines::g3_16xlarge},     {"g4dn_2xlarge", &machines::g4dn_2xlarge},
    {"g4dn_12xlarge", &machines::g4dn_12xlarge}, {"gigabit_cluster", &machines::gigabit_cluster}};

/// Returns the machine with that name, or null if there is none.
constexpr machine const* find_machine(std::string_view name) {
  for (auto const& m : named_machines)
    if (m.name == name) return m.is;
  return nullptr;
}

}  // namespace ashlar
