// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "layout.hpp"

#include <sstream>

#include <ashlar/io/json/machine_file.hpp>
#include <ashlar/io/json/plan_file.hpp>
#include <ashlar/mesh/text.hpp>
#include <ashlar/search/explain.hpp>
#include <ashlar/sync/explain.hpp>

#include "memory_limit.hpp"
#include "sync_option.hpp"

namespace search = ashlar::search;

namespace example {

ashlar::topology choose_mesh(training_options const& o, int ranks) {
  return ashlar::parse_topology(o.mesh.empty() ? "gpu=" + std::to_string(ranks) : o.mesh);
}

ashlar::machine choose_machine(training_options const& o, ashlar::machine const& usual) {
  return with_memory_limit(o.machine.empty() ? usual : ashlar::io::machine_from(o.machine),
                           o.memory_limit);
}

search::plan choose_layout(training_options const& o, search::problem const& problem,
                           ashlar::topology const& mesh, ashlar::machine const& machine) {
  auto const found = search_layout(o.layout, problem, mesh, machine);
  auto as_in_file = problem;
  if (!found && problem.interleaved == 0)
    as_in_file.interleaved = ashlar::io::load_plan_head(o.layout).interleaved;
  auto const plan = found ? *found : ashlar::io::load_plan(o.layout, as_in_file, mesh, machine);
  auto const synchronized = synchronized_by(o.sync, problem, plan, machine);
  auto const encoded = encoded_by(o.wire, o.plain_steps, problem, synchronized, machine);
  auto const delayed = delayed_by(o.delay, problem, encoded, machine);
  auto const made = stale_by(o.staleness, o.sync, problem, delayed, machine);
  refuse_over_limit(o, made.memory, machine);
  return made;
}

void refuse_over_limit(training_options const& o, std::int64_t bytes,
                       ashlar::machine const& machine) {
  if (!o.memory_limit.empty())
    refuse_more_memory("--memory-limit " + o.memory_limit, bytes, machine);
}

void write_layout(std::string const& path, search::problem const& problem,
                  search::plan const& plan) {
  ashlar::io::save_plan(path, problem, plan);
}

std::string report_layout(training_options const& o, search::problem const& problem,
                          search::plan const& plan, ashlar::machine const& machine) {
  std::ostringstream text;
  text << search::explain(problem, plan, machine);
  if (!o.sync.empty() || o.delay > 0 || o.staleness >= 0)
    text << '\n' << ashlar::sync::explain(problem, plan, machine);
  if (!o.wire.empty()) text << '\n' << wire_text(o.wire, problem, plan, machine);
  return text.str();
}

}  // namespace example
