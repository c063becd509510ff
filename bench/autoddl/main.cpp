// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Repeats the experiments of section 5 of the AutoDDL paper. Costs are predicted for the preset
// machines of the library, and not measured. For each experiment the program prints how much
// communication time our training plan saves, compared with the fastest baseline. It also prints
// the saving that the paper measured.
//
//   bench/autoddl                     all experiments; ends with the table of
//                                     bench/results/autoddl.md
//   bench/autoddl --only vgg          the experiments whose name contains this text
//
// Each plan, ours or a baseline's, is the best over several numbers of micro-batches. Our plan is
// also the best over many meshes: within each link tier (inside a node, between nodes), the ranks
// are factored into axes in every way that gives a mesh of at most three axes (option --axes). The
// plans of the baselines Megatron and Summa are the best over all meshes of two axes. The final
// table has ratios of predicted seconds, and no seconds.

#include <cstdio>
#include <ctime>
#include <functional>
#include <iostream>

#include <CLI/CLI.hpp>

#include <ashlar/machine/presets.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/vgg.hpp>
#include <ashlar/search/best_topology.hpp>
#include <ashlar/search/factored.hpp>
#include <ashlar/search/pipeline.hpp>
#include <ashlar/step/schedule.hpp>
#include <ashlar/support/bfloat16.hpp>

namespace {

namespace nn = ashlar::nn;
namespace search = ashlar::search;

/// A function that takes the number of micro-batches and returns the chain of layers to plan.
using chain_source = std::function<search::problem(int)>;

struct experiment {
  std::string name;
  chain_source net;
  ashlar::topology ranks;  ///< the mesh, with one axis for each link tier
  ashlar::machine machine;
  std::vector<int> micro_batches, stages;
  /// The saving that the paper measured, as text. It is a saving of communication time unless the
  /// text names another quantity.
  std::string paper;
};

/// Finds our plan by an exact search over all meshes of at most `most_axes` axes. The meshes factor
/// the ranks of each link tier into axes in every possible way.
struct factored_layout {
  int most_axes = 3;
  template <int N>
  search::basic_plan<N> operator()(search::basic_problem<N> const& net, ashlar::topology const& t,
                                   ashlar::machine const& m,
                                   search::search_effort const& effort = {}) const {
    return search::optimal_factored(net, t, m, most_axes, effort);
  }
};

std::vector<experiment> experiments() {
  using ashlar::topology;
  std::vector<experiment> all;
  auto const& daint = ashlar::machines::piz_daint;
  auto const& a100 = ashlar::machines::a100_server;
  auto const vgg = [](std::int64_t images, auto type) {
    return [images](int m) {
      return any_length(
          nn::describe<decltype(type)>(nn::vgg13(), nn::image_batch{images / m, 3, 224, 224, m}));
    };
  };
  auto const gpt = [](nn::gpt_options o, std::int64_t sequences, auto type) {
    return [o, sequences](int m) {
      return any_length(
          nn::describe<decltype(type)>(nn::gpt(o), nn::token_batch{sequences / m, 1024, m}));
    };
  };
  std::vector<int> const powers{1, 2, 4, 8, 16, 32, 64, 128, 256};
  int const nodes[] = {16, 32, 64};
  char const* const of_vgg[] = {"10 %", "18 %", "29 %"};
  for (int i = 0; i < 3; ++i)
    all.push_back({"vgg13, " + std::to_string(nodes[i]) + " nodes",
                   vgg(8 * nodes[i], 0.0f),
                   topology{{"node", nodes[i]}},
                   daint,
                   {1},
                   {1},
                   of_vgg[i]});
  for (int const gpus : {4, 8})
    all.push_back({"vgg13, 2 x " + std::to_string(gpus) + " A100",
                   vgg(gpus == 4 ? 128 : 256, ashlar::bfloat16{}),
                   topology{{"node", 2}, {"gpu", gpus}},
                   a100,
                   {1},
                   {1},
                   gpus == 4 ? "84.7 %" : "77.7 %"});
  all.push_back({"gpt 8 layers, 64 nodes",
                 gpt(nn::gpt_sizes::daint_64, 1024, 0.0f),
                 topology{{"node", 64}},
                 daint,
                 powers,
                 {1},
                 "23.9 %"});
  all.push_back({"gpt 20 layers, 128 nodes",
                 gpt(nn::gpt_sizes::daint_128, 1024, 0.0f),
                 topology{{"node", 128}},
                 daint,
                 powers,
                 {1},
                 "46.4 %"});
  all.push_back({"gpt 44 layers, 256 nodes",
                 gpt(nn::gpt_sizes::daint_256, 1024, 0.0f),
                 topology{{"node", 256}},
                 daint,
                 powers,
                 {1},
                 "35.3 %"});
  all.push_back({"gpt small, 32 A100",
                 gpt(nn::gpt_sizes::a100_small, 2048, ashlar::bfloat16{}),
                 topology{{"node", 2}, {"gpu", 16}},
                 a100,
                 powers,
                 {1},
                 "0 %"});
  all.push_back({"gpt large, 32 A100",
                 gpt(nn::gpt_sizes::a100_large, 2048, ashlar::bfloat16{}),
                 topology{{"node", 2}, {"gpu", 16}},
                 a100,
                 powers,
                 {1},
                 "21.6 %"});
  for (int const n : {64, 128})
    for (bool const wide : {true, false}) {
      auto const size = wide ? nn::gpt_sizes::pipeline_wide : nn::gpt_sizes::pipeline_deep;
      all.push_back({(wide ? "pipeline wide, " : "pipeline deep, ") + std::to_string(n) + " nodes",
                     gpt(size, 8 * n, 0.0f),
                     topology{{"node", n}},
                     daint,
                     {16, 32, 64, 128, 256},
                     {1, 2, 4},
                     "37 % of time"});
    }
  return all;
}

struct outcome {
  double seconds = 0, communication = 0;
  std::string text = "does not fit";
};

template <class Layout>
outcome best_of(experiment const& e, Layout const& layout) {
  try {
    auto const found = search::pipeline(e.net, e.ranks, e.machine, {e.stages, e.micro_batches},
                                        layout);
    char text[200];
    std::snprintf(
        text, sizeof text,
        "%s; %zu stages, %d micro-batches; %.1f GB; gap %.1f %%; %.1f %% exposed transfers",
        to_string(found.chosen.mesh).c_str(), found.stages.size(), found.micro_batches(),
        1e-9 * static_cast<double>(found.chosen.memory), 100 * found.chosen.gap,
        100 * found.exposed / found.seconds());
    return {found.seconds(), found.chosen.communication_seconds, text};
  } catch (ashlar::error const&) {
    return {};
  }
}

/// Formats the saving 1 - a / b in per cent, for example "41.5 %". Returns "-" if b is 0.
std::string saved(double a, double b) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * (1 - a / b));
  return b > 0 ? text : "-";
}

