// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds a figure of a machine that is outside of its limits. Searches, mesh::set_machine and the
// reader of machine files refuse such machines. With a rate of 0, a negative latency or a NaN, all
// plans would have prices that cannot be compared. Within the limits, no price of a step overflows.
//
//   alpha, beta, flow          0 to 1e6 seconds (per message, per byte)
//   flops, memory_bandwidth    1 to 1e30 per second
//   gemm_half                  0 to 1e30
//   memory                     0 or more bytes

#include <cstdio>
#include <string>

#include <ashlar/machine/machine.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar {

/// A figure that is outside of its limits, or none if `figure` is null.
struct machine_fault {
  char const* tier = nullptr;  ///< "intra" or "inter" if the figure belongs to a link
  int kind = -1;               ///< the collective if the link is that of a single collective
  char const* figure = nullptr;
  double value = 0, least = 0, most = 0;

  constexpr explicit operator bool() const { return figure != nullptr; }
};

/// Returns the first figure of a machine that is outside of its limits. A NaN is outside of all
/// limits.
constexpr machine_fault fault_of(machine const& m) {
  machine_fault found;
  auto const check = [&](char const* tier, int kind, char const* figure, double value, double least,
                         double most) {
    if (!found && !(value >= least && value <= most))
      found = {tier, kind, figure, value, least, most};
  };
  auto const check_link = [&](char const* tier, int kind, link const& l) {
    check(tier, kind, "alpha", l.alpha, 0, 1e6);
    check(tier, kind, "beta", l.beta, 0, 1e6);
  };
  auto const check_tier = [&](char const* tier, link const& l, collective_links const& single) {
    check_link(tier, -1, l);
    for (int k = 0; single.given != 0 && k < collective_links::kinds; ++k)
      if (single.has(static_cast<collective>(k))) check_link(tier, k, single.of[k]);
  };
  check_tier("intra", m.intra, m.intra_of);
  check_tier("inter", m.inter, m.inter_of);
  check(nullptr, -1, "flops", m.flops, 1, 1e30);
  check(nullptr, -1, "gemm_half", m.gemm_half, 0, 1e30);
  check(nullptr, -1, "memory_bandwidth", m.memory_bandwidth, 1, 1e30);
  check(nullptr, -1, "flow", m.flow, 0, 1e6);
  check(nullptr, -1, "memory", static_cast<double>(m.memory), 0, 0x1p63);
  return found;
}

/// Returns the name of the figure, such as "flops" or "inter, all-reduce, alpha".
inline std::string name_of(machine_fault const& f) {
  std::string name = f.tier == nullptr ? "" : std::string(f.tier) + ", ";
  if (f.kind >= 0) name += std::string(to_string(static_cast<collective>(f.kind))) + ", ";
  return name + f.figure;
}

/// Returns the rest of a sentence that begins with the name of the figure.
inline std::string text_of(machine_fault const& f) {
  char text[80];
  std::snprintf(text, sizeof text, "is %g, but must be a number from %g to %g.", f.value, f.least,
                f.most);
  return text;
}

/// Throws ashlar::error, which begins with `where`, if a figure of the machine is outside of its
/// limits.
constexpr void check_machine(machine const& m, char const* where) {
  if (auto const wrong = fault_of(m))
    throw error(where, "the machine's " + name_of(wrong) + " " + text_of(wrong));
}

}  // namespace ashlar
