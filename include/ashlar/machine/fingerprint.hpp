// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes a hash of a machine. Ranks compare their hashes, because ranks that were given different
// machines would choose different plans. The hash covers every number of the machine.

#include <bit>
#include <cstdint>
#include <initializer_list>

#include <ashlar/machine/machine.hpp>
#include <ashlar/support/fnv_hash.hpp>

namespace ashlar {

/// Returns equal numbers for equal machines. For different machines, the numbers almost certainly
/// differ.
constexpr std::uint64_t fingerprint(machine const& m) {
  std::uint64_t h = std::bit_cast<std::uint64_t>(m.memory);
  auto const add = [&](auto v) { h = fnv_with(h, std::bit_cast<std::uint64_t>(v)); };
  auto const add_link = [&](link const& l) { add(l.alpha), add(l.beta); };
  add_link(m.intra), add_link(m.inter);
  add(m.flops), add(m.memory_bandwidth), add(m.gemm_half), add(m.flow);
  for (auto const* links : {&m.intra_of, &m.inter_of}) {
    add(std::uint64_t(links->given));
    for (link const& l : links->of) add_link(l);
  }
  return h;
}

}  // namespace ashlar
