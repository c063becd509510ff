// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "sync_option.hpp"

#include <CLI/CLI.hpp>

#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/sync/named.hpp>

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

bool search_chooses_updates(std::string const& name) { return name == "auto"; }

search::plan synchronized_by(std::string const& name, search::problem problem,
                             search::plan const& plan, ashlar::machine const& machine) {
  if (name.empty() || search_chooses_updates(name)) return plan;
  problem.interleaved = plan.interleaved;  // 0 if the search has chosen it
  return ashlar::sync::named(name, problem, plan, machine);
}

search::pipeline_plan synchronized_by(std::string const& name, search::problem const& problem,
                                      search::pipeline_plan const& plan,
                                      ashlar::machine const& machine) {
  if (name.empty() || search_chooses_updates(name)) return plan;
  std::vector<int> recomputed;
  for (auto const& s : plan.stages) recomputed.push_back(s.recomputed);
  return search::price_pipeline(problem, synchronized_by(name, problem, plan.chosen, machine),
                                search::limits_of(plan), recomputed, plan.axis,
                                plan.micro_batches(), machine, plan.order);
}

}  // namespace example
