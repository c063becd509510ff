// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Describes nodes of several kinds as one machine, for plans in which all ranks have equal shares.
// Every collective then waits for the slowest link, and every update for the slowest processor:
//
//   machine const m = slowest(machines::g3_16xlarge, machines::g4dn_12xlarge);
//
// Each number of the result is the less favourable one of the two machines. So a step on a mixture
// of the two kinds takes at most the seconds that are predicted for the result. Shares in
// proportion to the speeds of the ranks would be faster, but no plan has such shares.

#include <algorithm>

#include <ashlar/machine/machine.hpp>

namespace ashlar {

/// Returns the machine whose links, processors and memory are the slower or smaller ones of `a` and
/// `b`. A memory of 0 bytes means no limit.
constexpr machine slowest(machine const& a, machine const& b) {
  auto const slower = [](link const& x, link const& y) {
    return link{std::max(x.alpha, y.alpha), std::max(x.beta, y.beta)};
  };
  machine m;
  m.intra = slower(a.intra, b.intra);
  m.inter = slower(a.inter, b.inter);
  for (int k = 0; k < collective_links::kinds; ++k) {
    auto const kind = static_cast<collective>(k);
    auto const of = [&](collective_links const& links, link const& other) {
      return links.has(kind) ? links[kind] : other;
    };
    if (a.intra_of.has(kind) || b.intra_of.has(kind))
      m.intra_of.set(kind, slower(of(a.intra_of, a.intra), of(b.intra_of, b.intra)));
    if (a.inter_of.has(kind) || b.inter_of.has(kind))
      m.inter_of.set(kind, slower(of(a.inter_of, a.inter), of(b.inter_of, b.inter)));
  }
  m.flops = std::min(a.flops, b.flops);
  m.memory_bandwidth = std::min(a.memory_bandwidth, b.memory_bandwidth);
  m.memory = a.memory == 0 || b.memory == 0 ? std::max(a.memory, b.memory)
                                            : std::min(a.memory, b.memory);
  m.gemm_half = std::max(a.gemm_half, b.gemm_half);
  m.flow = std::max(a.flow, b.flow);
  return m;
}

// This assertion names every member of a machine, so that a new member is a compile error here. A
// new member needs a line in slowest() and in fingerprint.hpp, and then its name here.
static_assert([] {
  auto const [intra, inter, flops, memory_bandwidth, memory, gemm_half, intra_of, inter_of,
              flow] = slowest({}, {});
  return intra == machine{}.intra;
}());

}  // namespace ashlar
