// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Checks whether the micro-batches of a step can take turns as a problem says (turns.hpp). Searches
// and nn::place call it.

#include <ashlar/step/problem.hpp>

namespace ashlar::search {
inline namespace step {

/// Returns whether the layers of a problem permit that `turns` micro-batches take turns.
template <int N>
constexpr bool can_take_turns(basic_problem<N> const& net, int turns) {
  for (int i = 0; i < net.size(); ++i)
    if ((turns > 1 && net.spec(i).couples_rows) || turns % net.spec(i).turns_together != 0)
      return false;
  return true;
}

/// Returns the least number of micro-batches that can take turns, or 1 if there is none.
template <int N>
constexpr int least_turns(basic_problem<N> const& net) {
  for (int turns = 1; turns <= net.micro_batches; ++turns)
    if (can_take_turns(net, turns)) return turns;
  return 1;
}

namespace step_detail {

/// Throws the error of `check_turns` about element i: `turns` is no multiple of its
/// layer_spec::turns_together.
template <int N>
[[noreturn]] void refuse_turns(basic_problem<N> const& net, char const* where, int i, int turns) {
  auto const named = [&](int k) {
    return "element " + std::to_string(k) + " (" + net.spec(k).name.text + ")";
  };
  std::string const together = std::to_string(net.spec(i).turns_together);
  std::string advice = "Set interleaved to a multiple of " + together +
                       ". In nn::moe, moe_options::balance_over is this number.";
  for (int k = 0; k < net.size(); ++k)
    if (net.spec(k).couples_rows)
      advice = "They cannot take turns, since " + named(k) +
               " couples the rows of a batch. Use other layers.";
  throw error(where, named(i) + " needs the forward passes of " + together +
                         " micro-batches before its backward passes, but " + std::to_string(turns) +
                         " of " + std::to_string(net.micro_batches) + " take turns. " + advice);
}

}  // namespace step_detail

/// Throws ashlar::error, which begins with `where`, in these cases:
///
///   - problem::interleaved is not between 1 and the number of micro-batches. It may be 0 if
///     problem::overlap is set.
///   - problem::interleaved is above 1, and a layer couples the rows of a batch
///     (layer_spec::couples_rows).
///   - problem::interleaved is above 0 and is not a multiple of layer_spec::turns_together of a
///     layer.
///   - problem::interleaved is 0, and the layers permit no number of turns (can_take_turns).
template <int N>
constexpr void check_turns(basic_problem<N> const& net, char const* where) {
  if (net.interleaved == 0 && !net.overlap)
    throw error(where,
                "interleaved = 0 lets the search choose how many micro-batches take turns, which "
                "it does only for the overlapped time. Set problem::overlap, or set interleaved to "
                "a number from 1 to " +
                    std::to_string(net.micro_batches) + ".");
  if (net.interleaved < 0 || net.interleaved > net.micro_batches)
    throw error(where, std::to_string(net.interleaved) +
                           " micro-batches cannot take turns in a step of " +
                           std::to_string(net.micro_batches) +
                           ". Set interleaved to a number from 1, for none, to " +
                           std::to_string(net.micro_batches) + ", or use more micro-batches.");
  for (int i = 0; net.interleaved > 1 && i < net.size(); ++i)
    if (net.spec(i).couples_rows)
      throw error(where, "element " + std::to_string(i) + " (" + net.spec(i).name.text +
                             ") couples the rows of a batch, so micro-batches cannot take turns. "
                             "Set interleaved to 1, or use a layer that treats every row alone.");
  int const turns = net.interleaved == 0 ? least_turns(net) : net.interleaved;
  for (int i = 0; i < net.size(); ++i)
    if (turns % net.spec(i).turns_together != 0) step_detail::refuse_turns(net, where, i, turns);
}

}  // namespace step
}  // namespace ashlar::search
