// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests diff between two plans. The differences of the layers must add up to the total difference,
// and diff must find the one layer that was changed.

#include <sstream>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/relative.hpp>

#include <ashlar/search/baselines.hpp>
#include <ashlar/search/diff.hpp>
#include <ashlar/search/diff_pipeline.hpp>
#include <ashlar/search/pipeline.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

using ashlar::parse_placement, ashlar::parse_topology;

template <class Difference>
std::string printed(Difference const& d) {
  std::ostringstream out;
  out << d;
  return out.str();
}

TEST_CASE("differences add up to that of the plans and change sign with their order") {
  random_cases draw(5);
  for (int k = 0; k < 60; ++k) {
    auto const net = draw.net();
    auto const t = draw.mesh();
    auto const m = draw.machine();
    auto const a = optimal(net, t, m), b = data_parallel(net, t, m);
    auto const forth = diff(net, a, b, m), back = diff(net, b, a, m);
    // Differences of nearly equal seconds are only as exact as these seconds.
    auto const equals = [&](double x) { return relative(x).scale(a.seconds); };
    CHECK(forth.total.seconds() == equals(b.seconds - a.seconds));
    CHECK(forth.total.seconds() >= -1e-9 * a.seconds);
    CHECK(forth.memory == b.memory - a.memory);
    double seconds = 0, work = 0;
    std::int64_t kept = 0;
    for (auto const& e : forth.elements) {
      seconds += e.cost.seconds();
      work += e.cost.work;
      kept += e.cost.memory.kept;
      CHECK(e.cost.seconds() == equals(-back.elements[std::size_t(e.element)].cost.seconds()));
      CHECK(e.same_placements == (a[e.element] == b[e.element]));
      CHECK(e.from == back.elements[std::size_t(e.element)].to);
    }
    CHECK(seconds == equals(forth.total.seconds()));
    CHECK(work == equals(forth.total.work));
    CHECK(kept == forth.total.memory.kept);
  }
}

TEST_CASE("a plan does not differ from itself") {
  auto const m = ashlar::machines::gpu_cluster;
  auto const net = block_net(2, {4, 6}, 8);
  auto const plan = optimal(net, parse_topology("node=2,gpu=2"), m);
  auto const text = printed(diff(net, plan, plan, m));
  CHECK(text.find("b takes as long as a\n") == 0);
  CHECK(text.find("element") == std::string::npos);
}

TEST_CASE("one changed parameter is found, by its name and the kinds that it changes") {
  auto const m = ashlar::machines::gpu_cluster;
  auto const net = block_net(4, {8, 6}, 16);
  auto const a = data_parallel(net, parse_topology("node=2,gpu=2"), m);
  auto b = a;
  auto& weight = b.choices[3].parameters[0];  // the weight of the first block's first linear layer
  weight.store = parse_placement("S(0),S(0)");
  predict(b, net, m);
  auto const d = diff(net, a, b, m);
  for (auto const& e : d.elements) {
    CHECK(e.same_placements == (e.element != 3));
    CHECK(e.cost.work == 0);
    CHECK(e.cost.activations == 0);
    CHECK(e.cost.gradients == 0);
    CHECK((e.cost.parameters == 0) == (e.element != 3));
  }
  CHECK(d.elements[3].from == std::vector<std::string>{"weight stored [B,B]"});
  CHECK(d.elements[3].to == std::vector<std::string>{"weight stored [S(0),S(0)]"});
  // The weight has 16 x 64 floats. Plan b stores only a quarter of its value and of its two
  // optimizer states on each rank. So it saves 768 of 1024 floats for each of these three tensors.
  // The gradient's accumulator is the same in both plans.
  CHECK(d.elements[3].cost.memory.kept == -3 * 3 * 256 * 4);
  auto const text = printed(d);
  CHECK(text.find("linear (element 3)") != std::string::npos);
  CHECK(text.find("a: weight stored [B,B]") != std::string::npos);
  CHECK(text.find("parameters ") != std::string::npos);
}

