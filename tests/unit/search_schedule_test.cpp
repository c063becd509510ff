// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the schedule of a step, which lists its redistributions in the order of execution. Also
// tests the predicted seconds and memory of a step, and the plans of known parallel layouts.

#include <doctest/doctest.h>
#include <support/relative.hpp>

#include <ashlar/mesh/text.hpp>
#include <ashlar/placement/text.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/explain.hpp>
#include <ashlar/search/outline.hpp>
#include <ashlar/step/schedule.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

using ashlar::parse_placement, ashlar::parse_topology;
using search::moved, search::phase;

/// Returns one line for each redistribution of a step, with its phase, the number of its element
/// and its tensor, for example "forward 1 weight".
std::vector<std::string> lines(std::vector<search::scheduled_move> const& moves,
                               search::problem const& net) {
  std::vector<std::string> text;
  for (auto const& move : moves)
    text.push_back(std::string(to_string(move.phase)) + " " + std::to_string(move.element) + " " +
                   search::detail::moved_name(move, net.spec(move.element)));
  return text;
}

/// Holds a network of a linear layer, a residual around dropout, and the cross-entropy loss, with a
/// plan on one axis. Adjacent placements differ, so nearly every tensor must be redistributed.
struct by_hand {
  search::problem net;
  search::plan plan;

  by_hand() {
    shape const x{4, 6};
    net.add(linear_spec(x, 6));
    add_residual(net, x, [&](search::problem& p) { p.add(dropout_spec(x)); });
    net.add(cross_entropy_spec(x));
    auto const s0 = parse_placement("S(0)"), s1 = parse_placement("S(1)"), b = parse_placement("B"),
               p = parse_placement("P");
    plan.mesh = parse_topology("gpu=2");
    plan.choices.push_back(
        {s0, s0, s0, s0, {{b, p, s0}, {b, p, b}}, {}});  // sharded weight, replicated bias
    plan.choices.push_back({s1, s1, b, b, {}, {}});      // residual: values S(1), gradients B
    plan.choices.push_back({s0, s0, s0, s0, {}, {}});    // dropout
    plan.choices.push_back(plan.choices[1]);
    plan.choices.push_back({s1, b, b, s1, {}, {{parse_placement("P(max)"), b}, {p, b}}});
    predict(plan, net, ashlar::machine{});
  }
};

TEST_CASE("moves are listed in the order in which a step executes them") {
  by_hand const c;
  std::vector<std::string> const expected{
      "forward 0 x",
      "forward 0 weight",  // its stored shards are gathered
      "forward 1 x",
      "forward 2 x",
      "forward 3 x",  // the activation has moved to S(1), to S(0), and back to S(1)
      "forward 4 statistic 0",
      "forward 4 statistic 1",
      "backward 3 dy",  // the loss's dx becomes the residual's dy, which is B
      "backward 2 dy",
      "backward 1 dy",  // the gradient has moved from B to S(0), and back to B
      "backward 0 dy",
      "backward 0 weight",  // the weight is gathered again for dx
      "synchronize 0 d weight",
      "synchronize 0 d bias"};
  CHECK(lines(schedule(c.net, c.plan, {}), c.net) == expected);
}

TEST_CASE("every move is the planned redistribution of its ends") {
  by_hand const c;
  ashlar::machine const m;
  for (auto const& move : schedule(c.net, c.plan, m)) {
    CHECK(move.plan ==
          plan_redistribution(move.plan.extents, 4, move.plan.from, move.plan.to, c.plan.mesh, m));
    CHECK(!(move.plan.from == move.plan.to));
  }
  auto const all = schedule(c.net, c.plan, m);
  CHECK(all[0].plan.from == parse_placement("B"));
  CHECK(all[1].plan.extents == shape{6, 6});
  CHECK(all[5].plan.extents == shape{4});
}

