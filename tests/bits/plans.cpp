// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Prints the training plans that the search finds, so that tests/same_bits.sh --plans can compare
// two versions of the library. The program uses the nets, meshes and machines of
// tests/unit/search_*_test.cpp and of bench/search, with and without memory limits. Each plan is a
// line of columns separated by tabs:
//
//   name      net | mesh | machine | memory limit
//   plan      the fingerprint of the plan's placements, or the error of the search if it finds none
//   seconds   the predicted seconds of a step, as a hexadecimal number
//   seconds   the same seconds as a decimal number
//   memory    the predicted bytes per rank
//   others    the number of micro-batches, the number of recomputed segments, the gap
//             (1 - lower bound / seconds), and the mesh (a factored search chooses it)
//
//   plan_bits [--only PART_OF_A_NAME] [--limits FILE]
//
// A memory limit is a percentage of the memory that the plan without a limit needs. By default,
// that plan is the one that the same run has found. With --limits, the memory of that plan is read
// from FILE, the output of another version of this program. Both versions then get the same limits.

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <ashlar/machine/presets.hpp>
#include <ashlar/mesh/text.hpp>
#include <ashlar/nn/alexnet.hpp>
#include <ashlar/nn/bert.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/dlrm.hpp>
#include <ashlar/nn/flatten.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/vgg.hpp>
#include <ashlar/search/factored.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/support/bfloat16.hpp>

// These two headers come from the version of the library that this program is built against. They
// are included last because they use the declarations above.
#include <search/nets.hpp>
#include <unit/search_nets.hpp>

