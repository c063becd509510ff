// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// On how many axes everything is searched:
//
//   up to most_exact_axes   the optimum, also with pins, a filter, recomputed segments or a memory limit;
//                           baselines
//   more                    a plan with the gap that it states, without any of these: the choices of a
//                           layer, which those list, grow with the power of the axes

#include <string>

#include <ashlar/mesh/topology.hpp>

namespace ashlar::search {

inline constexpr int most_exact_axes = 4;

constexpr bool is_exact_on(topology const& t) { return t.axes() <= most_exact_axes; }

namespace detail {

inline std::string more_than_exact_axes() {
  return "more than " + std::to_string(most_exact_axes) + " axes";
}

}  // namespace detail
}  // namespace ashlar::search