TEST_CASE("a re-gather that does not communicate is not repeated") {
  by_hand c;
  auto& weight = c.plan.choices[0].parameters[0];
  weight = {parse_placement("S(0)"), parse_placement("S(0)"), parse_placement("B")};
  int gathers = 0;
  for (auto const& move : schedule(c.net, c.plan, {}))
    gathers += move.what == moved::parameter && move.phase != phase::synchronize;
  CHECK(gathers == 1);
}

TEST_CASE("micro-batches repeat all but the synchronization") {
  by_hand c;
  ashlar::machine const m;
  double once = 0, each = 0;
  for (auto const& move : schedule(c.net, c.plan, m))
    (move.phase == phase::synchronize ? once : each) += move.plan.seconds;
  CHECK(once > 0);
  auto const one = total_cost(c.net, c.plan, m);
  c.net.micro_batches = 3;
  auto const three = total_cost(c.net, c.plan, m);
  CHECK(three.communication == relative(once + 3 * each));
  CHECK(three.work == relative(3 * one.work));
}

TEST_CASE("memory is the largest number of bytes held at one time") {
  by_hand c;
  // Elements that a rank holds during the whole step:
  //
  //   weight    18 of its 36 elements, each with its value and 2 optimizer states; a partial
  //             gradient of all 36
  //   bias      all 6 elements, each with its value and 2 optimizer states; a partial gradient of 6
  int const lasting = 18 * 3 + 36 + 6 * 3 + 6;
  // The peak occurs while the weight is gathered for the linear layer's dx. Besides the parameters,
  // their gradients and the optimizer states, a rank then holds
  // - half of the layer's saved x and half of its dy (12 of 24 elements each),
  // - the 18 elements by which the gathered weight exceeds the shard, and
  // - buffers, which count as twice the gathered weight (2 x 36, see packing_bound).
  CHECK(c.plan.memory == 4 * (lasting + 12 + 12 + (36 - 18) + 2 * 36));
  // With replicated parameters, the peak occurs while the linear layer runs. Besides the
  // parameters, their gradients and the optimizer states, a rank then holds the layer's saved x,
  // its workspace, and either x and y or dy and dx.
  c.plan.choices[0].parameters = {
      {parse_placement("B"), parse_placement("B"), parse_placement("B")},
      {parse_placement("B"), parse_placement("B"), parse_placement("B")}};
  c.net.layers[0].workspace_values = 200;
  CHECK(memory_per_rank(c.net, c.plan) == 4 * (36 * 4 + 6 * 4 + 12 + 2 * 12 + 200));
  // Without the workspace, the peak occurs when dropout's dx (12 of 24 elements) is gathered for
  // the start of the residual. Besides the parameters, their gradients and the optimizer states, a
  // rank then holds
  // - the linear layer's saved x (12 elements),
  // - the replicated gradient of the residual (24),
  // - the gathered dx (24), and
  // - buffers (2 x 24).
  c.net.layers[0].workspace_values = 0;
  CHECK(memory_per_rank(c.net, c.plan) == 4 * (36 * 4 + 6 * 4 + 12 + 24 + 24 + 2 * 24));
}

/// Returns the element size of each redistribution of a step, in the order of the schedule.
std::vector<int> sizes(by_hand const& c) {
  std::vector<int> list;
  for (auto const& move : schedule(c.net, c.plan, {})) list.push_back(move.plan.element_size);
  return list;
}

TEST_CASE("gradients of parameters and statistics move in the size in which they are summed") {
  by_hand c;
  CHECK(sizes(c) == std::vector<int>(14, 4));
  c.net.element_size = 2;
  // The order is that of the first test case. Numbers 5 and 6 (counted from 0) are statistics of
  // the loss, and the last two are parameter gradients. These four redistributions have 4 bytes per
  // element.
  CHECK(sizes(c) == std::vector<int>{2, 2, 2, 2, 2, 4, 4, 2, 2, 2, 2, 2, 4, 4});
  c.net.element_size = c.net.accumulation_size = 8;
  CHECK(sizes(c) == std::vector<int>(14, 8));
}

