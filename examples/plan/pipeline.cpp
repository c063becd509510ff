// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "pipeline.hpp"

#include <chrono>
#include <cstdio>
#include <iostream>

#include <ashlar/io/json/pipeline_file.hpp>
#include <ashlar/io/pipeline_page.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/diff_pipeline.hpp>
#include <ashlar/search/explain_pipeline.hpp>
#include <ashlar/search/pinned.hpp>
#include <ashlar/search/pipeline.hpp>

#include "../support/micro_batches.hpp"
#include "models.hpp"
#include "report.hpp"

namespace search = ashlar::search;

namespace example {
namespace {

/// Returns `o` with the batch of the step cut into `m` micro-batches. If `o` fixes the number of
/// micro-batches, returns `o` unchanged.
options in_micro_batches(options o, int m) {
  if (o.micro_batches != 0) return o;
  o.micro_batches = m;
  o.batch /= m;
  return o;
}

/// The plan of --diff, with which the found pipeline is compared, and the problem of this plan. The
/// plan is read from a file (with or without stages), or is a baseline without stages.
struct compared {
  search::problem net;
  search::pipeline_plan plan;
};

compared other_plan(options const& o, int micro_batches, ashlar::topology const& mesh,
                    ashlar::machine machine) {
  bool const data = o.diff == "data", tensor = o.diff == "tensor";
  auto const head = data || tensor ? ashlar::io::plan_head{false, micro_batches}
                                   : ashlar::io::load_plan_head(o.diff);
  auto net = choose_model(in_micro_batches(o, head.micro_batches));
  if (head.in_stages) {
    auto const plan = ashlar::io::load_pipeline(o.diff, net, mesh, machine);
    return {std::move(net), plan};
  }
  auto unlimited = machine;
  unlimited.memory = 0;
  auto const whole = data     ? search::data_parallel(net, mesh, unlimited)
                     : tensor ? search::tensor_parallel(net, mesh, unlimited)
                              : ashlar::io::load_plan(o.diff, net, mesh, machine);
  auto const plan = search::as_pipeline(net, whole, machine);
  return {std::move(net), plan};
}

}  // namespace

bool wants_pipeline(options const& o) { return o.stages != 1 || o.micro_batches == 0; }

std::optional<options> run_pipeline(options const& o) {
  auto const mesh = ashlar::parse_topology(o.mesh);
  auto const machine = choose_machine(o);
  auto const net_of = [&](int m) { return choose_model(in_micro_batches(o, m)); };
  progress_line const line(!o.quiet);
  int tried = 0;
  auto const layout = [&](search::problem const& chain, ashlar::topology const& t,
                          ashlar::machine const& m, search::choice_filter const& permits) {
    line.show("searching: plan " + std::to_string(++tried) + ", stages of " +
              std::to_string(t.ranks()) + " ranks");
    return search::optimal_layout{}(chain, t, m, {}, permits);
  };
  auto const search_in = [&](std::vector<int> stages, ashlar::machine const& m,
                             std::vector<std::string> const& pins) {
    search::pipeline_options how{std::move(stages), micro_batch_counts(o.batch, o.micro_batches)};
    if (o.schedule == "auto") how.schedules = search::all_schedules();
    else how.schedules = {o.schedule};
    how.any_cuts = o.schedule != "1f1b";
    how.in_flight = o.in_flight;
    for (auto const& text : pins) how.pins.push_back(search::parse_pin(text));
    if (how.stages == std::vector{1}) how.schedules = {"1f1b"};
    return search::pipeline(net_of, mesh, m, how, layout);
  };
  auto const start = std::chrono::steady_clock::now();
  auto const stages = o.stages == 0 ? std::vector<int>{} : std::vector{o.stages};
  auto const found = search_in(stages, machine, o.pins);
  std::chrono::duration<double> const seconds = std::chrono::steady_clock::now() - start;
  int const searches = tried;
  auto chosen = in_micro_batches(o, found.micro_batches());
  // If --algorithm is not exact, main.cpp searches without the pins, with that algorithm.
  if (!o.pins.empty() && o.algorithm == "exact")
    chosen.seconds_without_pins = search_in(stages, machine, {}).seconds();
  line.show("");
  if (found.stages.size() == 1) {
    std::printf("one stage%s is best, %d micro-batch%s of %lld:\n\n",
                o.stages == 1 ? "" : " (no pipeline)", chosen.micro_batches,
                chosen.micro_batches == 1 ? "" : "es", static_cast<long long>(chosen.batch));
    return chosen;
  }
  auto const net = choose_model(chosen);
  std::string const text = search::explain(net, found, machine).text;
  // Without --explain, the layers are left out: only the text before the second empty line is
  // printed.
  std::cout << (o.explain ? text : text.substr(0, text.find("\n\n", text.find("\n\n") + 2) + 1));
  std::printf("  found in %.3g s, of %d searches; micro-batches of %lld\n\n", seconds.count(),
              searches, static_cast<long long>(chosen.batch));
  if (!o.pins.empty())
    std::printf(
        "%s\n\n",
        search::cost_of_pins(o.pins.size(), found.seconds(), chosen.seconds_without_pins).c_str());
  std::fflush(stdout);

  auto unlimited = machine;
  unlimited.memory = 0;
  line.show("baselines");
  auto const whole = search_in({1}, unlimited, o.pins).chosen;
  auto const of_step = choose_model(in_micro_batches(o, whole.micro_batches));
  auto const data = search::data_parallel(of_step, mesh, unlimited);
  auto const tensor = search::tensor_parallel(of_step, mesh, unlimited);
  line.show("");
  print_beside("this pipeline", found.chosen, found.chosen, machine.memory);
  print_beside("without stages", whole, found.chosen, machine.memory);
  print_beside("data parallel", data, found.chosen, machine.memory);
  print_beside("tensor parallel", tensor, found.chosen, machine.memory);
  std::fflush(stdout);
  if (!o.diff.empty()) {
    auto const other = other_plan(o, whole.micro_batches, mesh, machine);
    std::cout << "\na: the pipeline that was found; b: " << o.diff << "\n"
              << search::diff(net, found, other.net, other.plan, machine) << std::flush;
  }
  if (!o.out.empty()) ashlar::io::save_pipeline(o.out, net, found);
  if (!o.html.empty()) ashlar::io::save_pipeline_page(o.html, net, found, machine);
  return {};
}

}  // namespace example
