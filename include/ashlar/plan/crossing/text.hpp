// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Prints plans between two parts of a mesh: the steps on both sides, and between them the crossing
// with its rounds. Each round says which node, or rank of a node, sends how much to which.

#include <ostream>

#include <ashlar/config.hpp>
#include <ashlar/plan/cross_mesh_plan.hpp>
#include <ashlar/plan/text.hpp>

namespace ashlar {

/// A plan with the mesh and the machine for which it was priced, for printing.
struct cross_mesh_report {
  cross_mesh_plan plan;
  topology whole;
  machine priced_on;
};

ASHLAR_INLINE std::ostream& operator<<(std::ostream& out, cross_mesh_report const& r);

#if ASHLAR_DEFINES(TEXT)
namespace detail {

/// Prints a line for each round: what each port sends to which port.
inline void print_rounds(std::ostream& out, port_schedule const& s, std::string const& port,
                         int element_size) {
  for (std::size_t k = 0; k < s.rounds.size(); ++k) {
    struct sum {
      int from, to;
      std::int64_t size;
    };
    std::vector<sum> traffic;
    for (auto const& piece : s.rounds[k].pieces) {
      auto const& chain = s.shares[static_cast<std::size_t>(piece.share)].chain;
      auto const hop = static_cast<std::size_t>(piece.hop);
      bool const more = !traffic.empty() && traffic.back().from == chain[hop] &&
                        traffic.back().to == chain[hop + 1];
      if (!more) traffic.push_back({chain[hop], chain[hop + 1], 0});
      traffic.back().size += piece.size;
    }
    out << "    round " << k << ", " << port << ":";
    for (std::size_t i = 0; i < traffic.size(); ++i)
      out << (i == 0 ? " " : ", ") << traffic[i].from << " -> " << traffic[i].to << " "
          << bytes_text(double(traffic[i].size) * element_size);
    out << "\n";
  }
}

}  // namespace detail

ASHLAR_INLINE std::ostream& operator<<(std::ostream& out, cross_mesh_report const& r) {
  auto const& p = r.plan;
  auto const& c = p.across;
  int const size = p.before.element_size;
  out << to_string(p.before.extents) << " " << to_string(p.before.from, p.source.axes) << " -> "
      << to_string(p.after.to, p.target.axes) << " on other ranks of " << to_string(r.whole) << ", "
      << seconds_text(p.seconds) << "\n";
  for (auto const& s : p.before.steps) {
    out << "  source: ";
    print_step(out, p.before, s, p.source.axes, r.priced_on);
  }
  out << "  crossing: " << to_string(p.before.to) << " -> " << to_string(p.after.from) << ", "
      << c.tasks.size() << (c.tasks.size() == 1 ? " task in " : " tasks in ") << c.chunks
      << (c.chunks == 1 ? " chunk, " : " chunks, ") << seconds_text(c.seconds) << ", at least "
      << seconds_text(c.bound) << "\n";
  detail::print_rounds(out, c.between, "between nodes", size);
  for (std::size_t n = 0; n < c.inside.size(); ++n)
    detail::print_rounds(out, c.inside[n], "ranks of node " + std::to_string(n), size);
  for (auto const& s : p.after.steps) {
    out << "  target: ";
    print_step(out, p.after, s, p.target.axes, r.priced_on);
  }
  return out;
}

#endif

}  // namespace ashlar
