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

/// `build` calls this function in constant expressions. This overload, for a long, is only
/// declared. step/program_builder.hpp defines a constexpr overload for an int, which is a better
/// match for the argument 0. So code that calls `build` in constant expressions must include that
/// file, and code that calls it only at run time need not compile the builder.
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
  // The `else` is necessary. Without it compilers keep the first call, which is never made at run
  // time.
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
