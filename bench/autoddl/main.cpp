// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The experiments of AutoDDL's section 5 on the preset machines: how much less the plan found
// communicates than the best baseline, beside what the paper measured.
//
//   bench/autoddl                     all experiments, as a table of bench/results/autoddl.md
//   bench/autoddl --only vgg          those whose name holds this text
//
// Each plan is the best over the numbers of micro-batches, for ours also over the ways to factor the
// ranks of each tier into axes, for Megatron and Summa over all meshes of two axes. Seconds are
// predicted ones: what is compared are ratios.

#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>

#include <CLI/CLI.hpp>

#include <ashlar/machine/presets.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/vgg.hpp>
#include <ashlar/search/best_topology.hpp>
#include <ashlar/search/explain.hpp>
#include <ashlar/search/pipeline.hpp>
#include <ashlar/support/bfloat16.hpp>

namespace {

namespace nn = ashlar::nn;
namespace search = ashlar::search;

/// A chain with a step in so many micro-batches.
using chain_source = std::function<search::problem(int)>;

struct experiment {
  std::string name;
  chain_source net;
  ashlar::topology ranks;  ///< one axis a tier
  ashlar::machine machine;
  std::vector<int> micro_batches, stages;
  std::string paper;  ///< communication saved, as the paper measured it
};

template <int N>
search::problem any_length(search::basic_problem<N> const& fixed) {
  search::problem net;
  net.layers.assign(fixed.layers.begin(), fixed.layers.end());
  net.elements.assign(fixed.elements.begin(), fixed.elements.end());
  net.element_size = fixed.element_size;
  net.micro_batches = fixed.micro_batches;
  net.optimizer_states = fixed.optimizer_states;
  return net;
}

/// All ways to write n as an ascending product of at most `most` factors above 1.
std::vector<std::vector<int>> products(int n, int most, int least = 2) {
  std::vector<std::vector<int>> all;
  if (n == 1) return {{}};
  if (most == 0) return {};
  for (int f = least; f <= n; ++f)
    if (n % f == 0)
      for (auto rest : products(n / f, most - 1, f)) {
        rest.insert(rest.begin(), f);
        all.push_back(rest);
      }
  return all;
}

/// The meshes that refine t, of at most `most` axes: each tier's ranks in every product.
std::vector<ashlar::topology> factorings(ashlar::topology const& t, int most) {
  std::vector<ashlar::topology> all;
  int const inside = t.ranks_per_node(), nodes = t.ranks() / inside;
  for (auto const& n : products(nodes, most))
    for (auto const& g : products(inside, most - static_cast<int>(n.size()))) {
      ashlar::topology fine;
      for (int const e : n)
        fine.axis.push_back({ashlar::axis_name("n" + std::to_string(fine.axes())), e,
                             ashlar::link_tier::inter_node});
      for (int const e : g)
        fine.axis.push_back({ashlar::axis_name("g" + std::to_string(fine.axes())), e,
                             ashlar::link_tier::intra_node});
      if (fine.axes() == 0) fine.axis.push_back({"g0", 1});
      all.push_back(fine);
    }
  return all;
}

/// The exact search on each of those meshes.
struct best_factoring {
  int most = 3;
  search::plan operator()(search::problem const& net, ashlar::topology const& t,
                          ashlar::machine const& m) const {
    search::plan best;
    std::string refused;
    for (auto const& mesh : factorings(t, most)) {
      try {
        auto plan = search::optimal(net, mesh, m);
        if (best.mesh.axes() == 0 || plan.seconds < best.seconds) best = std::move(plan);
      } catch (ashlar::error const& e) {
        refused = e.what();
      }
    }
    if (best.mesh.axes() == 0) throw ashlar::error("best_factoring", refused);
    return best;
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
  std::vector<int> const powers{1, 2, 4, 8, 16, 32, 64, 128};
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
  return all;
}

struct outcome {
  double seconds = 0, communication = 0;
  std::string text;
};

template <class Layout>
outcome best_of(experiment const& e, Layout const& layout) {
  try {
    auto const found = search::pipeline(e.net, e.ranks, e.machine, {e.stages, e.micro_batches},
                                        layout);
    char text[160];
    std::snprintf(text, sizeof text, "%s, %d micro-batches, %.1f GB",
                  to_string(found.chosen.mesh).c_str(), found.micro_batches(),
                  1e-9 * static_cast<double>(found.chosen.memory));
    return {found.seconds(), found.chosen.communication_seconds, text};
  } catch (ashlar::error const&) {
    return {0, 0, "does not fit"};
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The experiments of AutoDDL's section 5, predicted"};
  std::string only;
  int most = 3;
  app.add_option("--only", only, "experiments whose name holds this text");
  app.add_option("--axes", most, "at most so many axes of a mesh")->check(CLI::Range(1, 4));
  CLI11_PARSE(app, argc, argv);
  for (auto const& e : experiments()) {
    if (e.name.find(only) == std::string::npos) continue;
    auto const start = std::chrono::steady_clock::now();
    auto const ours = best_of(e, best_factoring{most});
    double const took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("\n%s: ours %.4g s, %.4g s of it communication (%s); searched in %.2f s\n",
                e.name.c_str(), ours.seconds, ours.communication, ours.text.c_str(), took);
    std::fflush(stdout);
    outcome best;
    std::string best_name;
    for (auto const& b : search::baselines()) {
      auto const it = best_of(e, b.make);
      std::printf("  %-14s %.4g s, %.4g s of it communication (%s)\n", b.name, it.seconds,
                  it.communication, it.text.c_str());
      std::fflush(stdout);
      if (it.seconds > 0 && (best_name.empty() || it.seconds < best.seconds))
        best = it, best_name = b.name;
    }
    if (!best_name.empty())
      std::printf("  communication saved against %s: %.1f %% (paper: %s); time %.1f %%\n",
                  best_name.c_str(), 100 * (1 - ours.communication / best.communication),
                  e.paper.c_str(), 100 * (1 - ours.seconds / best.seconds));
  }
}
