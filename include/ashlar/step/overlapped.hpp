// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Makes the program of a step faster: redistributions overlap with computations where the timeline
// predicts a gain.
//
//   step::overlap_result const r = overlapped(program, machine, options);   // also constexpr
//
// pass_trial.hpp is the implementation and lists the passes. An application that links
// ashlar::compiled can call the function at run time only.

#include <ashlar/config.hpp>
#include <ashlar/machine/machine.hpp>
#include <ashlar/step/overlap_result.hpp>

#if !ASHLAR_COMPILED
#include <ashlar/step/pass_trial.hpp>
#endif

namespace ashlar::search {
inline namespace step {

/// Returns the program after all passes that make it faster on machine `m`, with a report of each
/// pass that was tried.
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
