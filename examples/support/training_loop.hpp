// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs the steps of a training program: trains, prints progress lines, and saves checkpoints.

#pragma once

#include <cstdio>
#include <iostream>
#include <limits>
#include <string>

#include <ashlar/checkpoint/background_save.hpp>
#include <ashlar/train/step_trace.hpp>

#include "training_options.hpp"

namespace example {

/// Returns the overlap that the options select.
inline ashlar::train::overlap overlap_of(training_options const& o) {
  return o.overlap == "none" ? ashlar::train::overlap::none : ashlar::train::overlap::as_planned;
}

/// Returns the norm to which gradients are clipped: `clip`, or infinity (no clipping) if the plan
/// has stale parameters.
template <class Plan>
double clip_of(Plan const& plan, double clip) {
  return is_stale(plan) ? std::numeric_limits<double>::infinity() : clip;
}

/// If --resume is given, continues the training in the folder of --checkpoint. Throws ashlar::error
/// if --resume is given without --checkpoint, or if that folder contains a training but --resume is
/// not given. Every rank must call this function. Only the rank whose `speaks` is true prints.
template <class Trainer>
void continue_training(Trainer& trainer, training_options const& o, bool speaks) {
  namespace checkpoint = ashlar::checkpoint;
  if (o.resume && o.checkpoint.empty())
    throw ashlar::error("--resume", "give the folder of the training with --checkpoint DIR.");
  if (o.checkpoint.empty()) return;
  if (o.resume) checkpoint::resume(o.checkpoint, trainer);
  else if (auto const step = checkpoint::newest_step(o.checkpoint, trainer.model().mesh()))
    throw ashlar::error("--checkpoint", o.checkpoint + " has a training of " +
                                            std::to_string(*step) +
                                            " steps. Continue it with --resume, or give another "
                                            "folder.");
  if (speaks && trainer.steps_done() > 0)
    std::cout << "continuing after " << trainer.steps_done() << " steps" << std::endl;
}

/// Trains on data(step) for each remaining step. Every rank must call this function. Only the rank
/// whose `speaks` is true prints.
template <class Trainer, class Data>
void train_steps(Trainer& trainer, training_options const& o, bool speaks, Data const& data) {
  continue_training(trainer, o, speaks);
  ashlar::checkpoint::background_save saves(o.checkpoint, trainer.model().mesh(), {.keep = o.keep});
  auto const begin = trainer.steps_done();
  for (auto done = begin; done < o.steps; ++done) {
    auto const step = static_cast<int>(done);
    auto const report = trainer.step(data(step));
    bool const is_last = step + 1 == o.steps;
    saves.poll();
    bool const is_saved = !o.checkpoint.empty() && (is_last || (step + 1) % o.every_steps == 0);
    if (is_last || is_saved) trainer.settle();
    if (is_saved) saves.save(trainer);
    if (!speaks) continue;
    if (o.exact_log) std::printf("loss[%d] = %.9g\n", step, report.loss);
    else if (step % o.every == 0 || is_last) std::cout << report << std::endl;
  }
  saves.finish();
  if (!o.trace.empty() && begin < o.steps) ashlar::train::write_step_trace(o.trace, trainer);
}

}  // namespace example
