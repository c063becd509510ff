// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares algorithms that order the tasks of a crossing of a tensor from one mesh to another:
// ours, and those of the paper on cross-mesh resharding. A task is a piece of the tensor that some
// ports need, and a port is the network interface of a node (plan/crossing/port_task.hpp). Runs in
// one process on one core. For each set of problems and each algorithm, the program prints how much
// longer than the lower bound the orders are, and the CPU time that the algorithm took. Then it
// prints how long planning a whole crossing takes, including the redistributions before and after
// it.
//
//   bench/crossing --csv orders.csv --plans plans.csv
//
//   table 2   the nine cases of the paper
//   small     random problems of at most 3 x 3 nodes and 6 tasks, for which all orders can be tried
//   large     random problems of at most 16 x 16 nodes and 1,000 tasks; each task has one receiving
//             node
//   relayed   like `large`, with up to four receiving nodes for each task
//
// In an order of the paper, each task is sent whole to all its receivers at the same time, and no
// port takes part in two tasks at once. Our orders cut tasks into parts, and receivers pass them
// on. The length of our order is the sum of the lengths of its rounds. It does not include the time
// to fill the chains of receivers, because that time depends on the number of chunks.

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>

#include <CLI/CLI.hpp>
#include <support/port_problems.hpp>
#include <support/table_2.hpp>

#include <ashlar/machine/presets.hpp>
#include <ashlar/placement/text.hpp>
#include <ashlar/plan/cross_mesh.hpp>
#include <ashlar/plan/crossing/algorithms.hpp>

#include "../support/clock.hpp"
#include "../support/csv.hpp"

namespace {

using namespace ashlar_bench;
using namespace ashlar_test;

/// Returns the least CPU seconds of ten calls, so that caches are warm and interruptions few.
template <class Call>
double least_seconds(Call call) {
  double least = 1e300;
  for (int i = 0; i < 10; ++i) {
    double const begin = cpu_seconds();
    call();
    least = std::min(least, cpu_seconds() - begin);
  }
  return least;
}

double at(std::vector<double> values, double quantile) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(quantile * static_cast<double>(values.size() - 1))];
}

/// The algorithms of the library, then one that tries all orders of whole tasks.
std::vector<ashlar::crossing_algorithm> const algorithms = [] {
  std::vector<ashlar::crossing_algorithm> all(std::begin(ashlar::crossing_algorithms),
                                              std::end(ashlar::crossing_algorithms));
  all.push_back({"all orders", false, shortest});
  return all;
}();

/// Runs all algorithms on a set of problems, the last one only if `tries_all`.
void compare(std::string const& name, std::vector<ashlar::port_problem> const& problems,
             bool tries_all, csv_file& csv) {
  std::vector<double> bounds;
  for (auto const& p : problems) bounds.push_back(double(least_elements(p)));
  std::map<std::string, std::vector<double>> gaps;
  for (auto const& algorithm : algorithms) {
    if (algorithm.length == shortest && !tries_all) continue;
    auto& gap = gaps[algorithm.name];
    std::vector<double> ms;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      std::int64_t length = 0;
      auto const once = [&] { length = algorithm.length(problems[i]); };
      double const begin = cpu_seconds();
      once();
      double seconds = cpu_seconds() - begin;
      if (seconds < 0.01) seconds = std::min(seconds, least_seconds(once));
      gap.push_back(100 * (double(length) / bounds[i] - 1));
      ms.push_back(1e3 * seconds);
    }
    auto const none = std::count_if(gap.begin(), gap.end(), [](double g) { return g == 0; });
    auto const text = [](double x, char const* format) {
      char digits[40];
      std::snprintf(digits, sizeof digits, format, x);
      return std::string(digits);
    };
    std::vector<std::string> const row{name,
                                       algorithm.name,
                                       std::to_string(problems.size()),
                                       std::to_string(none),
                                       text(at(gap, 0.5), "%.2f"),
                                       text(at(gap, 1), "%.2f"),
                                       text(at(ms, 0.5), "%.4f"),
                                       text(at(ms, 1), "%.4f")};
    csv.row(row);
    std::printf("%-10s %-13s %4s problems, %4s without gap, median %7s %%, worst %7s %%, %9s ms, "
                "worst %9s ms\n",
                row[0].c_str(), row[1].c_str(), row[2].c_str(), row[3].c_str(), row[4].c_str(),
                row[5].c_str(), row[6].c_str(), row[7].c_str());
  }
  if (!tries_all) return;
  int longer = 0, shorter = 0;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    longer += gaps["ours"][i] > gaps["all orders"][i];
    shorter += gaps["ours"][i] < gaps["all orders"][i];
  }
  std::printf("%-10s ours is longer than the shortest order of whole tasks in %d, shorter in %d\n",
              name.c_str(), longer, shorter);
}

