// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "pipelines.hpp"

#include <cstdio>
#include <ctime>

#include <ashlar/mesh/text.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/pipeline.hpp>
#include <ashlar/support/bfloat16.hpp>

namespace ashlar_bench {

namespace nn = ashlar::nn;
namespace search = ashlar::search;

void report_pipelines(ashlar::named_machine const& machine, csv_file& table) {
  auto const t = ashlar::parse_topology("node=128,gpu=8");
  auto m = *machine.is;
  m.memory = 80'000'000'000;
  auto const net_of = [](int batches) {
    auto net = any_length(nn::describe<ashlar::bfloat16>(
        nn::gpt({96, 12288, 96, 50257}), nn::token_batch{1024 / batches, 2048, batches}));
    net.accumulation_size = 4;
    return net;
  };
  struct searched {
    char const* name;
    search::pipeline_options how;
  };
  searched all{"all schedules; any cuts", {}};
  all.how.schedules = search::all_schedules();
  all.how.any_cuts = true;
  for (int batches = 1024; batches >= 1; batches /= 2) all.how.micro_batches.push_back(batches);
  for (auto const& [name, how] :
       {searched{"16 parts; 128 micro-batches; 1F1B; equal stages", {{16}, {128}}},
        searched{"16 parts; 128 micro-batches; searched warm-ups; any cuts",
                 {{16}, {128}, {"searched"}, {}, true}},
        searched{"16 parts; 128 micro-batches; interleaved:2 or DualPipeV; equal stages",
                 {{16}, {128}, {"interleaved:2", "dual_pipe_v"}}},
        all}) {
    auto const start = std::clock();
    auto const plan = search::pipeline(net_of, t, m, how);
    double const took = double(std::clock() - start) / CLOCKS_PER_SEC;
    std::string const text = std::to_string(plan.stages.size()) + " stages; " +
                             std::to_string(plan.micro_batches()) + " micro-batches";
    std::vector<std::string> const cells{"gpt3",
                                         without_commas(to_string(t)),
                                         std::string(machine.name),
                                         "80",
                                         name,
                                         number(took, "%.2f"),
                                         number(plan.seconds(), "%.3f"),
                                         text,
                                         number(double(plan.chosen.memory) / 1e9, "%.1f"),
                                         plan.chosen.gap > 0 ? number(100 * plan.chosen.gap, "%.1f")
                                                             : "0"};
    std::printf("%s: %s CPU s; a step takes %s s with %s and %s GB, gap %s %%\n", name,
                cells[5].c_str(), cells[6].c_str(), cells[7].c_str(), cells[8].c_str(),
                cells[9].c_str());
    table.row(cells);
  }
}

}  // namespace ashlar_bench
