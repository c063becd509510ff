// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the largest number of mesh axes on which `optimal` finds the optimum of every net without
// branches, if memory is not limited. Searches with pins, a filter, tied parameters, recomputed
// segments or a memory limit enumerate all choices of a layer. The number of choices grows
// exponentially with the number of axes, so such searches are refused on more axes. Other searches
// are permitted on more axes, but the plan that they find there may not be the optimum.

#include <string>

#include <ashlar/mesh/topology.hpp>

namespace ashlar::search {

inline constexpr int most_exact_axes = 4;

constexpr bool is_exact_on(topology const& t) { return t.axes() <= most_exact_axes; }

namespace detail {

inline std::string at_most_exact_axes() {
  return "at most " + std::to_string(most_exact_axes) + " axes";
}

}  // namespace detail

}  // namespace ashlar::search