/// Prints one experiment, and returns its row of the table that is printed at the end.
std::string run(experiment const& e, int most_axes) {
  auto const start = std::clock();
  auto const ours = best_of(e, factored_layout{most_axes});
  double const took = double(std::clock() - start) / CLOCKS_PER_SEC;
  auto const print = [](char const* name, outcome const& o) {
    std::printf("  %-14s %8.4g s, %8.4g s of it communication (%s)\n", name, o.seconds,
                o.communication, o.text.c_str());
    std::fflush(stdout);
  };
  std::printf("\n%s, searched in %.1f s of processor time\n", e.name.c_str(), took);
  print("ours", ours);
  outcome best;
  std::string best_name, others;
  for (auto const& b : search::baselines()) {
    // A baseline's gap is 1, because the search has no lower bound on the plans of other layouts.
    // Here only pipelines of the same layout are compared, so the gap is set to 0.
    auto const it = best_of(e, [&b](auto const& net, auto const& mesh, auto const& m) {
      auto made = b.make(net, mesh, m);
      made.gap = 0;
      return made;
    });
    print(b.name, it);
    others += " | " + (it.seconds > 0 ? saved(ours.communication, it.communication) : it.text);
    if (it.seconds > 0 && (best_name.empty() || it.seconds < best.seconds))
      best = it, best_name = b.name;
  }
  return "| " + e.name + " | " + e.paper + " | " + saved(ours.communication, best.communication) +
         " | " + best_name + " | " + saved(ours.seconds, best.seconds) + others + " | " +
         ours.text + " |";
}

