// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Of how many bytes an element of each tensor of a training step is. Of a net of elements of type T
// that sums in accumulation_t<T> (support/accumulation.hpp: bfloat16 in float) a problem has
// element_size, that of T, and accumulation_size:
//
//   activations, gradients of activations, halos, parameters as used      element_size
//   parameters as stored, their gradients, states of the optimizer        accumulation_size
//   statistics                                                            accumulation_size
//
// Where the two differ, a rank keeps a copy in T of the parameters that it stores; that copy is what
// is gathered. So a move of a parameter is of element_size, that of its gradient is not.

#include <ashlar/step/problem.hpp>

namespace ashlar::search {
inline namespace step {

enum class phase : signed char { forward, recompute, backward, synchronize };
enum class moved : signed char { activation, gradient, parameter, statistic };

/// The bytes of an element of what a move of a step's schedule moves (schedule.hpp).
template <int N>
constexpr int element_size(basic_problem<N> const& net, moved what, phase when = phase::forward) {
  bool const accumulated = what == moved::statistic ||
                           (what == moved::parameter && when == phase::synchronize);
  return accumulated ? net.accumulation_size : net.element_size;
}

/// The bytes of an element of a stored parameter: its value, and the copy that is gathered if there
/// is one; its gradient; its states.
template <int N>
constexpr int stored_size(basic_problem<N> const& net) {
  int const copy = net.accumulation_size == net.element_size ? 0 : net.element_size;
  return (2 + net.optimizer_states) * net.accumulation_size + copy;
}

}  // namespace step
}  // namespace ashlar::search
