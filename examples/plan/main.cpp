// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Plans a net on a mesh that need not exist. This single process searches, explains and compares
// plans, and writes a plan as JSON, as an HTML page and as a C++ header.
//
//   plan gpt --layers 96 --d-model 12288 --heads 96 --context 2048 --batch 1024
//        --mesh node=128,gpu=8 --machine h200_server --memory-limit 140GB
//        --out plan.json --html plan.html

#include <cstdio>
#include <iostream>
#include <utility>
#include <vector>

#include <ashlar/io/json/plan_file.hpp>
#include <ashlar/io/plan_header.hpp>
#include <ashlar/io/plan_page.hpp>
#include <ashlar/search/algorithms.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/diff.hpp>
#include <ashlar/search/explain.hpp>
#include <ashlar/search/overlap/overlap_breakdown.hpp>
#include <ashlar/search/pareto.hpp>
#include <ashlar/search/pinned.hpp>
#include <ashlar/search/search_on_mesh.hpp>
#include <ashlar/step/text.hpp>

#include "../support/sync_option.hpp"
#include "models.hpp"
#include "options.hpp"
#include "pipeline.hpp"
#include "report.hpp"

namespace search = ashlar::search;

namespace {

struct task {
  example::options const& o;
  search::problem problem;
  ashlar::topology mesh;
  ashlar::machine machine;
  example::progress_line line;

  search::search_result run(std::function<bool(int, search::layer_choice const&)> permits) const {
    search::options how;
    how.seed = o.seed;
    how.evaluations = o.evaluations;
    how.seconds = o.seconds;
    how.permits = std::move(permits);
    how.on_progress = [this](search::progress const& p) {
      char text[120];
      std::snprintf(text, sizeof text, "%s: %.1f s, %lld plans, %s%s", p.algorithm, p.seconds,
                    static_cast<long long>(p.evaluations),
                    p.best > 0 ? "best " : "none fits so far",
                    p.best > 0 ? ashlar::seconds_text(p.best).c_str() : "");
      line.show(text);
    };
    line.show("searching");
    return search::algorithm_named(o.algorithm).run(problem, mesh, machine, how);
  }

  /// Prints the time and memory of the plan and, for comparison, of data parallelism and tensor
  /// parallelism.
  void compare(search::plan const& found) const {
    if (!search::is_exact_on(mesh)) {
      std::cout << "  no baselines for comparison: these are planned on at most "
                << search::most_exact_axes << " axes\n";
      return;
    }
    line.show("baselines");
    std::pair<char const*, search::plan> const plans[]{{"this plan", found},
                                                       {"data parallel", baseline("data")},
                                                       {"tensor parallel", baseline("tensor")}};
    line.show("");
    for (auto const& [name, plan] : plans) example::print_beside(name, plan, found, machine.memory);
  }

  /// Returns the plan of data parallelism or of tensor parallelism that is fastest without overlap
  /// and without a limit of memory. With --overlap, its seconds are those of an overlapped step.
  search::plan baseline(std::string const& name) const {
    auto serial = problem;
    serial.overlap = false;
    auto unlimited = machine;
    unlimited.memory = 0;
    auto plan = name == "data" ? search::data_parallel(serial, mesh, unlimited)
                               : search::tensor_parallel(serial, mesh, unlimited);
    if (o.overlap) plan.seconds = search::overlap_of(problem, plan, unlimited).seconds();
    return plan;
  }

  /// Prints how much more the plan of --diff costs than the plan `found`. With --overlap, first
  /// prints how long both plans take with overlap.
  void print_diff(search::plan const& found) const {
    auto const b = other();
    std::cout << "\na: the plan that was found; b: " << o.diff << "\n";
    if (o.overlap)
      std::cout << "a takes " << ashlar::seconds_text(found.seconds) << " a step and b "
                << ashlar::seconds_text(search::overlap_of(problem, b, machine).seconds())
                << " with transfers beside computations; if nothing overlaps,\n";
    std::cout << search::diff(problem, found, b, machine);
  }