TEST_CASE("memory in mixed precision: parameters, gradients and states in 4 bytes, a copy in 2") {
  by_hand c;
  c.net.element_size = 2;
  predict(c.plan, c.net, {});
  // 18 weight and 6 bias elements are stored, each with a copy in 2 bytes. Their partial gradients
  // have 36 and 6 elements. The peak occurs while the weight's gradient is synchronized, with
  // buffers of 4 bytes per element.
  CHECK(c.plan.memory == 4 * ((18 + 6) * 3 + 36 + 6) + 2 * (18 + 6) + 4 * 2 * 36);
  c.net.optimizer_states = 0;
  predict(c.plan, c.net, {});
  CHECK(c.plan.memory == 4 * ((18 + 6) * 1 + 36 + 6) + 2 * (18 + 6) + 4 * 2 * 36);
}

TEST_CASE("hashes differ if the size of sums differs") {
  by_hand c;
  auto const single = hash(c.net);
  c.net.accumulation_size = 8;
  CHECK(hash(c.net) != single);
  c.net.element_size = c.net.accumulation_size = 2;
  auto const whole = hash(c.net);
  c.net.accumulation_size = 4;
  CHECK(hash(c.net) != whole);
}

TEST_CASE("the data-parallel layout splits every activation by dim 0 and reduces gradients") {
  auto const t = parse_topology("node=2,gpu=2");
  auto const m = ashlar::machines::gpu_cluster;
  auto const net = block_net(2, {4, 6}, 8);
  auto const plan = data_parallel(net, t, m);
  for (auto const& c : plan.choices) {
    for (int a = 0; a < 2; ++a) CHECK(c.x[a].is_split_of(0));
    for (auto const& p : c.parameters) {
      CHECK(p.store == parse_placement("B,B"));
      CHECK(p.grad == parse_placement("P,P"));
    }
  }
  for (auto const& move : schedule(net, plan, m))
    CHECK((move.phase == phase::synchronize || move.plan.is_local()));
  CHECK(plan.seconds >= optimal(net, t, m).seconds * (1 - 1e-9));
}

TEST_CASE("the tensor-parallel layout pairs a column-split with a row-split linear layer") {
  auto const t = parse_topology("node=2,gpu=2");
  auto const m = ashlar::machines::gpu_cluster;
  auto const net = block_net(2, {4, 6}, 8);
  auto const plan = tensor_parallel(net, t, m);
  for (int i = 0; i < net.size(); ++i) {
    auto const& c = plan[i];
    CAPTURE(i);
    CHECK(c.x[0].is_split_of(0));
    std::string const name = net.spec(i).name.text;
    if (name == "residual" || name == "layer_norm") CHECK(c.x == parse_placement("S(0),B"));
    if (name == "gelu") CHECK(c.x == parse_placement("S(0),S(2)"));
    if (name != "linear") continue;
    bool const first = net.spec(i).y[2] > net.spec(i).x[2];
    CHECK(c.parameters[0].store == parse_placement(first ? "B,S(1)" : "B,S(0)"));
    CHECK(c.y == parse_placement(first ? "S(0),S(2)" : "S(0),P"));
  }
  // Along the tensor-parallel axis, a block needs one all-reduce in the forward and one in the
  // backward pass. In the forward pass, the plan uses two redistributions instead, with dropout
  // between them.
  int forward = 0, backward = 0;
  for (auto const& move : schedule(net, plan, m))
    if (!move.plan.is_local() && move.element >= 1 && move.element <= 7) {
      forward += move.phase == phase::forward && move.what == moved::activation;
      backward += move.phase == phase::backward && move.what == moved::gradient;
    }
  CHECK(forward == 2);
  CHECK(backward == 1);
}

}  // namespace
}  // namespace ashlar_test
