// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the text of explain. The text must show every placement and collective and the totals of
// the plan, list repeated blocks once, and be at most 100 columns wide.

#include <sstream>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/relative.hpp>

#include <ashlar/search/baselines.hpp>
#include <ashlar/search/explain.hpp>
#include <ashlar/search/explain_text.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

using ashlar::parse_placement, ashlar::parse_topology;
using search::foldable;

std::string explained(search::problem const& net, search::plan const& plan,
                      ashlar::machine const& m) {
  std::ostringstream out;
  out << explain(net, plan, m);
  return out.str();
}

std::size_t widest_line(std::string const& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

TEST_CASE("a breakdown adds up to the cost, the memory and the bytes of the plan") {
  random_cases draw(11);
  for (int k = 0; k < 60; ++k) {
    auto const net = draw.net();
    auto const t = draw.mesh();
    auto const m = draw.machine();
    for (auto const& plan : {optimal(net, t, m), data_parallel(net, t, m)}) {
      auto const parts = breakdown(net, plan, m);
      auto const cost = total_cost(net, plan, m);
      CHECK(parts.total.work == relative(cost.work));
      CHECK(parts.total.communication() == relative(cost.communication));
      CHECK(parts.total.seconds() == relative(plan.seconds));
      CHECK(parts.memory() == memory_per_rank(net, plan));
      CHECK(parts.elements.size() == plan.choices.size());
      double received = 0;
      for (auto const& move : schedule(net, plan, m))
        for (auto const& s : move.plan.steps)
          received += times_per_step(net, move) * double(search::received_bytes(move.plan, s, t));
      CHECK(parts.total.received == received);
    }
  }
}

TEST_CASE("explain shows every collective of the schedule and names every element") {
  auto const t = parse_topology("node=2,gpu=2");
  auto const m = ashlar::machines::gpu_cluster;
  auto const net = block_net(1, {4, 6}, 8);
  auto const plan = tensor_parallel(net, t, m);
  auto const text = explained(net, plan, m);
  int collectives = 0;
  for (auto const& move : schedule(net, plan, m))
    for (auto const& s : move.plan.steps) collectives += communicates(s.kind);
  CHECK(collectives > 0);
  // The gain and the bias of the layer norm are redistributed in the same way, so they share a
  // line. The list of the costliest collectives comes after the table.
  auto const table = text.substr(0, text.find("  the collectives that take most"));
  CHECK(occurrences(table, " along ") + occurrences(table, "d gain, bias") == collectives);
  for (auto const* name : {"embedding", "residual", "layer_norm", "linear", "gelu", "dropout",
                           "+ residual", "cross_entropy", "node=2,gpu=2 (4 ranks)"})
    CHECK(occurrences(text, name) >= 1);
  for (auto const& c : plan.choices) {
    CHECK(text.find("x " + to_string(c.x) + " -> y " + to_string(c.y)) != std::string::npos);
    if (!(c.dx == c.x && c.dy == c.y))
      CHECK(text.find("dy " + to_string(c.dy) + " -> dx " + to_string(c.dx)) != std::string::npos);
  }
}

TEST_CASE("the collectives that take most of a step come first, equal ones together") {
  auto const t = parse_topology("node=2,gpu=2");
  auto const m = ashlar::machines::gpu_cluster;
  auto const net = block_net(9, {4, 6}, 8);
  auto const plan = data_parallel(net, t, m);
  auto const parts = breakdown(net, plan, m);
  auto const moves = costly_moves(outline_of(net, plan, parts, m));
  double seconds = 0;
  int times = 0;
  for (std::size_t k = 0; k < moves.size(); ++k) {
    if (k > 0) CHECK(moves[k].seconds() <= moves[k - 1].seconds());
    for (std::size_t j = 0; j < k; ++j)
      CHECK_FALSE((moves[k].layer == moves[j].layer && moves[k].each == moves[j].each));
    seconds += moves[k].seconds();
    times = std::max(times, moves[k].times);
  }
  CHECK(relative(seconds) == parts.total.communication());
  CHECK(times % 9 == 0);
  CHECK(occurrences(explained(net, plan, m), "the collectives that take most of the step") == 1);
}

TEST_CASE("no line is wider than 100 columns, on meshes of one to three axes") {
  auto const m = ashlar::machines::gpu_cluster;
  auto const net = block_net(2, {64, 512}, 1024);
  for (auto const* mesh : {"gpu=8", "node=16,gpu=8", "node=4,board=2,gpu=4"}) {
    auto const t = parse_topology(mesh);
    for (auto const& plan : {optimal(net, t, m), data_parallel(net, t, m)})
      CHECK(widest_line(explained(net, plan, m)) <= 100);
  }
}

TEST_CASE("equal blocks are written once, even if the layers before and after them differ") {
  auto const t = parse_topology("node=2,gpu=2");
  auto const m = ashlar::machines::gpu_cluster;
  auto const few = block_net(3, {4, 6}, 8), many = block_net(96, {4, 6}, 8);
  auto const short_text = explained(few, optimal(few, t, m), m);
  auto const long_text = explained(many, optimal(many, t, m), m);
  CHECK(occurrences(short_text, "3 x: elements 1 to 7, repeated up to 21") == 1);
  CHECK(occurrences(long_text, "96 x: elements 1 to 7, repeated up to 672") == 1);
  CHECK(long_text.size() < short_text.size() + 200);
}

TEST_CASE("folds find the longest stretches of complete residuals") {
  auto const as_text = [](std::vector<foldable> const& list) {
    std::string text;
    for (auto const& f : search::folds(list))
      text += std::to_string(f.first) + ":" + std::to_string(f.period) + "x" +
              std::to_string(f.times) + " ";
    return text;
  };
  auto const plain = [](std::vector<int> const& own) {
    std::vector<foldable> list;
    for (int o : own) list.push_back({o, 0, 0, 0});
    return list;
  };
  CHECK(as_text({}) == "");
  CHECK(as_text(plain({1})) == "0:1x1 ");
  CHECK(as_text(plain({1, 1, 1})) == "0:1x3 ");
  CHECK(as_text(plain({9, 1, 2, 1, 2, 1, 2, 8})) == "0:1x1 1:2x3 7:1x1 ");
  CHECK(as_text(plain({1, 2, 3})) == "0:1x1 1:1x1 2:1x1 ");
  auto blocks = plain({1, 2, 1, 2, 1, 2});
  blocks[0].enter = 7;  // x moves differently into the first copy, which is permitted
  blocks[5].back = 7;   // dy moves differently out of the last copy, which is permitted
  CHECK(as_text(blocks) == "0:2x3 ");
  blocks[3].back = 7;  // dy moves differently out of the second copy, so the fold ends with it
  CHECK(as_text(blocks) == "0:2x2 4:1x1 5:1x1 ");
  // The list has two residuals. Each residual consists of its begin, one layer and its end. A
  // repeated sequence of elements must not begin inside a residual and end outside it.
  std::vector<foldable> const residuals{{1, 0, 0, 0}, {2, 1, 0, 0}, {3, 1, 0, 0},
                                        {1, 0, 0, 0}, {2, 1, 0, 0}, {3, 1, 0, 0}};
  CHECK(as_text(residuals) == "0:3x2 ");
}

TEST_CASE("notes name axes that are idle or too long, and work that is uneven") {
  auto const m = ashlar::machines::gpu_cluster;
  auto const net = block_net(1, {4, 6}, 8);
  auto const said = [&](search::plan const& plan) {
    std::string text;
    for (auto const& note : notes(net, plan)) text += note + "\n";
    return text;
  };
  CHECK(said(data_parallel(net, parse_topology("node=2,gpu=2"), m)) == "");
  // The batch of 4 is not divisible by the extent 3 of this axis: one rank has 2 samples, which is
  // 1.5 times the even share of 4/3. A note reports this.
  auto const uneven = said(data_parallel(net, parse_topology("gpu=3"), m));
  CHECK(uneven.find("1.50 times the work of an even share") != std::string::npos);
  auto const longer = said(data_parallel(net, parse_topology("gpu=37"), m));
  CHECK(longer.find("gpu=37 is longer than every dim (the longest has 32)") != std::string::npos);
  auto idle = data_parallel(net, parse_topology("gpu=1"), m);
  idle.mesh = parse_topology("gpu=5");
  for (auto& c : idle.choices) c = {};
  for (int i = 0; i < net.size(); ++i) {
    auto const whole = ashlar::placement::all_broadcast(1);
    auto& c = idle.choices[static_cast<std::size_t>(i)];
    c.x = c.y = c.dy = c.dx = whole;
    for (int k = 0; k < net.spec(i).parameters.size(); ++k)
      c.parameters.push_back({whole, whole, whole});
  }
  CHECK(said(idle).find("nothing is split along gpu=5") != std::string::npos);
}

}  // namespace
}  // namespace ashlar_test
