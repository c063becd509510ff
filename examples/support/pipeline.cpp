// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "pipeline.hpp"

#include <charconv>
#include <fstream>
#include <iterator>

#include <CLI/CLI.hpp>

#include <ashlar/io/json/pipeline_file.hpp>
#include <ashlar/search/explain_pipeline.hpp>
#include <ashlar/search/pipeline.hpp>
#include <ashlar/step/pipeline/bubble.hpp>
#include <ashlar/step/pipeline/delayed_weights.hpp>
#include <ashlar/step/pipeline/dual_pipe_v.hpp>
#include <ashlar/step/pipeline/in_flight.hpp>
#include <ashlar/step/pipeline/interleaved.hpp>
#include <ashlar/step/pipeline/split_backward.hpp>
#include <ashlar/step/pipeline/text.hpp>

#include "layout.hpp"
#include "sync_option.hpp"

namespace search = ashlar::search;
namespace pipelines = ashlar::pipelines;

namespace example {
namespace {

constexpr std::string_view interleaved = "interleaved:";

/// Returns the integer in `text`, or 0 if `text` is not an integer of at least 1.
int number_in(std::string_view text) {
  int n = 0;
  auto const [end, fault] = std::from_chars(text.data(), text.data() + text.size(), n);
  return fault == std::errc() && end == text.data() + text.size() && n > 0 ? n : 0;
}

std::string schedule_text(std::string const& path) {
  std::ifstream in(path);
  if (!in)
    throw ashlar::error("--schedule",
                        "\"" + path +
                            "\" is neither a file nor one of gpipe, 1f1b, eager, "
                            "interleaved:2, zb_h1, zb_h2, delayed, zb_v, dual_pipe_v and auto.");
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns how many stages each part of the mesh holds in the schedule `name` (schedule_named).
int chunks_of(std::string const& name) {
  for (auto const* const one : {"gpipe", "1f1b", "eager", "zb_h1", "zb_h2", "delayed"})
    if (name == one) return 1;
  if (name == "zb_v" || name == "dual_pipe_v") return 2;
  if (!name.starts_with(interleaved)) return pipelines::parse_schedule(schedule_text(name)).chunks;
  int const chunks = number_in(std::string_view(name).substr(interleaved.size()));
  if (chunks > 0) return chunks;
  throw ashlar::error("--schedule", "\"" + name +
                                        "\" lacks the number of stages on each part. Write it as "
                                        "interleaved:2.");
}

/// Returns the plan with the schedule `name`. If that schedule needs another number of stages than
/// the plan has, cuts the net into equal stages again. But a plan from a file keeps its stages.
search::pipeline_plan with_schedule(search::problem const& problem,
                                    search::pipeline_plan const& plan, std::string const& name,
                                    bool is_file, ashlar::machine const& machine) {
  auto limits = search::limits_of(plan);
  std::vector<int> recomputed;
  for (auto const& s : plan.stages) recomputed.push_back(s.recomputed);
  int const stages = chunks_of(name) * plan.parts();
  if (!is_file && stages != static_cast<int>(plan.stages.size())) {
    auto const blocks = search::find_blocks(problem);
    if (blocks.count % stages != 0)
      throw ashlar::error("--schedule", std::to_string(chunks_of(name)) + " stages on each of " +
                                            std::to_string(plan.parts()) +
                                            " parts do not divide the net's " +
                                            std::to_string(blocks.count) + " equal blocks.");
    limits = search::stage_limits(problem, blocks, stages);
    recomputed.assign(static_cast<std::size_t>(stages), 0);
  }
  return search::price_pipeline(problem, plan.chosen, limits, recomputed, plan.axis,
                                plan.micro_batches(), machine,
                                schedule_named(name, plan.parts(), plan.micro_batches()));
}

}  // namespace

void add_pipeline_options(CLI::App& app, training_options& o) {
  app.add_option("--pipeline", o.pipeline,
                 "stages on parts of the mesh: auto (searched), a number of parts, or a plan file");
  app.add_option(
         "--schedule", o.schedule,
         "order of a pipeline's passes: gpipe, 1f1b, eager, interleaved:V (V stages on each "
         "part), zb_h1, zb_h2, delayed, zb_v, dual_pipe_v, a file, or auto (all schedules, cuts "
         "and "
         "micro-batches are searched; default: the plan's, or 1f1b)")
      ->needs("--pipeline");
  app.add_option("--in-flight", o.in_flight,
                 "the most micro-batches that a stage may have in flight (default: any number)")
      ->check(CLI::PositiveNumber)
      ->needs("--pipeline");
}

bool pipeline_is_file(training_options const& o) {
  return !o.pipeline.empty() && o.pipeline != "auto" && number_in(o.pipeline) == 0;
}

pipelines::schedule schedule_named(std::string const& name, int positions, int micro_batches) {
  if (name == "gpipe") return pipelines::gpipe(positions, micro_batches);
  if (name == "1f1b") return pipelines::one_f_one_b(positions, micro_batches);
  if (name == "eager") return pipelines::eager(positions, micro_batches);
  if (name == "zb_h1") return pipelines::zb_h1(positions, micro_batches);
  if (name == "zb_h2") return pipelines::zb_h2(positions, micro_batches);
  if (name == "delayed") return pipelines::delayed_weights(positions, micro_batches);
  if (name == "zb_v") return pipelines::zb_v(positions, micro_batches);
  if (name == "dual_pipe_v") return pipelines::dual_pipe_v(positions, micro_batches);
  if (name.starts_with(interleaved))
    return pipelines::interleaved(positions, micro_batches, chunks_of(name));
  return pipelines::parse_schedule(schedule_text(name));
}

namespace {

/// Returns the plan of --pipeline. Does not compare its memory with --memory-limit.
search::pipeline_plan planned(training_options const& o,
                              std::function<search::problem(int)> const& net_of,
                              std::vector<int> const& micro_batches, ashlar::topology const& mesh,
                              ashlar::machine const& machine) {
  if (!o.wire.empty())
    throw ashlar::error("--wire", "is not possible with --pipeline. Omit one of them.");
  if (o.delay > 0)
    throw ashlar::error("--delay", "is not possible with --pipeline. Omit one of them.");
  if (o.staleness >= 0)
    throw ashlar::error("--staleness", "is not possible with --pipeline. Omit one of them.");
  auto const layout = [&](search::problem const& chain, ashlar::topology const& t,
                          ashlar::machine const& m) {
    if (auto const found = search_layout(o.layout, chain, t, m)) return *found;
    throw ashlar::error("--layout",
                        "is a file, but with --pipeline it says how the ranks of a stage "
                        "work together: auto, data or tensor.");
  };
  int const parts = number_in(o.pipeline);
  bool const is_file = pipeline_is_file(o);
  auto const searched = [&] {
    search::pipeline_options how;
    if (parts > 0) how.stages = {parts};
    how.micro_batches = micro_batches;
    if (searches_schedule(o)) {
      how.schedules = search::all_schedules();
      how.any_cuts = true;
      how.in_flight = o.in_flight;
    }
    return search::pipeline(net_of, mesh, machine, how, layout);
  };
  if (searches_schedule(o)) {
    if (is_file)
      throw ashlar::error("--schedule",
                          "auto searches stages and schedules, but --pipeline is a file, which has "
                          "its stages. Write --pipeline auto or a number of parts.");
    auto const plan = searched();
    return synchronized_by(o.sync, net_of(plan.micro_batches()), plan, machine);
  }
  auto const problem = net_of(micro_batches.front());
  auto plan = is_file ? ashlar::io::load_pipeline(o.pipeline, problem, mesh, machine) : searched();
  if (plan.stages.size() == 1) return synchronized_by(o.sync, problem, plan, machine);
  if (!o.schedule.empty()) plan = with_schedule(problem, plan, o.schedule, is_file, machine);
  if (o.in_flight > 0)
    pipelines::refuse_in_flight(search::schedule_of(plan),
                                std::vector<int>(plan.stages.size(), o.in_flight));
  return synchronized_by(o.sync, problem, plan, machine);
}

}  // namespace

std::optional<search::pipeline_plan>
choose_pipeline(training_options const& o, std::function<search::problem(int)> const& net_of,
                std::vector<int> const& micro_batches, ashlar::topology const& mesh,
                ashlar::machine const& machine) {
  if (o.pipeline.empty()) return {};
  auto plan = planned(o, net_of, micro_batches, mesh, machine);
  refuse_over_limit(o, plan.chosen.memory, machine);
  return plan;
}

double predicted_bubble(search::pipeline_plan const& plan) {
  return pipelines::bubble_of(search::schedule_of(plan), search::costs_of(plan));
}

void write_pipeline(std::string const& path, search::problem const& problem,
                    search::pipeline_plan const& plan) {
  ashlar::io::save_pipeline(path, problem, plan);
}

std::string report_pipeline(search::problem const& problem, search::pipeline_plan const& plan,
                            ashlar::machine const& machine) {
  return search::explain(problem, plan, machine).text;
}

}  // namespace example
