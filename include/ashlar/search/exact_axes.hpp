// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the largest number of mesh axes on which `optimal` finds the optimum of every net without
// branches, if memory is not limited. Searches with pins, a filter, tied parameters, recomputed
// segments or a memory limit enumerate all choices of a layer, and so do the algorithms of
// algorithms.hpp other than `exact`. The number of choices grows exponentially with the number of
// axes, so such searches are refused on more axes. Other searches are permitted on more axes, but
// the plan that they find there may not be the optimum.

#include <string>

#include <ashlar/mesh/topology.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::search {

inline constexpr int most_exact_axes = 4;

constexpr bool is_exact_on(topology const& t) { return t.axes() <= most_exact_axes; }

namespace detail {

inline std::string at_most_exact_axes() {
  return "at most " + std::to_string(most_exact_axes) + " axes";
}

/// Throws the error of a search that enumerates all choices of a layer, on a mesh of too many axes.
/// The text begins with `operation`, and then names the search, such as "a search with pins".
[[noreturn]] inline void refuse_axes(char const* operation, char const* search) {
  throw error(operation, std::string(search) + " supports " + at_most_exact_axes() +
                             ", because the number of choices of a layer grows exponentially "
                             "with the number of axes. Merge axes of one tier.");
}

}  // namespace detail

}  // namespace ashlar::search
