// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "sync_option.hpp"

#include <cstdio>

#include <CLI/CLI.hpp>

#include <ashlar/plan/wire_named.hpp>
#include <ashlar/search/overlap/overlap_breakdown.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/sync/delayed.hpp>
#include <ashlar/sync/encoded.hpp>
#include <ashlar/sync/explain.hpp>
#include <ashlar/sync/named.hpp>
#include <ashlar/sync/owners.hpp>

#include "memory_limit.hpp"

namespace search = ashlar::search;

namespace example {

CLI::Option* add_sync_option(CLI::App& app, std::string& name) {
  std::vector<std::string> names{"auto"};
  for (auto const it : ashlar::sync::names()) names.emplace_back(it);
  return app
      .add_option("--sync", name,
                  "how gradients are synchronized, and where parameters are updated and stored; "
                  "auto: the search chooses (default: it chooses only where they are stored)")
      ->check(CLI::IsMember(names));
}

void add_wire_options(CLI::App& app, std::string& name, int& plain_steps) {
  auto* const wire = app.add_option(
      "--wire", name,
      "how gradients that are summed over ranks are encoded on their way: bf16, "
      "half, int8, one-bit, top-k/100 or power-sgd/4, each also as int8+feedback, or as "
      "int8+momentum after --plain-steps");
  app.add_option("--plain-steps", plain_steps, "first steps in which gradients have no --wire")
      ->check(CLI::NonNegativeNumber)
      ->needs(wire)
      ->capture_default_str();
}

bool search_chooses_updates(std::string const& name) { return name == "auto"; }

namespace {

/// Returns the plan. If problem.overlap is true, its seconds are those of a step with overlap.
search::plan with_overlapped_seconds(search::problem const& problem, search::plan made,
                                     ashlar::machine const& machine) {
  if (!problem.overlap) return made;
  auto const overlapped = search::overlap_of(problem, made, machine);
  made.seconds = overlapped.seconds();
  made.communication_seconds = overlapped.when.exposed;
  return made;
}

/// Returns the plan that `by`, a builder of namespace sync, makes from `plan`. Throws ashlar::error
/// if the new plan needs more memory than the machine has. This error names the option `option`.
template <class Builder>
search::plan built_by(std::string const& option, Builder const& by, search::problem const& problem,
                      search::plan const& plan, ashlar::machine const& machine) {
  auto made = by(problem, plan, machine);
  refuse_more_memory(option, made.memory, machine);
  return with_overlapped_seconds(problem, made, machine);
}

}  // namespace

search::plan synchronized_by(std::string const& name, search::problem const& problem,
                             search::plan const& plan, ashlar::machine const& machine,
                             double* gap) {
  if (gap != nullptr) *gap = 1;
  if (name.empty() || search_chooses_updates(name)) return plan;
  if (name == "optimal") {
    auto const best = ashlar::sync::optimal(problem, plan, machine);
    if (gap != nullptr) *gap = best.gap;
    return best.chosen;
  }
  auto made = ashlar::sync::named(name, problem, plan, machine);
  refuse_more_memory("--sync " + name, made.memory, machine);
  return with_overlapped_seconds(problem, made, machine);
}

search::plan encoded_by(std::string const& name, int plain_steps, search::problem const& problem,
                        search::plan const& plan, ashlar::machine const& machine) {
  if (name.empty()) return plan;
  ashlar::sync::encoded const by{.wire = ashlar::wire_named("--wire", name),
                                 .plain_steps = plain_steps};
  return built_by("--wire " + name, by, problem, plan, machine);
}

search::plan delayed_by(int steps, search::problem const& problem, search::plan const& plan,
                        ashlar::machine const& machine) {
  if (steps == 0) return plan;
  return built_by("--delay " + std::to_string(steps), ashlar::sync::delayed{steps}, problem, plan,
                  machine);
}

search::plan stale_by(int staleness, std::string const& name, search::problem const& problem,
                      search::plan const& plan, ashlar::machine const& machine) {
  if (staleness < 0) return plan;
  if (!name.empty() && name != "owners")
    throw ashlar::error("--staleness", "is not possible with --sync " + name +
                                           ". Take --sync owners, or omit it.");
  return built_by("--staleness " + std::to_string(staleness),
                  ashlar::sync::owners{.staleness = staleness}, problem, plan, machine);
}

std::string wire_text(std::string const& name, search::problem const& problem,
                      search::plan const& plan, ashlar::machine const& machine) {
  if (name.empty()) return {};
  return ashlar::sync::explain_wire(problem, plan, machine, ashlar::wire_named("--wire", name));
}

std::string synchronization_text(std::string const& name, search::problem const& problem,
                                 search::plan const& before, search::plan const& after,
                                 ashlar::machine const& machine, double gap) {
  if (name.empty() || search_chooses_updates(name)) return {};
  auto text = ashlar::sync::explain(problem, before, after, machine);
  if (gap == 0) text += "no other strategies of these parameters are faster\n";
  else if (gap < 1) {
    char line[96];
    std::snprintf(line, sizeof line,
                  "other strategies of these parameters are at most %.2f %% faster\n", 100 * gap);
    text += line;
  }
  return text;
}

search::pipeline_plan synchronized_by(std::string const& name, search::problem const& problem,
                                      search::pipeline_plan const& plan,
                                      ashlar::machine const& machine) {
  if (name.empty() || search_chooses_updates(name)) return plan;
  auto unlimited = machine;  // the limit applies to a stage, not to the plan of the whole net
  unlimited.memory = 0;
  std::vector<int> recomputed;
  for (auto const& s : plan.stages) recomputed.push_back(s.recomputed);
  auto made = search::price_pipeline(
      problem, ashlar::sync::named(name, problem, plan.chosen, unlimited), search::limits_of(plan),
      recomputed, plan.axis, plan.micro_batches(), machine, plan.order);
  refuse_more_memory("--sync " + name, made.chosen.memory, machine);
  return made;
}

}  // namespace example
