// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "limited.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include <ashlar/mesh/text.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/llama.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/support/bfloat16.hpp>

namespace ashlar_bench {

namespace nn = ashlar::nn;
namespace search = ashlar::search;

void report_limited(ashlar::named_machine const& machine, int runs, csv_file& table) {
  auto const t = ashlar::parse_topology("node=16,gpu=8");
  for (bool const is_limited : {false, true}) {
    auto m = *machine.is;
    if (!is_limited) m.memory = 0;
    std::vector<double> times;
    search::plan plan;
    for (int run = 0; run < runs; ++run) {
      auto const start = std::clock();
      auto const net = any_length(nn::describe<ashlar::bfloat16>(
          nn::llama(nn::llama_sizes::llama2_70b), nn::token_batch{128, 4096, 4}));
      plan = search::optimal(net, t, m, search::any_choice{}, {.labels = most_labels});
      times.push_back(1e3 * double(std::clock() - start) / CLOCKS_PER_SEC);
    }
    std::sort(times.begin(), times.end());
    std::vector<std::string> const cells{"llama2-70b",
                                         without_commas(to_string(t)),
                                         std::string(machine.name),
                                         number(double(m.memory) / 1e9, "%.0f"),
                                         number(times.front(), "%.3g"),
                                         number(times[times.size() / 2], "%.3g"),
                                         number(plan.seconds, "%.2f"),
                                         number(double(plan.memory) / 1e9, "%.0f"),
                                         plan.gap > 0 ? number(100 * plan.gap, "%.1f") : "0"};
    std::printf(
        "%s on %s, %s, limit %s GB: %s ms, median %s; a step takes %s s and %s GB, gap %s %%\n",
        cells[0].c_str(), cells[1].c_str(), cells[2].c_str(), cells[3].c_str(), cells[4].c_str(),
        cells[5].c_str(), cells[6].c_str(), cells[7].c_str(), cells[8].c_str());
    table.row(cells);
  }
}

}  // namespace ashlar_bench