namespace {

namespace nn = ashlar::nn;
namespace search = ashlar::search;
using namespace ashlar_test;
using ashlar::parse_topology;

std::string only;
/// The contents of the file of --limits: the memory of each plan in bytes, by the plan's name.
std::map<std::string, std::int64_t> limits;

constexpr ashlar::machine bandwidth_bound{{1e-12, 1e-9}, {1e-12, 4e-9}, 1e11, 1e10, 0};
constexpr ashlar::machine slow_ranks{{1e-9, 1e-12}, {1e-9, 1e-12}, 1e6, 1e6, 0};

struct named_machine {
  char const* name;
  ashlar::machine machine;
};

/// Returns a preset machine without its memory limit.
named_machine preset(char const* name) {
  auto m = *ashlar::find_machine(name);
  m.memory = 0;
  return {name, m};
}

using finder = std::function<search::plan()>;

/// Calls `find`, prints the plan that it returns, and returns that plan. Returns a plan without
/// choices if --only excludes the name, or if `find` throws because there is no plan.
search::plan print(std::string const& name, finder const& find) {
  if (name.find(only) == std::string::npos) return {};
  search::plan plan;
  try {
    plan = find();
  } catch (ashlar::error const& e) {
    std::string text = e.what();
    for (auto& c : text)
      if (c == '\n' || c == '\t') c = ' ';
    std::printf("%s\tno plan: %s\t0\t0\t0\t-\n", name.c_str(), text.c_str());
    return plan;
  }
  std::printf("%s\t%016" PRIx64
              "\t%a\t%.12g\t%lld\t%d micro-batches, %d recomputed, gap %.6f, %s\n",
              name.c_str(), search::fingerprint(plan), plan.seconds, plan.seconds,
              static_cast<long long>(plan.memory), plan.micro_batches, plan.recomputed, plan.gap,
              to_string(plan.mesh).c_str());
  std::fflush(stdout);
  return plan;
}

/// Prints the plan of find(machine) without a memory limit. Then prints, for each element of
/// `percents`, the plan with a memory limit of that percentage of the first plan's memory.
template <class Find>
void find_below(std::string const& name, named_machine const& on, std::vector<int> const& percents,
                Find const& find) {
  std::string const at = name + " | " + on.name + " | ";
  auto const fastest = print(at + "no limit", [&] { return find(on.machine); });
  auto const known = limits.find(at + "no limit");
  for (int const percent : percents) {
    auto m = on.machine;
    m.memory = (known != limits.end() ? known->second : fastest.memory) * percent / 100;
    if (m.memory == 0) continue;
    print(at + std::to_string(percent) + " % of that memory", [&] { return find(m); });
  }
}

void find_plans(std::string const& name, search::problem const& net, std::string const& mesh,
                named_machine const& on, std::vector<int> const& percents = {}) {
  auto const t = parse_topology(mesh);
  find_below(name + " | " + mesh, on, percents,
             [&](ashlar::machine const& m) { return optimal(net, t, m); });
}

/// Prints the plan that optimal_factored() finds on the best of many meshes. To make these meshes,
/// axes of `mesh` are divided into several axes: for example, an axis of extent 8 becomes two axes
/// of extents 2 and 4. A mesh has at most `most_axes` axes.
void find_factored(std::string const& name, search::problem const& net, std::string const& mesh,
                   named_machine const& on, std::vector<int> const& percents, int most_axes = 3) {
  auto const t = parse_topology(mesh);
  find_below(name + " | " + mesh + ", factored", on, percents, [&](ashlar::machine const& m) {
    return search::optimal_factored(net, t, m, most_axes);
  });
}

/// Prints plans of small random nets. The seeds are those of the unit tests.
void random_nets() {
  for (unsigned const seed : {1u, 2u, 3u, 11u}) {
    random_cases draw(seed);
    for (int i = 0; i < 300; ++i) {
      auto const t = draw.mesh();
      named_machine const m{"drawn", draw.machine()};
      auto const net = draw.net();
      std::string const name = "random net " + std::to_string(seed) + "." + std::to_string(i);
      // Searches with limits on three axes take too long.
      bool const limited = seed == 2 && t.axes() < 3 && net.size() <= 6;
      find_plans(name, net, to_string(t), m,
                 limited ? std::vector{99, 80, 50} : std::vector<int>{});
      if (seed != 3) continue;
      print(name + " | " + to_string(t) + " | drawn | filtered", [&] {
        return optimal(net, t, m.machine, [](int k, search::layer_choice const& c) {
          return k % 2 == 0 || !c.x[0].is_split();
        });
      });
    }
  }
  char const* const meshes[] = {"a=2,b=2",        "a=2,b=2,c=2",
                                "node=2,a=2,b=2", "node=2,rack=3,gpu=3",
                                "a=3,b=2,c=3",    "node=2,host=2:inter,gpu=2"};
  random_cases draw(31);
  for (int i = 0; i < 150; ++i) {
    std::string const mesh = meshes[draw.below(6)];
    named_machine const m{"drawn", draw.machine()};
    find_plans("random net 31." + std::to_string(i), draw.net(), mesh, m);
  }
  char const* const coarse[] = {"node=2,gpu=4", "node=4,gpu=3", "gpu=12", "node=4,gpu=4", "gpu=8"};
  random_cases factors(21);
  for (int i = 0; i < 60; ++i) {
    std::string const mesh = coarse[factors.below(5)];
    named_machine const m{"drawn", factors.machine()};
    auto const net = factors.net();
    bool const limited = net.size() <= 4;
    find_factored("random net 21." + std::to_string(i), net, mesh, m,
                  limited ? std::vector{80, 60} : std::vector<int>{});
  }
}

/// Prints plans of hand-written nets (unit/search_nets.hpp), whose layers are described without
/// ashlar::nn, on meshes of up to five axes.
void blocks() {
  for (auto const& m : {preset("workstation"), preset("gpu_cluster")}) {
    find_plans("4 blocks", block_net(4, {4, 6}, 8), "node=2,gpu=2", m, {90, 70});
    find_plans("48 blocks", block_net(48, {4, 6}, 8), "node=2,gpu=2", m);
    find_plans("12 blocks", block_net(12, {8, 64}, 64), "node=2,gpu=2", m, {95, 80, 65});
    for (int const count : {1, 3}) {
      auto const name = std::to_string(count) + " blocks of ";
      find_plans(name + "8x16x32", block_net(count, {8, 16}, 32), "node=2,gpu=2,lane=2", m);
      find_plans(name + "16x64x64", block_net(count, {16, 64}, 64), "node=4,gpu=2,lane=2", m);
      find_plans(name + "6x10x12", block_net(count, {6, 10}, 12), "node=2,gpu=3,lane=2", m);
      find_plans(name + "3x7x9", block_net(count, {3, 7}, 9), "node=2,gpu=2,lane=3", m);
      find_plans(name + "2x64x128", block_net(count, {2, 64}, 128), "node=3,gpu=2,lane=4", m);
    }
    for (auto const* mesh : {"node=2,host=2:inter,gpu=2,lane=2", "node=2,host=2,gpu=2,lane=2"}) {
      find_plans("mlp of 3", mlp(3, 64, 32), mesh, m);
      find_plans("mlp of 5", mlp(5, 6, 10), mesh, m);
    }
    auto const* const five = "node=2,node1=2:inter,gpu=2,gpu1=2,gpu2=2";
    find_plans("mlp of 3, 256 rows", mlp(3, 256, 64), five, m);
    find_plans("2 blocks of 16x32x64", block_net(2, {16, 32}, 64), five, m);
    find_plans("mlp of 4", mlp(4, 4, 2), "a=1,b=1", m);
  }
}

/// Prints plans of a net that consists of layers of ashlar::nn, on seven meshes of 2 to 8 ranks.
void find_small(std::string const& name, search::problem const& net) {
  for (auto const& m :
       {preset("workstation"), preset("gpu_cluster"),
        named_machine{"bandwidth bound", bandwidth_bound}, named_machine{"slow ranks", slow_ranks}})
    for (auto const* mesh : {"gpu=2", "gpu=3", "gpu=4", "node=2,gpu=2", "node=2,gpu=3"})
      find_plans(name, net, mesh, m, {90, 60});
  find_plans(name, net, "node=2,gpu=2,core=2", preset("workstation"));
  find_plans(name, net, "node=2,host=2,gpu=2", preset("gpu_cluster"));
}

void small_nets() {
  auto const gpt = nn::chain(nn::embedding(11, 6), nn::repeat(2, nn::gpt_block(6, 3, 0.1)),
                             nn::layer_norm(6), nn::linear(6, 11));
  nn::token_batch const tokens{3, 5, 2};
  find_small("small gpt", any_length(nn::describe<float>(gpt, tokens)));
  find_small("small gpt, bfloat16", any_length(nn::describe<ashlar::bfloat16>(gpt, tokens)));
  find_small("small gpt, double", any_length(nn::describe<double>(gpt, tokens)));
  find_small("small bert",
             any_length(nn::describe(nn::bert({2, 8, 4, 16}), nn::token_batch{4, 8})));
  find_small("perceptron", any_length(nn::describe<double>(
                               nn::chain(nn::linear(6, 10), nn::gelu(), nn::dropout(0.2),
                                         nn::residual(nn::linear(10, 10)), nn::layer_norm(10),
                                         nn::relu(), nn::linear(10, 7, false)),
                               nn::feature_batch{5, 6, 2})));
  find_small("small vgg", any_length(nn::describe(nn::chain(nn::vgg_stage<2>(2, 3),
                                                            nn::linear<3, 1>({3, 4, 4}, {6}),
                                                            nn::relu(), nn::linear(6, 5)),
                                                  nn::image_batch{3, 2, 8, 9, 2})));
  auto const stage = [](std::int64_t in, std::int64_t out) {
    return nn::segment(
        nn::chain(nn::convolution(in, out, 3, {.padding = 1}), nn::relu(), nn::max_pool(2)));
  };
  find_small("segments of images",
             any_length(nn::describe(
                 nn::chain(nn::segment(nn::chain(stage(2, 4), nn::dropout(0.2))), stage(4, 3),
                           nn::flatten(), nn::repeat<2>(nn::linear(12, 12)), nn::linear(12, 5)),
                 nn::image_batch{4, 2, 8, 8, 2})));
  find_small("small dlrm",
             any_length(nn::describe(
                 nn::dlrm({.tables = 3, .rows = 7, .features = 4, .top = {5, 4, 3, 3}}),
                 nn::category_batch{5, 3, 2})));
  find_small("images with halos",
             any_length(nn::describe(
                 nn::chain(nn::convolution(3, 8, 3, {.padding = 1, .halo = true}),
                           nn::max_pool(2, {.halo = true}), nn::linear<3, 1>({8, 8, 8}, {10})),
                 nn::image_batch{2, 3, 16, 16})));
}

/// Prints plans of the nets of bench/search on the meshes of its results page, and of the GPTs that
/// bench/autoddl plans for A100 servers.
void large_nets() {
  for (auto const& net : ashlar_bench::all_nets())
    for (auto const& m : {preset("piz_daint"), preset("a100_server"), preset("h200_server")}) {
      for (auto const* mesh : {"rack=8,node=8", "node=2,gpu=8", "node=4,gpu=4"})
        find_plans(net.name, net.problem, mesh, m, {90, 50});
      find_plans(net.name, net.problem, "rack=4,node=4,host=4", m);
      find_plans(net.name, net.problem, "rack=4:inter,node=4:inter,gpu=4", m);
      find_factored(net.name, net.problem, "node=4,gpu=8", m, {70});
      find_factored(net.name, net.problem, "node=16:inter", m, {}, 4);
    }
  auto const gpt = [](nn::gpt_options const& o, nn::token_batch const& batch) {
    return any_length(nn::describe<ashlar::bfloat16>(nn::gpt(o), batch));
  };
  auto const small = gpt(nn::gpt_sizes::a100_small, {8, 1024, 8});
  auto const large = gpt(nn::gpt_sizes::a100_large, {4, 1024, 16});
  for (auto const* name : {"a100_server", "h200_server", "p3_8xlarge"}) {
    // Unlike preset(), this keeps the memory limit of the machine.
    named_machine const m{name, *ashlar::find_machine(name)};
    for (auto const* mesh : {"node=2,gpu=8", "node=4,gpu=4"}) {
      find_plans("gpt of 24 blocks, bfloat16", small, mesh, m);
      find_plans("gpt of 28 blocks, bfloat16", large, mesh, m);
    }
  }
}

void read_limits(char const* path) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::istringstream columns(line);
    std::string name, memory;
    std::getline(columns, name, '\t');
    for (int i = 0; i < 4; ++i) std::getline(columns, memory, '\t');
    limits[name] = std::atoll(memory.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; i += 2) {
    std::string const option = argv[i];
    if (i + 1 == argc || (option != "--only" && option != "--limits")) {
      std::cerr << "plan_bits [--only PART_OF_A_NAME] [--limits FILE]\n";
      return 2;
    }
    if (option == "--only") only = argv[i + 1];
    else read_limits(argv[i + 1]);
  }
  blocks();
  small_nets();
  large_nets();
  random_nets();
}
