// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The bytes per element of each tensor of a training step. A net whose tensors have elements of
// type T computes sums in accumulation_t<T> (support/accumulation.hpp), which is float for
// bfloat16. So a problem has two sizes: element_size is sizeof(T), and accumulation_size is
// sizeof(accumulation_t<T>).
//
//   activations, gradients of activations, halos, parameters in use       element_size
//   stored parameters, their gradients, optimizer states                  accumulation_size
//   statistics                                                            accumulation_size
//
// If the sizes differ, a rank also keeps a copy of its stored parameters in type T. Redistributions
// of parameters read this copy, so they have element_size. Redistributions of the gradients of
// parameters have accumulation_size.
//
// A parameter may be updated at one placement and stored at another (plan.hpp). Then the value that
// the optimizer updates, and its copy if there is one, lie where the parameter is updated. A second
// copy, in type T, lies where the parameter is stored.

#include <ashlar/step/problem.hpp>

namespace ashlar::search {
inline namespace step {

/// The phases of a step (schedule.hpp). `renew` brings updated parameters to where they are stored.
enum class phase : signed char { forward, recompute, backward, synchronize, renew };
/// What a redistribution moves. `gradient` is the gradient of an activation. In the phase
/// `synchronize`, `parameter` stands for the gradient of a parameter.
enum class moved : signed char { activation, gradient, parameter, statistic };

/// Returns whether a phase runs once per micro-batch rather than once per step.
constexpr bool repeats(phase when) { return when != phase::synchronize && when != phase::renew; }

/// Returns the bytes per element of a redistribution. They depend on `what`, the kind of its
/// tensor, and on `when`, the phase in which it runs.
template <int N>
constexpr int element_size(basic_problem<N> const& net, moved what, phase when = phase::forward) {
  bool const accumulated = what == moved::statistic ||
                           (what == moved::parameter && when == phase::synchronize);
  return accumulated ? net.accumulation_size : net.element_size;
}

/// Returns the bytes that a rank has per element of a parameter where it is updated: its value, its
/// copy in type T if there is one, its gradient and its optimizer states.
template <int N>
constexpr int stored_size(basic_problem<N> const& net) {
  int const copy = net.accumulation_size == net.element_size ? 0 : net.element_size;
  return (2 + net.optimizer_states) * net.accumulation_size + copy;
}

}  // namespace step
}  // namespace ashlar::search
