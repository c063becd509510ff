// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares the search algorithms of AutoDDL's figure 7 with the exact search, on the same costs.
// The program shows how close to the optimum each algorithm gets in a given time. It is one process
// on one core.
//
//   bench/search --nets vgg13,gpt --meshes rack=8,node=8 --runs 10 --seconds 0.5
//   bench/search --curves curves.csv --csv table.csv
//   bench/search --noise 200                  with wrongly measured machines (noise.hpp)
//   bench/search --limited 5                  under a memory limit (limited.hpp)
//   bench/search --pipelines                  pipelines under a memory limit (pipelines.hpp)
//
// Times are CPU times of this process, so that other processes disturb them little. A search starts
// from the description of the net, so its time includes computing the tables of costs. All times
// are divided by the exact search's time, which is the median of several runs that are spread over
// the measurement.
//
// The four other algorithms search the whole space, as in the paper. With --reduced they search
// only choices that are not dominated, as the exact search does. The random algorithms are given
// the optimal cost and stop when they reach it.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include <CLI/CLI.hpp>

#include <ashlar/machine/presets.hpp>
#include <ashlar/mesh/text.hpp>
#include <ashlar/search/algorithms.hpp>

#include "../support/clock.hpp"
#include "../support/csv.hpp"
#include "limited.hpp"
#include "nets.hpp"
#include "noise.hpp"
#include "pipelines.hpp"

namespace {

using namespace ashlar_bench;
namespace search = ashlar::search;

/// A plan is near the optimum if its cost is at most this factor times the optimal cost. AutoDDL's
/// paper uses the same factor.
constexpr double near = 1.03;

struct arguments {
  std::vector<std::string> nets{"alexnet", "vgg13", "gpt", "dlrm", "dense"};
  std::vector<std::string> meshes{"rack=8,node=8"};
  std::string machine = "piz_daint", csv, curves;
  double seconds = 0.5;
  int runs = 10, noise = 0, limited = 0;
  std::uint64_t seed = 1;
  bool reduced = false, pipelines = false;
};

/// A new best plan during a search: the seconds until it was found, and its cost.
struct point {
  double seconds, best;
};

struct trial {
  std::vector<point> points;
  double seconds = 0, tables = 0;
  search::search_result result;

  /// Returns the seconds until a plan that costs at most `cost` was found, or infinity if none was.
  double time_to(double cost) const {
    for (auto const& p : points)
      if (p.best > 0 && p.best <= cost * (1 + 1e-9)) return p.seconds;
    return HUGE_VAL;
  }