TEST_CASE("repeated layers with the same difference are one line, the most expensive first") {
  auto const m = ashlar::machines::gpu_cluster;
  auto const net = block_net(6, {8, 64}, 64);
  auto const t = parse_topology("node=2,gpu=2");
  auto const a = optimal(net, t, m), b = tensor_parallel(net, t, m);
  auto const text = printed(diff(net, a, b, m));
  CHECK(text.find("6 x linear (elements 3, 10, ..., 38)") != std::string::npos);
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  CHECK(widest <= 100);
}

TEST_CASE("plans of other nets are refused") {
  auto const m = ashlar::machines::gpu_cluster;
  auto const t = parse_topology("gpu=2");
  auto const one = block_net(1, {4, 6}, 8), two = block_net(2, {4, 6}, 8);
  auto const a = optimal(one, t, m), b = optimal(two, t, m);
  CHECK(message_of([&] { diff(two, a, b, m); }).find("Compare plans of one net") !=
        std::string::npos);
}

TEST_CASE("plans of another net with as many elements are refused, too") {
  auto const m = ashlar::machines::gpu_cluster;
  auto const t = parse_topology("gpu=2");
  ashlar::shape const x{4, 6, 8};
  search::problem with_linear, with_gelu;
  for (auto* net : {&with_linear, &with_gelu}) net->add(embedding_spec({4, 6}, 11, 8));
  with_linear.add(linear_spec(x, 8));
  with_gelu.add(gelu_spec(x));
  for (auto* net : {&with_linear, &with_gelu}) net->add(cross_entropy_spec(x));
  auto const a = optimal(with_linear, t, m), b = optimal(with_gelu, t, m);
  for (auto const& [net, name] :
       {std::pair{&with_linear, "linear"}, std::pair{&with_gelu, "gelu"}}) {
    auto const said =
        "search::diff: element 1 (" + std::string(name) +
        ") has a placement that its layer does not support. Compare plans of one net.";
    CHECK(message_of([&, net = net] { diff(*net, a, b, m); }) == said);
    CHECK(message_of([&, net = net] { diff(*net, b, a, m); }) == said);
  }
}

TEST_CASE("a residual whose two ends have different placements is refused") {
  auto const m = ashlar::machines::gpu_cluster;
  auto const t = parse_topology("gpu=2");
  auto const net = block_net(1, {8, 6}, 16);
  auto const plan = data_parallel(net, t, m);
  int end = 0;
  while (net[end].kind != search::element_kind::residual_end) ++end;
  auto broken = plan;
  for (auto const& c : search::layer_choices(net.spec(end), t))
    if (!(c == plan[end])) broken.choices[std::size_t(end)] = c;
  CHECK(message_of([&] { diff(net, plan, broken, m); }) ==
        "search::diff: element " + std::to_string(end) +
            " (residual) must have the placements of the element that begins its residual, or of "
            "the ends of its branch. Compare plans of one net.");
}

/// Returns a network of `blocks` blocks for a batch of 16 in m micro-batches. Each block is a
/// segment that can be recomputed.
search::problem blocks_in(int blocks, int m) {
  auto net = block_net(blocks, {16 / m, 8}, 64);
  net.micro_batches = m;
  for (int i = 1; i + 1 < net.size(); ++i) net[i].segment = (i - 1) / 7;
  net.segments = blocks;
  return net;
}

