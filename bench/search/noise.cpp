// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "noise.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include <support/disturbed.hpp>

#include <ashlar/mesh/text.hpp>
#include <ashlar/search/optimal.hpp>

namespace ashlar_bench {

namespace search = ashlar::search;

std::vector<double> noise_trials(search::problem const& net, ashlar::topology const& t,
                                 ashlar::machine const& truth, double most, bool of_collectives,
                                 int trials) {
  using ashlar_test::noise;
  double const least = search::optimal(net, t, truth).seconds;
  std::vector<double> above;
  for (int k = 1; k <= trials; ++k) {
    auto const supposed = ashlar_test::disturbed(truth, most, static_cast<std::uint64_t>(k),
                                                 of_collectives ? noise::of_collectives
                                                                : noise::of_tiers);
    auto const plan = search::optimal(net, t, supposed);
    above.push_back(100 * (ashlar_test::seconds_on(net, plan, supposed, truth) / least - 1));
  }
  std::sort(above.begin(), above.end());
  return above;
}

namespace {
std::string percent(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2f", value < 0.005 ? 0 : value);
  return text;
}
}  // namespace

void report_noise(named_net const& net, std::string const& mesh,
                  ashlar::named_machine const& machine, int trials, csv_file& table) {
  auto truth = *machine.is;
  truth.memory = 0;
  auto const t = ashlar::parse_topology(mesh);
  struct {
    double most;
    bool of_collectives;
  } const kinds[] = {{0.2, true}, {0.2, false}, {0.5, true}};
  for (auto const& kind : kinds) {
    auto const above = noise_trials(net.problem, t, truth, kind.most, kind.of_collectives, trials);
    auto const n = above.size();
    double const mean = std::accumulate(above.begin(), above.end(), 0.0) / double(n);
    auto const many = above.end() - std::upper_bound(above.begin(), above.end(), 2.0);
    char const* const of = kind.of_collectives ? "collectives" : "tiers";
    std::printf("%-8s %-14s %-12s %2.0f %% in %-11s mean %6.2f median %6.2f p95 %6.2f worst %6.2f; "
                "%ld of %d above 2\n",
                net.name.c_str(), mesh.c_str(), std::string(machine.name).c_str(), 100 * kind.most,
                of, mean, above[n / 2], above[n * 95 / 100], above[n - 1], static_cast<long>(many),
                trials);
    table.row({net.name, without_commas(mesh), std::string(machine.name),
               number(100 * kind.most, "%.0f"), of, std::to_string(trials), percent(mean),
               percent(above[n / 2]), percent(above[n * 95 / 100]), percent(above[n - 1]),
               std::to_string(many)});
  }
  std::fflush(stdout);
}

}  // namespace ashlar_bench
