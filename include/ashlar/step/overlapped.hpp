// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Makes the program of a step faster by overlap, where that is predicted to pay:
//
//   step::overlap_result const r = overlapped(program, machine, options);   // also constexpr
//
// pass_trial.hpp says which passes are tried and does the work. A program that links
// ashlar::compiled can call the function at run time only.

#include <ashlar/config.hpp>
#include <ashlar/machine/machine.hpp>
#include <ashlar/step/overlap_result.hpp>

#if !ASHLAR_COMPILED
#include <ashlar/step/pass_trial.hpp>
#endif

namespace ashlar::search {
inline namespace step {

/// Returns the program with the passes that make it faster on machine `m`.
#if ASHLAR_COMPILED
overlap_result overlapped(program const& p, machine const& m, overlap_options const& options = {});
#else
constexpr overlap_result overlapped(program const& p, machine const& m,
                                    overlap_options const& options = {}) {
  return step_detail::with_what_pays(p, m, options);
}
#endif

}  // namespace step
}  // namespace ashlar::search
