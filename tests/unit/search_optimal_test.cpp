// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the search for the optimal plan. On random networks, meshes and machines, the search must
// find the same cost as exhaustive search. The cost that it reports must be the cost of the plan's
// schedule. Equal blocks of a network must be solved only once.

#include <chrono>

#include <doctest/doctest.h>
#include <support/relative.hpp>

#include <ashlar/mesh/text.hpp>
#include <ashlar/search/exhaustive.hpp>
#include <ashlar/search/optimal.hpp>

#include "search_combinations.hpp"
#include "search_nets.hpp"

namespace ashlar_test {
namespace {

using ashlar::parse_topology;

/// Checks that the costs stored in a plan equal those computed from its placements.
void check_claims(search::problem const& net, search::plan const& plan, ashlar::machine const& m) {
  REQUIRE(plan.size() == net.size());
  auto const cost = total_cost(net, plan, m);
  CHECK(close(plan.seconds, cost.seconds()));
  CHECK(close(plan.communication_seconds, cost.communication));
  CHECK(plan.memory == memory_per_rank(net, plan));
  CHECK(plan.micro_batches == net.micro_batches);
  CHECK(plan.problem_hash == hash(net));
  CHECK(plan.input == net.spec(0).x);
  for (int i = 0; i < net.size(); ++i) {
    auto const legal = search::layer_choices(net.spec(i), plan.mesh);
    CHECK(std::find(legal.begin(), legal.end(), plan[i]) != legal.end());
    if (net[i].kind == search::element_kind::residual_end) {
      CHECK(plan[i] == plan[net[i].partner]);
      CHECK(plan[i].x == plan[i].y);
      CHECK(plan[i].dx == plan[i].dy);
    }
  }
}

template <class Check>
void for_random_cases(unsigned seed, int cases, double most, Check check) {
  random_cases draw(seed);
  for (int done = 0; done < cases;) {
    auto const t = draw.mesh();
    auto const m = draw.machine();
    auto net = draw.net();
    if (combinations(net, t) > most) continue;
    net.interleaved = 1 + done % net.micro_batches;  // micro-batches may take turns
    CAPTURE(done);
    CAPTURE(to_string(t));
    CAPTURE(net.size());
    check(net, t, m, draw);
    ++done;
  }
}

TEST_CASE("the optimum costs what exhaustive search finds, and as much as its schedule") {
  int with_residual = 0, of_three_axes = 0, of_four_layers = 0;
  for_random_cases(1, 400, 2e5, [&](auto const& net, auto const& t, auto const& m, auto&) {
    auto const best = optimal(net, t, m);
    auto const all = exhaustive(net, t, m);
    CHECK(best.seconds == relative(all.seconds));
    CHECK(best.gap == 0);
    check_claims(net, best, m);
    check_claims(net, all, m);
    for (auto const& e : net.elements)
      with_residual += e.kind == search::element_kind::residual_begin;
    of_three_axes += t.axes() == 3;
    of_four_layers += net.size() >= 4;
  });
  CHECK(with_residual > 40);
  CHECK(of_three_axes > 40);
  CHECK(of_four_layers > 40);
}

TEST_CASE(
    "within a memory limit the same holds; the error below the least possible memory names it") {
  int limited = 0;
  for_random_cases(2, 250, 5e4, [&](auto const& net, auto const& t, auto m, auto& draw) {
    auto const fastest = optimal(net, t, m);
    search::chain_model<-1> model(net, t, m, search::any_choice{},
                                  search::pruning::by_time_and_memory);
    ashlar::scratch<int> lean(static_cast<std::size_t>(net.size()));
    auto const leanest = search::detail::least_memory(model, lean);
    CHECK(leanest.complete);
    auto const least = leanest.bytes;
    REQUIRE(least <= fastest.memory);
    for (int part : {0, 1, 1 + draw.below(98), 100}) {
      m.memory = least + (fastest.memory - least) * part / 100;
      if (m.memory == 0) continue;
      auto const best = optimal(net, t, m);
      auto const all = exhaustive(net, t, m);
      CHECK(best.memory <= m.memory);
      CHECK(best.gap == 0);
      CHECK(best.seconds == relative(all.seconds));
      check_claims(net, best, m);
      limited += m.memory < fastest.memory;
    }
    if (least < 2) return;
    m.memory = least - 1;
    CHECK_THROWS_AS(exhaustive(net, t, m), ashlar::error);
    try {
      optimal(net, t, m);
      FAIL("a plan that does not fit");
    } catch (ashlar::error const& e) {
      std::string const what = e.what();
      CHECK(e.operation() == "search::optimal");
      CHECK(what.find("least possible") != std::string::npos);
      CHECK(what.find("(" + std::to_string(least) + " bytes)") != std::string::npos);
      CHECK(what.find("(" + std::to_string(m.memory) + " bytes)") != std::string::npos);
    }
  });
  CHECK(limited > 200);
}

TEST_CASE("a filter narrows the search in the same way for both algorithms") {
  for_random_cases(3, 60, 2e4, [&](auto const& net, auto const& t, auto const& m, auto&) {
    auto const odd = [](int i, search::layer_choice const& c) {
      return i % 2 == 0 || !c.x[0].is_split();
    };
    auto const best = optimal(net, t, m, odd);
    CHECK(close(best.seconds, exhaustive(net, t, m, odd).seconds));
    CHECK(best.seconds >= optimal(net, t, m).seconds * (1 - 1e-9));
    for (int i = 0; i < net.size(); ++i)
      if (net[i].kind != search::element_kind::residual_end) CHECK(odd(i, best[i]));
  });
}

TEST_CASE("a filter that permits nothing is an error that names the layer") {
  auto const net = mlp(3, 4, 2);
  try {
    optimal(net, parse_topology("a=2"), {}, [](int i, auto const&) { return i != 1; });
    FAIL("a plan without choices");
  } catch (ashlar::error const& e) {
    CHECK(std::string(e.what()).find("layer 1 (gelu)") != std::string::npos);
  }
}

TEST_CASE(
    "equal blocks are solved only once, with the same result as if each were solved separately") {
  auto const t = parse_topology("node=2,gpu=2");
  auto const m = ashlar::machines::gpu_cluster;
  auto const repeated = block_net(4, {4, 6}, 8);
  // This loop gives each layer a different name. The layers of different blocks are then not equal,
  // so each block is solved separately. The costs stay the same.
  search::problem spelled;
  for (int i = 0; i < repeated.size(); ++i) {
    auto spec = repeated.spec(i);
    spec.name.text[20] = static_cast<char>('a' + i % 26);
    spec.name.text[21] = static_cast<char>('a' + i / 26);
    spelled.add(spec, repeated[i].kind, repeated[i].partner);
    spelled[i].partner = repeated[i].partner;
  }
  CHECK(search::length(spelled.layers) == spelled.size());
  CHECK(search::length(repeated.layers) < 12);
  auto const once = optimal(repeated, t, m), each = optimal(spelled, t, m);
  CHECK(close(once.seconds, each.seconds));
  check_claims(repeated, once, m);

  auto const start = std::chrono::steady_clock::now();
  auto const deep = optimal(block_net(48, {4, 6}, 8), t, m);
  std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
  CHECK(deep.size() == 2 + 48 * 7);
  CHECK(took.count() < 2);  // it takes milliseconds on an idle machine
}

TEST_CASE("a memory limit on a deep net is obeyed, with a stated gap") {
  auto const net = block_net(12, {8, 64}, 64);
  auto const t = parse_topology("node=2,gpu=2");
  auto m = ashlar::machines::gpu_cluster;
  auto const fastest = optimal(net, t, m);
  for (int percent : {95, 80, 65}) {
    m.memory = fastest.memory * percent / 100;
    auto const plan = optimal(net, t, m);
    CHECK(plan.memory <= m.memory);
    CHECK(plan.seconds >= fastest.seconds);
    CHECK(plan.gap >= 0);
    CHECK(plan.gap < 0.05);
    check_claims(net, plan, m);
  }
}

TEST_CASE("a mesh of one rank communicates nothing") {
  auto const plan = optimal(mlp(4, 4, 2), parse_topology("a=1,b=1"), {});
  CHECK(plan.communication_seconds == 0);
  CHECK(plan.seconds > 0);
}

}  // namespace
}  // namespace ashlar_test
