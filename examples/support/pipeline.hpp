// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Chooses the pipeline of a training program: its stages (--pipeline) and the order of their passes
// (--schedule).
//
//   --pipeline   auto       the search chooses the number of stages, which may be 1
//                NUMBER     a mesh axis is divided into this many parts; their stages have equally
//                           many repeated blocks
//                FILE       a plan that --save-layout, or the program `plan` with --pipeline and
//                           --as-trained, has written for the same net
//   --schedule   (none)     the schedule of the plan, or 1F1B if the plan has none
//                NAME       a name that schedule_named knows
//                FILE       the text form of a schedule (step/pipeline/text.hpp)
//                auto       the search chooses the schedule and where the net is cut. It also
//                           chooses the number of micro-batches, unless --micro-batches is given.
//   --in-flight  NUMBER     schedules with more micro-batches in flight in a stage are refused

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ashlar/machine/machine.hpp>
#include <ashlar/search/pipeline_plan.hpp>

#include "training_options.hpp"

namespace example {

/// Adds --pipeline, --schedule and --in-flight to `app`.
void add_pipeline_options(CLI::App& app, training_options& o);

/// Returns the schedule `name`, a value of --schedule, for a pipeline of `positions` parts. The
/// names are gpipe, 1f1b, eager, interleaved:V (each part holds V stages), zb_h1, zb_h2, delayed,
/// zb_v and dual_pipe_v. Any other name is the path of a file. Throws ashlar::error if that file
/// cannot be used.
ashlar::pipelines::schedule schedule_named(std::string const& name, int positions,
                                           int micro_batches);

/// Returns whether --pipeline names a plan file.
bool pipeline_is_file(training_options const& o);

/// Returns whether the search is to choose the schedule of a pipeline.
inline bool searches_schedule(training_options const& o) { return o.schedule == "auto"; }

/// Returns the plan of --pipeline, or nothing if this option is not given. net_of(m) returns the
/// net whose step has m micro-batches. `micro_batches` lists the numbers of micro-batches to try.
/// It must have exactly one number if searches_schedule(o) is false. `mesh` has all ranks. Throws
/// ashlar::error if no pipeline satisfies the options.
std::optional<ashlar::search::pipeline_plan>
choose_pipeline(training_options const& o,
                std::function<ashlar::search::problem(int)> const& net_of,
                std::vector<int> const& micro_batches, ashlar::topology const& mesh,
                ashlar::machine const& machine);

/// Returns the predicted bubble: the share of a step's time in which a part of the mesh waits for
/// other parts, as a mean over all parts.
double predicted_bubble(ashlar::search::pipeline_plan const& plan);

/// Writes a plan in stages as a file that --pipeline reads. Throws ashlar::error if this is
/// impossible.
void write_pipeline(std::string const& path, ashlar::search::problem const& problem,
                    ashlar::search::pipeline_plan const& plan);

/// Returns the plan as readable text.
std::string report_pipeline(ashlar::search::problem const& problem,
                            ashlar::search::pipeline_plan const& plan,
                            ashlar::machine const& machine);

}  // namespace example
