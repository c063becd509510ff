// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The loop over the steps of a training program, with its progress lines.

#pragma once

#include <cstdio>
#include <iostream>

#include <ashlar/train/step_trace.hpp>

#include "training_options.hpp"

namespace example {

/// Returns the overlap that the options select.
inline ashlar::train::overlap overlap_of(training_options const& o) {
  return o.no_overlap ? ashlar::train::overlap::none : ashlar::train::overlap::as_planned;
}

/// Trains on data(step) for each step. Every rank calls it; only the rank that passes `speaks` as
/// true prints.
template <class Trainer, class Data>
void train_steps(Trainer& trainer, training_options const& o, bool speaks, Data const& data) {
  for (int step = 0; step < o.steps; ++step) {
    auto const report = trainer.step(data(step));
    if (!speaks) continue;
    if (o.exact_log) std::printf("loss[%d] = %.9g\n", step, report.loss);
    else if (step % o.every == 0 || step + 1 == o.steps) std::cout << report << std::endl;
  }
  if (!o.trace.empty()) ashlar::train::write_step_trace(o.trace, trainer);
}

}  // namespace example