  /// Returns the cost of the best plan that was found in the first `time` seconds, or infinity if
  /// none was.
  double cost_at(double time) const {
    double cost = HUGE_VAL;
    for (auto const& p : points)
      if (p.best > 0 && p.seconds <= time) cost = p.best;
    return cost;
  }
};

trial run(search::algorithm const& a, search::problem const& net, ashlar::topology const& t,
          ashlar::machine const& m, search::options o, double tables) {
  trial it;
  double const start = cpu_seconds();
  o.on_progress = [&](search::progress const& p) {
    it.points.push_back({cpu_seconds() - start, p.best});
  };
  o.seconds += tables;
  it.result = a.run(net, t, m, o);
  it.seconds = cpu_seconds() - start;
  it.tables = it.points.front().seconds;  // the tables of costs are built before the first plan
  return it;
}

/// Writes the cost of the best plan as a function of time, for a plot: the median of the runs, and
/// the 5th and 95th percentile. Times are divided by `unit`, costs by `optimum`. The curve begins
/// when every run has found a plan, and ends at the time `last`. It has 24 points for each factor
/// of ten in time.
void write_curve(csv_file& curves, std::vector<std::string> const& key,
                 std::vector<trial> const& trials, double unit, double optimum, double last) {
  double from = 0;
  for (auto const& it : trials) from = std::max(from, it.time_to(HUGE_VAL));
  for (int k = 0;; ++k) {
    double const now = std::min(last, from * std::pow(10, k / 24.0));
    std::vector<double> costs;
    for (auto const& it : trials) costs.push_back(it.cost_at(now) / optimum);
    std::sort(costs.begin(), costs.end());
    auto const share = [&](double part) {
      return number(costs[static_cast<std::size_t>(part * double(costs.size() - 1) + 0.5)], "%.6g");
    };
    auto row = key;
    row.insert(row.end(), {number(now / unit, "%.5g"), share(0.5), share(0.05), share(0.95)});
    curves.row(row);
    if (now >= last) return;
  }
}

/// Returns the number of layers that have choices, and the decimal logarithm of the number of
/// plans.
std::pair<int, double> space(search::problem const& net, ashlar::topology const& t) {
  std::pair<int, double> size{};
  for (int i = 0; i < net.size(); ++i) {
    if (net[i].kind == search::element_kind::residual_end) continue;
    ++size.first;
    size.second += std::log10(double(search::layer_choices(net.spec(i), t).size()));
  }
  return size;
}

std::string at_most(double value) { return std::isfinite(value) ? number(value, "%.3g") : "-"; }

void compare(named_net const& net, std::string const& mesh, ashlar::machine const& m,
             arguments const& args, csv_file& table, csv_file& curves) {
  auto const t = ashlar::parse_topology(mesh);
  auto const exactly = search::algorithm_named("exact");
  std::vector<double> exact_seconds;
  search::search_result best;
  auto const time_exact = [&](int times) {
    for (int i = 0; i < times; ++i) {
      double const start = cpu_seconds();
      best = exactly.run(net.problem, t, m, {});
      exact_seconds.push_back(cpu_seconds() - start);
    }
  };
  time_exact(3);
  double const optimum = best.plan.seconds;
  std::vector<std::vector<trial>> trials;
  for (auto const& a : search::algorithms()) {
    trials.emplace_back();
    if (std::string(a.name) == "exact") continue;
    double const tables =
        a.run(net.problem, t, m,
              {.evaluations = 1'000, .lower_bound = optimum, .whole_space = !args.reduced})
            .tables;
    for (int r = 0; r < (a.endless ? args.runs : 1); ++r)
      trials.back().push_back(run(a, net.problem, t, m,
                                  {.seed = args.seed + static_cast<std::uint64_t>(r),
                                   .seconds = args.seconds,
                                   .lower_bound = a.endless ? optimum : 0,
                                   .whole_space = !args.reduced},
                                  tables));
    time_exact(2);
  }
  double const unit = median_of(exact_seconds);
  double last = 0;
  for (auto const& of_algorithm : trials)
    for (auto const& it : of_algorithm) last = std::max(last, it.seconds);
  auto const [variables, plans] = space(net.problem, t);
  std::printf("\n%s on %s: %d layers with choices, 10^%.0f plans; exact: %.3g ms\n",
              net.name.c_str(), mesh.c_str(), variables, plans, unit * 1e3);
  std::printf("%-20s %12s %12s %12s %10s %10s\n", "", "to 3 %", "to optimum", "reached", "gap",
              "worst gap");
  std::string const place = without_commas(to_string(t));
  for (std::size_t k = 0; k < trials.size(); ++k) {
    search::algorithm const a = search::algorithms()[k];
    std::vector<double> close, there, gap, took, made;
    int reached = 0;
    bool ended = true;
    for (auto const& it : trials[k]) {
      close.push_back(it.time_to(near * optimum) / unit);
      there.push_back(it.time_to(optimum) / unit);
      gap.push_back(100 * (it.result.plan.seconds / optimum - 1));
      took.push_back(it.seconds / unit);
      made.push_back(it.tables / unit);
      reached += std::isfinite(there.back());
      ended = ended && it.result.how == search::ending::finished;
    }
    bool const is_exact = trials[k].empty();
    int const n = is_exact ? 1 : static_cast<int>(trials[k].size());
    if (is_exact) {
      close = there = {1};
      gap = {0};
      reached = 1;
      for (double const time : {1.0, last / unit})
        curves.row({net.name, place, a.name, number(time, "%.5g"), "1", "1", "1"});
    }
    if (!is_exact) write_curve(curves, {net.name, place, a.name}, trials[k], unit, optimum, last);
    double const worst = *std::max_element(gap.begin(), gap.end());
    auto const percent = [](double g) {
      return g < 5e-8 ? "0" : number(g, g < 10 ? "%.2g" : "%.0f");
    };
    std::vector<std::string> const cells{at_most(median_of(close)), at_most(median_of(there)),
                                         std::to_string(reached) + " of " + std::to_string(n),
                                         percent(median_of(gap)), percent(worst)};
    std::printf("%-20s %12s %12s %12s %10s %10s%s\n", a.name, cells[0].c_str(), cells[1].c_str(),
                cells[2].c_str(), cells[3].c_str(), cells[4].c_str(),
                std::string(a.name) == "exhaustive" && ended ? "   tried all" : "");
    table.row({net.name, place, std::to_string(variables), number(plans, "%.0f"),
               number(unit * 1e3, "%.3g"), a.name, cells[0], cells[1], cells[2], cells[3], cells[4],
               ended ? "yes" : "no", is_exact ? "1" : number(median_of(took), "%.4g"),
               is_exact ? "-" : number(median_of(made), "%.4g")});
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  arguments args;
  CLI::App app{"Compares search algorithms with the exact one"};
  app.add_option("--nets", args.nets, "nets: alexnet, vgg13, gpt, dlrm, dense")->delimiter(',');
  app.add_option("--meshes", args.meshes, "one or more meshes such as rack=8,node=8");
  app.add_option("--machine", args.machine, "the name of a preset");
  app.add_option("--seconds", args.seconds,
                 "seconds of each run of an algorithm, without the time for its tables of costs")
      ->check(CLI::PositiveNumber);
  app.add_option("--runs", args.runs, "runs of each random algorithm, with consecutive seeds")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", args.seed, "seed of the first run");
  app.add_flag("--reduced", args.reduced,
               "give all algorithms the reduced choices of the exact search");
  app.add_option("--noise", args.noise,
                 "instead: how much more plans cost if they were made for a machine that is up to "
                 "20 and 50 percent wrong, with this number of trials of each net and mesh")
      ->check(CLI::PositiveNumber);
  app.add_option("--limited", args.limited,
                 "instead: this number of exact searches for a Llama of 70 billion parameters, "
                 "without a memory limit and below the memory of the machine")
      ->check(CLI::PositiveNumber);
  app.add_flag("--pipelines", args.pipelines,
               "instead: searches for pipelines of a GPT of GPT-3's size on 1,024 GPUs in 80 GB");
  app.add_option("--csv", args.csv, "append the table to this file");
  app.add_option("--curves", args.curves, "append the best costs over time to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    auto const* const preset = ashlar::find_machine(args.machine);
    if (preset == nullptr)
      throw std::runtime_error("--machine: there is no preset \"" + args.machine + "\".");
    if (args.limited > 0) {
      csv_file table(args.csv, limited_heading);
      report_limited({args.machine, preset}, args.limited, table);
      return 0;
    }
    if (args.pipelines) {
      csv_file table(args.csv, pipelines_heading);
      report_pipelines({args.machine, preset}, table);
      return 0;
    }
    auto m = *preset;
    m.memory = 0;
    auto const nets = all_nets();
    if (args.noise > 0) {
      csv_file table(args.csv, noise_heading);
      for (auto const& name : args.nets)
        for (auto const& mesh : args.meshes)
          report_noise(net_named(nets, name), mesh, {args.machine, preset}, args.noise, table);
      return 0;
    }
    csv_file table(
        args.csv,
        "net,mesh,layers,plans_log10,exact_ms,algorithm,time_to_3_percent,time_to_optimum,"
        "reached,gap_percent,worst_gap_percent,ended,time,tables");
    csv_file curves(args.curves, "net,mesh,algorithm,time,cost,low,high");
    for (auto const& mesh : args.meshes)
      for (auto const& name : args.nets)
        compare(net_named(nets, name), mesh, m, args, table, curves);
  } catch (std::exception const& e) {
    std::cerr << "bench/search: " << e.what() << '\n';
    return 1;
  }
  return 0;
}