TEST_CASE("two pipelines: their differences add up, by kind, by stage and by element") {
  auto const machine = ashlar::machines::gpu_cluster;
  auto const t = parse_topology("node=4,gpu=2");
  auto const found = [&](int stages, int m) {
    return search::pipeline([](int n) { return blocks_in(4, n); }, t, machine, {{stages}, {m}});
  };
  auto const a_net = blocks_in(4, 8), b_net = blocks_in(4, 4);
  auto const a = found(4, 8);
  auto again = search::price_pipeline(a_net, a.chosen, limits_of(a), {1, 1, 0, 0}, a.axis, 8,
                                      machine);
  auto const whole = optimal(b_net, t, machine);
  for (auto const& [net, b] :
       {std::pair{a_net, a}, std::pair{a_net, again}, std::pair{b_net, found(2, 4)},
        std::pair{b_net, as_pipeline(b_net, whole, machine)}}) {
    auto const d = diff(a_net, a, net, b, machine), back = diff(net, b, a_net, a, machine);
    CHECK(d.a.seconds() == relative(a.seconds()));
    CHECK(d.b.seconds() == relative(b.seconds()));
    auto const equals = [&, &b = b](double x) { return relative(x).scale(b.seconds()); };
    CHECK(d.b.bubble + d.b.sends == equals(b.bubble));
    CHECK(d.b.memory == b.chosen.memory);
    CHECK(d.same_stages == (a.stages.size() == b.stages.size()));
    CHECK(printed(d).find("  b: " + d.layout_b) != std::string::npos);
    CHECK(back.layout_a == d.layout_b);
    // If both pipelines have the same stages, the difference of each stage must equal the sum of
    // the differences of its elements.
    for (std::size_t s = 0; d.same_stages && s < a.stages.size(); ++s) {
      search::cost_breakdown sum;
      std::int64_t kept = 0;
      for (int i = a.stages[s].first; i < a.stages[s].last; ++i) {
        auto const& e = d.elements[std::size_t(i)];
        sum.work += e.cost.work;
        sum.activations += e.cost.communication();
        kept += e.cost.memory.kept;
        CHECK(e.cost.work == equals(-back.elements[std::size_t(i)].cost.work));
      }
      auto const &in_a = d.stages_a[s], &in_b = d.stages_b[s];
      CHECK(sum.work == equals(in_b.work - in_a.work));
      CHECK(sum.activations ==
            equals(in_b.collectives + in_b.gradients - in_a.collectives - in_a.gradients));
      CHECK(in_a.sends == in_b.sends);
      CHECK((sum.work > 0) == (b.stages[s].recomputed > 0));
      CHECK((kept < 0) == (b.stages[s].recomputed > 0));
    }
    std::istringstream lines(printed(d));
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(line.size() <= 100);
    }
  }
  auto const text = printed(diff(a_net, a, a_net, again, machine));
  CAPTURE(text);
  CHECK(text.find("recomputed segments: ") != std::string::npos);
  CHECK(text.find("\n  2 to 3 ") != std::string::npos);
  CHECK(text.find("2 x residual (elements 7, 14)") != std::string::npos);
  CHECK(printed(diff(a_net, a, a_net, a, machine)).find("b takes as long as a\n") == 0);
}

TEST_CASE("a plan without stages is a pipeline of one") {
  auto const machine = ashlar::machines::gpu_cluster;
  auto net = blocks_in(2, 4);
  net.recomputed = 1;
  auto const plan = optimal(net, parse_topology("node=2,gpu=2"), machine);
  auto const p = as_pipeline(net, plan, machine);
  CHECK(p.seconds() == relative(plan.seconds));
  CHECK(p.chosen.memory == plan.memory);
  CHECK(p.stages.front().recomputed == 1);
  auto const parts = search::breakdown(net, p, machine);
  CHECK(parts.memory() == plan.memory);
  CHECK(parts.total.seconds() == relative(plan.seconds));
  auto const other = blocks_in(1, 4);
  auto const short_one = as_pipeline(other, optimal(other, plan.mesh, machine), machine);
  CHECK(has(message_of([&] { diff(net, p, other, short_one, machine); }),
            "the two pipelines are of different nets"));
  CHECK(
      has(message_of([&] { diff(net, p, net, short_one, machine); }), "elements, but the net has"));
}

}  // namespace
}  // namespace ashlar_test
