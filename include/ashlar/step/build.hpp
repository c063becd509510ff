// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Builds the program of a training step from a problem and a plan, in serial order:
//
//   step::program const p = build(problem, plan, machine);      // also constexpr
//
// In this order, every end_move directly follows its begin_move, and a value is released right
// after its last reader (release.hpp).
//
//   for each micro-batch   forward, elements 0 .. n-1
//                          backward, elements n-1 .. 0; before the last element of a recomputed
//                          segment, the forward computations of that segment run once more
//   synchronize            elements 0 .. n-1, parameter by parameter
//   update                 elements 0 .. n-1, parameter by parameter
//   renew                  elements 0 .. n-1, parameters that are updated at one placement and
//                          stored at another
//
// If problem::interleaved is above 1, groups of micro-batches take turns instead (turns.hpp).
//
// program_builder.hpp is the implementation. An application that links ashlar::compiled must
// include that file if it calls `build` in a constant expression.

#include <ashlar/config.hpp>
#include <ashlar/machine/machine.hpp>
#include <ashlar/step/plan.hpp>
#include <ashlar/step/problem.hpp>
#include <ashlar/step/program.hpp>

#if !ASHLAR_COMPILED
#include <ashlar/step/program_builder.hpp>
#endif

namespace ashlar::search {
inline namespace step {

#if ASHLAR_COMPILED
namespace step_detail {

program build_at_run_time(problem const& net, plan const& chosen, machine const& m);

}  // namespace step_detail

/// Lets `build` compile without step/program_builder.hpp. In constant expressions, `build` calls a
/// function of this name with 0 as the last argument. There are two overloads:
///
/// - step/program_builder.hpp defines the overload whose last parameter is an int. It is the better
///   match.
/// - The overload below has a long as its last parameter and is never defined.
///
/// So code that calls `build` only at run time does not need the builder. Code that calls it in a
/// constant expression must include step/program_builder.hpp; if it does not, the compiler's error
/// names this function.
template <int N>
program include_step_program_builder_hpp(basic_problem<N> const& net, basic_plan<N> const& chosen,
                                         machine const& m, long);
#endif

/// The largest number of elements times micro-batches for which a program is built. Such a program
/// takes a few GiB.
inline constexpr std::int64_t most_repeated_elements = std::int64_t(1) << 20;

/// Throws ashlar::error if `elements` times `micro_batches` is above most_repeated_elements.
constexpr void check_program_length(int elements, int micro_batches) {
  if (std::int64_t(elements) * micro_batches > most_repeated_elements)
    throw error("step", std::to_string(micro_batches) + " micro-batches of " +
                            std::to_string(elements) + (elements == 1 ? " element" : " elements") +
                            " make a program that is too long. Give at most " +
                            std::to_string(most_repeated_elements / elements) +
                            " micro-batches, each with more samples.");
}

/// Returns the program of one step under a plan, in the order at the top of this file. The plan
/// must belong to this problem, with one valid choice per element. The program has about ten
/// actions per element and micro-batch. Throws ashlar::error if the number of elements times the
/// number of micro-batches is above most_repeated_elements.
template <int N>
constexpr program build(basic_problem<N> const& net, basic_plan<N> const& chosen,
                        machine const& m) {
  check_program_length(net.size(), net.micro_batches);
#if ASHLAR_COMPILED
  if (ASHLAR_IN_COMPILER)  // For a constant program include <ashlar/step/program_builder.hpp>.
    return include_step_program_builder_hpp(net, chosen, m, 0);
  return step_detail::build_at_run_time(any_length(net), with_capacity<dynamic_size>(chosen), m);
#else
  return include_step_program_builder_hpp(net, chosen, m, 0);
#endif
}

}  // namespace step
}  // namespace ashlar::search
