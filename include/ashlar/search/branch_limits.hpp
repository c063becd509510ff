// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Says which searches accept nets with branches (step/problem.hpp). The search by dynamic
// programming over all choices accepts them on few axes, with and without a memory limit. The
// enumeration of all plans (exhaustive.hpp) accepts them, too. All other searches refuse them.

#include <string>

#include <ashlar/step/problem.hpp>

namespace ashlar::search::detail {

/// The most mesh axes on which a net with branches is searched. The table of a branch has an entry
/// for each pair of choices of its two ends, and the number of choices grows exponentially with the
/// number of axes.
inline constexpr int most_axes_of_branches = 3;

[[noreturn]] inline void refuse_branches(char const* search, std::string const& where,
                                         std::string const& instead) {
  throw error(search, "the net has a branch, and a net with branches is not searched " + where +
                          ". " + instead);
}

/// Throws ashlar::error if the net has branches.
template <int N>
constexpr void demand_no_branches(basic_problem<N> const& net, char const* search) {
  if (has_branches(net))
    refuse_branches(search, "by this algorithm", "Use search::optimal for the serial time.");
}

}  // namespace ashlar::search::detail
