// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The environment variables that every rank reads when it makes a mesh. They may differ between
// ranks:
//
//   a variable has a wrong value   all ranks throw the error of the first such rank. If only this
//                                  rank threw, the others would wait for it forever
//   ASHLAR_CHECK                   `on` on any rank means on
//   ASHLAR_TIMEOUT                 `off` on any rank means off (watch/introduce.hpp); otherwise
//                                  each rank keeps its own value

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include <ashlar/comm/checked_mode.hpp>
#include <ashlar/comm/fault_of.hpp>
#include <ashlar/comm/watch/settings.hpp>
#include <ashlar/placement/axis_placement.hpp>

namespace ashlar::detail {

struct mesh_variables {
  bool checks = false;       ///< whether the mesh begins in the checked mode
  watch::settings watching;  ///< this rank's settings of the watchdog
};

/// Returns the variables for a new mesh of `ranks` ranks. This rank has the number `rank`. Throws
/// the same ashlar::error on every rank if a variable is wrong on any rank. Does the same if
/// `Backend` has a function check_variables() that throws on any rank. `reduce(op, span)` replaces
/// values by their sums or maxima over all ranks. Collective over the mesh: an all-reduce of 16
/// bytes, and two more before an error.
template <class Backend, class Reduce>
mesh_variables agreed_variables(int rank, int ranks, Reduce const& reduce) {
  mesh_variables v;
  std::string const fault = fault_of([&] {
    v.checks = wants_checks();
    v.watching = watch::settings_from_environment();
    if constexpr (requires { Backend::check_variables(); }) Backend::check_variables();
  });
  std::int64_t const place = fault.empty() ? 0 : ranks - rank;
  std::array<std::int64_t, 2> most{v.checks ? 1 : 0, place};
  reduce(reduction::max, std::span<std::int64_t>(most));
  v.checks = most[0] == 1;
  if (most[1] == 0) return v;

  auto const first = ranks - most[1];
  throw_fault_of(first, "mesh", fault, [&](auto values) {
    if (rank != first) std::fill(values.begin(), values.end(), 0);
    reduce(reduction::sum, values);
  });
}

}  // namespace ashlar::detail
