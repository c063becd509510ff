// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Prints redistribution plans, one line per step with its axes, placements, bytes and seconds.

#include <cstdio>
#include <ostream>
#include <string>

#include <ashlar/config.hpp>
#include <ashlar/mesh/text.hpp>
#include <ashlar/plan/redistribution.hpp>

namespace ashlar {

/// Returns a text such as "3.00 MiB" or "512 B".
ASHLAR_INLINE std::string bytes_text(double bytes);

/// Returns a text such as "12.3 us" or "4.56 ms".
ASHLAR_INLINE std::string seconds_text(double s);

/// A redistribution plan with its mesh and its machine, for printing.
struct plan_report {
  redistribution_plan plan;
  topology mesh;
  machine priced_on;
};

/// Prints a step with the bytes that rank 0 receives, such as "all-gather along gpu: [S(0),S(1)] ->
/// [S(0),B], 512.00 KiB, 12.3 us".
ASHLAR_INLINE void print_step(std::ostream& out, redistribution_plan const& p,
                              redistribution_step const& s, topology const& t, machine const& m);

ASHLAR_INLINE std::ostream& operator<<(std::ostream& out, plan_report const& r);

#if ASHLAR_DEFINES(TEXT)
ASHLAR_INLINE std::string bytes_text(double bytes) {
  char const* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 5) bytes /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.2f %s", bytes, units[unit]);
  return text;
}

ASHLAR_INLINE std::string seconds_text(double s) {
  char text[32];
  if (s < 1e-3) std::snprintf(text, sizeof text, "%.1f us", s * 1e6);
  else if (s < 1) std::snprintf(text, sizeof text, "%.2f ms", s * 1e3);
  else std::snprintf(text, sizeof text, "%.2f s", s);
  return text;
}

ASHLAR_INLINE void print_step(std::ostream& out, redistribution_plan const& p,
                              redistribution_step const& s, topology const& t, machine const& m) {
  out << to_string(s.kind) << " along " << to_string(s.axes, t) << ": " << to_string(s.from)
      << " -> " << to_string(s.to) << (s.wire.is_exact() ? "" : " as " + to_string(s.wire)) << ", "
      << bytes_text(double(step_traffic(s, p.extents, t, {}).elements) *
                    s.unit_bytes(p.element_size))
      << ", " << seconds_text(step_seconds(s, p.extents, p.element_size, t, m)) << '\n';
}

ASHLAR_INLINE std::ostream& operator<<(std::ostream& out, plan_report const& r) {
  auto const& p = r.plan;
  out << to_string(p.extents) << ' ' << to_string(p.from) << " -> " << to_string(p.to) << " @"
      << to_string(r.mesh) << ": " << seconds_text(p.seconds) << ", "
      << bytes_text(double(p.received_bytes(r.mesh, {}))) << " received by rank 0, peak "
      << bytes_text(double(p.peak_bytes)) << '\n';
  if (p.steps.empty()) out << "  nothing to do\n";
  for (auto const& s : p.steps) {
    out << "  ";
    print_step(out, p, s, r.mesh, r.priced_on);
  }
  return out;
}
#endif

}  // namespace ashlar