  search::plan other() const {
    if (o.diff == "data" || o.diff == "tensor") return baseline(o.diff);
    return ashlar::io::load_plan(o.diff, problem, mesh, machine);
  }
};

void run(example::options const& o) {
  task t{o, example::choose_model(o), ashlar::parse_topology(o.mesh), example::choose_machine(o),
         example::progress_line(!o.quiet)};
  std::function<bool(int, search::layer_choice const&)> permits;
  if (!o.pins.empty()) {
    std::vector<search::pin> pins;
    for (auto const& text : o.pins) pins.push_back(search::parse_pin(text));
    permits = search::pinned_choices(t.problem, t.mesh, pins);
  }
  auto found = t.run(permits);
  t.line.show("");
  // The search may have chosen how many micro-batches take turns.
  t.problem.interleaved = found.plan.interleaved;
  auto const searched = found.plan;
  double gap = 1;
  found.plan = example::synchronized_by(o.sync, t.problem, searched, t.machine, &gap);
  std::string const text = search::explain(t.problem, found.plan, t.machine).text;
  // Without --explain, only the totals are printed: the text before the first empty line.
  std::cout << (o.explain ? text : text.substr(0, text.find("\n\n") + 1));
  std::printf("  %s by %s in %.3g s",
              found.gap > 0    ? "found"
              : o.pins.empty() ? "proved to be the optimum"
                               : "proved to be the optimum under the pins",
              o.algorithm.c_str(), found.seconds);
  if (!o.sync.empty() && !example::search_chooses_updates(o.sync))
    std::printf(", then synchronized by %s", o.sync.c_str());
  std::printf("\n\n");
  if (auto const how = example::synchronization_text(o.sync, t.problem, searched, found.plan,
                                                     t.machine, gap);
      !how.empty())
    std::cout << how << '\n';
  if (!o.pins.empty()) {
    double const without = o.seconds_without_pins > 0 ? o.seconds_without_pins
                                                      : t.run({}).plan.seconds;
    t.line.show("");
    std::cout << search::cost_of_pins(o.pins.size(), found.plan.seconds, without) << "\n\n";
  }
  std::fflush(stdout);
  t.compare(found.plan);
  std::fflush(stdout);
  if (o.program) {
    // Two micro-batches, or one group of micro-batches that take turns, show every kind of action.
    auto few = t.problem;
    few.micro_batches = std::min(few.micro_batches, std::max(2, few.interleaved));
    std::cout << '\n'
              << search::print(few, search::overlap_of(few, found.plan, t.machine).made, t.machine);
  }
  if (!o.diff.empty()) t.print_diff(found.plan);
  std::cout << std::flush;
  if (!o.out.empty()) ashlar::io::save_plan(o.out, t.problem, found.plan);
  if (!o.header.empty()) ashlar::io::save_plan_header(o.header, t.problem, found.plan, o.name);
  auto const save_page = [&](search::basic_memory_front<> const& front) {
    if (!o.html.empty())
      ashlar::io::save_plan_page(o.html, t.problem, found.plan, t.machine, front);
  };
  save_page({});
  if (o.pareto > 0) {
    auto const front = search::memory_front(
        t.problem, t.mesh, t.machine,
        {.limits = o.pareto, .permits = permits, .on_progress = [&](int done, int of) {
           t.line.show("limit " + std::to_string(done) + " of " + std::to_string(of));
         }});
    t.line.show("");
    std::cout << '\n' << front << std::flush;
    save_page(front);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::optional<int> exit_code;
  std::optional const o = example::parse_options(argc, argv, exit_code);
  if (exit_code) return *exit_code;
  try {
    auto const whole = example::wants_pipeline(*o) ? example::run_pipeline(*o) : o;
    if (whole) run(*whole);
  } catch (std::exception const& e) {
    std::fflush(stdout);
    std::cerr << "plan: " << e.what() << '\n';
    return 1;
  }
}
