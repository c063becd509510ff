// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Checks that a plan has as many elements as a net, and each element as many parameters.

#include <string>

#include <ashlar/step/plan.hpp>

namespace ashlar::search {
inline namespace step {

/// Throws an ashlar::error that names `operation`, unless the plan has as many elements as the net,
/// and each element as many parameters.
template <int N>
void require_own_plan(char const* operation, basic_problem<N> const& net,
                      basic_plan<N> const& chosen) {
  if (chosen.size() != net.size())
    throw error(operation, "the plan has " + std::to_string(chosen.size()) +
                               " elements, but the net has " + std::to_string(net.size()) +
                               ". Give a plan of this net.");
  for (int i = 0; i < chosen.size(); ++i)
    if (chosen[i].parameters.size() != net.spec(i).parameters.size())
      throw error(operation, "element " + std::to_string(i) + " has " +
                                 std::to_string(chosen[i].parameters.size()) +
                                 " parameters in the plan, but " +
                                 std::to_string(net.spec(i).parameters.size()) +
                                 " in the net. Give a plan of this net.");
}

}  // namespace step
}  // namespace ashlar::search