/// The bytes that rank 0 receives in one training step for the middle block of a chain of equal
/// blocks. Gradients of activations count as activations, and gradients of weights count as
/// weights.
struct volume {
  double activations = 0, weights = 0;
};

volume block_volume(search::problem const& net, search::plan const& chosen,
                    ashlar::machine const& m) {
  auto const blocks = search::find_blocks(net);
  int const first = blocks.first + blocks.count / 2 * blocks.size, last = first + blocks.size;
  volume v;
  for (auto const& move : search::schedule(net, chosen, m)) {
    if (move.element < first || move.element >= last) continue;
    bool const weight = move.what == search::moved::parameter;
    (weight ? v.weights
            : v.activations) += static_cast<double>(move.plan.received_bytes(chosen.mesh, {}));
  }
  return v;
}

/// Reproduces figure 3 of the AutoDDL paper: attention with 8,192 features and 2^20 tokens on 64
/// nodes, in a net that contains `block` four times. As in the paper, every weight matrix must be
/// split over at least 16 nodes. Every weight must be stored in the placement in which its layer
/// uses it.
template <class Block>
void figure_3(char const* what, Block const& block) {
  using enum ashlar::link_tier;
  ashlar::topology const mesh{
      {"node", 2}, {"node1", 2, inter_node}, {"node2", 4, inter_node}, {"node3", 4, inter_node}};
  auto const chain = nn::chain(nn::embedding(50257, 8192), nn::repeat(4, block),
                               nn::layer_norm(8192), nn::linear(8192, 50257, false));
  auto const net = any_length(nn::describe(chain, nn::token_batch{1024, 1024, 1}));
  ashlar::machine m = ashlar::machines::piz_daint;
  m.memory = 0;
  auto const split_16 = [&](int i, search::layer_choice const& c) {
    if (!search::detail::is_replicated_storage(c)) return false;
    if (c.parameters.empty()) return true;
    auto const& matrix = net.spec(i).parameters[0].extents;
    return matrix.rank() < 2 ||
           16 * max_local_elements(matrix, mesh, c.parameters[0].use) <= matrix.elements();
  };
  auto const print = [&](char const* name, search::plan const& plan) {
    auto const v = block_volume(net, plan, m);
    std::printf("  %-10s %s: %.2f GB of activations, %.3f GB of weights and gradients\n", name,
                to_string(plan.mesh).c_str(), 1e-9 * v.activations, 1e-9 * v.weights);
    return v;
  };
  std::printf("\nfigure 3, %s: bytes that a rank receives for one block in a step\n", what);
  auto const ours = print("ours", search::optimal(net, mesh, m, split_16));
  auto const four = search::detail::two_axes_of(4, 16, 1, 1);
  auto const paper = print("4-way data, 16-way model",
                           search::tensor_parallel(net, four.coarse, m));
  std::printf("  activations: %.3f of Megatron's (paper: 96/180 = %.3f)\n",
              ours.activations / paper.activations, 96.0 / 180);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Predicts the experiments of AutoDDL's section 5"};
  std::string only;
  int most = 3;
  app.add_option("--only", only, "only experiments whose name contains this text");
  app.add_option("--axes", most, "maximum number of axes of a mesh")->check(CLI::Range(1, 4));
  CLI11_PARSE(app, argc, argv);
  std::vector<std::string> lines;
  for (auto const& e : experiments())
    if (e.name.find(only) != std::string::npos) lines.push_back(run(e, most));
  if (std::string("figure 3").find(only) != std::string::npos) {
    figure_3("attention", nn::self_attention(8192, 64));
    figure_3("attention with norm and residual",
             nn::residual(nn::chain(nn::layer_norm(8192), nn::self_attention(8192, 64))));
  }
  std::printf(
      "\n| experiment | paper | communication saved against the best | that is | time saved");
  for (auto const& b : search::baselines()) std::printf(" | against %s", b.name);
  std::printf(" | plan |\n|");
  for (std::size_t i = 0; i < 6 + search::baselines().size(); ++i) std::printf(" --- |");
  std::printf("\n");
  for (auto const& line : lines) std::printf("%s\n", line.c_str());
}