std::vector<ashlar::port_problem> cases_of_table_2() {
  ashlar::topology const whole({{"node", 5}, {"gpu", 4}});
  std::vector<ashlar::port_problem> problems;
  for (auto const& c : table_2) {
    auto const tasks = unit_tasks({{1024, 1024, 512}}, some_nodes(whole, 0, c.send[0], c.send[1]),
                                  ashlar::parse_placement(c.from),
                                  some_nodes(whole, c.send[0], c.receive[0], c.receive[1]),
                                  ashlar::parse_placement(c.to));
    problems.push_back(ports_of(tasks, whole).between);
  }
  return problems;
}

/// Times plans of crossings between the first and the second half of the ranks of a mesh, both
/// arranged along `axes`. Takes all pairs of placements. If there are more than `most`, takes only
/// every n-th pair, with the least n for which at most `most` pairs are left.
void time_plans(std::string const& name, ashlar::topology const& whole,
                ashlar::topology const& axes, std::size_t most, csv_file& csv) {
  std::vector<ashlar::mesh_part> parts;
  for (int half = 0; half < 2; ++half) {
    std::vector<int> ranks(static_cast<std::size_t>(whole.ranks() / 2));
    std::iota(ranks.begin(), ranks.end(), half * whole.ranks() / 2);
    parts.push_back(part_of(whole, ranks, axes));
  }
  ashlar::shape const extents{{1024, 1024}};
  ashlar::placement_graph const graph(extents.rank(), axes);
  auto const states = static_cast<std::size_t>(graph.states());
  std::vector<double> ms;
  std::size_t const pairs = states * states, step = (pairs + most - 1) / most;
  for (std::size_t k = 0; k < pairs; k += step) {
    auto const from = graph.state(static_cast<int>(k / states)),
               to = graph.state(static_cast<int>(k % states));
    ms.push_back(1e3 * least_seconds([&] {
                   plan_cross_mesh(extents, 4, parts[0], from, parts[1], to, whole,
                                   ashlar::machines::p3_8xlarge);
                 }));
  }
  csv.row({name, std::to_string(ms.size()), number(at(ms, 0.5)), number(at(ms, 0.95)),
           number(at(ms, 1))});
  std::printf("plans %s: %zu pairs of placements, median %.3f ms, 95 %% below %.3f ms, worst "
              "%.3f ms\n",
              name.c_str(), ms.size(), at(ms, 0.5), at(ms, 0.95), at(ms, 1));
}

}  // namespace

int main(int argc, char** argv) {
  std::string orders, plans;
  int large = 100;
  CLI::App app("Orders of crossings between meshes, and the time that they take to find.");
  app.add_option("--csv", orders, "appends the table of orders to this file");
  app.add_option("--plans", plans, "appends the table of planning times to this file");
  app.add_option("--large", large, "number of large problems of each kind")
      ->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  try {
    csv_file table(orders, "set,algorithm,problems,without_gap,gap,worst_gap,ms,worst_ms");
    csv_file times(plans, "meshes,plans,ms,ms_95,worst_ms");
    compare("table 2", cases_of_table_2(), false, table);
    std::mt19937 random(1);
    std::vector<ashlar::port_problem> some;
    for (int i = 0; i < 500; ++i)
      some.push_back(random_problem(random, 1 + i % 3, 1 + i / 3 % 3, 1 + i % 6, 3));
    compare("small", some, true, table);
    for (int const receivers : {1, 4}) {
      some.clear();
      for (int i = 0; i < large; ++i) {
        auto const below = [&](int n) { return static_cast<int>(random() % unsigned(n)); };
        int const nodes = 1 + below(16);
        some.push_back(random_problem(random, nodes, 1 + below(16), i == 0 ? 1000 : 1 + below(1000),
                                      receivers, 1 << 20));
      }
      compare(receivers == 1 ? "large" : "relayed", some, false, table);
    }
    for (bool const apart : {true, false}) {
      // If not apart, both halves of the mesh are in the same nodes.
      auto const name = [&](char const* what) {
        return std::string(what) + (apart ? " on other nodes" : " on the same nodes");
      };
      auto const mesh = [&](int nodes, int gpus) -> ashlar::topology {
        if (apart) return {{"node", 2 * nodes}, {"gpu", gpus}};
        return {{"part", 2}, {"node", nodes}, {"gpu", gpus}};
      };
      time_plans(name("2 x 2 to 2 x 2"), mesh(2, 2), {{"node", 2}, {"gpu", 2}}, 2000, times);
      time_plans(name("2 x 4 to 2 x 4"), mesh(2, 4), {{"node", 2}, {"gpu", 4}}, 2000, times);
      time_plans(name("2 x 2 x 2 to 2 x 2 x 2"), mesh(4, 2), {{"rack", 2}, {"node", 2}, {"gpu", 2}},
                 300, times);
    }
  } catch (std::exception const& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
  return 0;
}
