// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Builds the program of a training step from a problem and a plan, in serial order:
//
//   step::program const p = build(problem, plan, machine);      // also constexpr
//
// program_builder.hpp says which actions there are and does the work. A program that links
// ashlar::compiled and needs a step program as a constant includes that file too.

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

/// In constant expressions `build` calls this function. Without step/program_builder.hpp it is not
/// constexpr, and a program that builds at run time only need not compile the builder. That file
/// adds a better match: the one for an int.
template <int N>
program include_step_program_builder_hpp(basic_problem<N> const& net, basic_plan<N> const& chosen,
                                         machine const& m, long);
#endif

/// Returns the program of one step under a plan, in serial order. Expects a plan of this problem:
/// one valid choice per element. The program has about ten actions per element and micro-batch.
template <int N>
constexpr program build(basic_problem<N> const& net, basic_plan<N> const& chosen,
                        machine const& m) {
#if ASHLAR_COMPILED
  // An `if` with both branches: else compilers keep the call that is not made at run time.
  if (ASHLAR_IN_COMPILER)  // For a constant program include <ashlar/step/program_builder.hpp>.
    return include_step_program_builder_hpp(net, chosen, m, 0);
  else
    return step_detail::build_at_run_time(any_length(net), with_capacity<dynamic_size>(chosen), m);
#else
  return include_step_program_builder_hpp(net, chosen, m, 0);
#endif
}

}  // namespace step
}  // namespace ashlar::search
