// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests which wires sync::optimal chooses among those that are permitted. A wire is the format in
// which gradients are sent (plan/wire.hpp). On a workstation, no wire is chosen, because encoding
// costs more than it saves. Between nodes with 1 Gb/s, some wires are chosen. On small nets the
// result is compared with all assignments of strategies and wires. A matrix that has fewer rows or
// columns than the rank of power_sgd is sent exactly, also if it is the later use of a tied
// parameter. Then neither use of the parameter sends its momentum.

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/machine/presets.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/embedding.hpp>
#include <ashlar/nn/output_embedding.hpp>
#include <ashlar/nn/tied.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/sync/encoded.hpp>
#include <ashlar/sync/optimal.hpp>
#include <ashlar/sync/tuning/strategy_space.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace sync = ashlar::sync;
namespace wires = ashlar::wires;

sync::wire_list const permitted{wires::bf16,
                                wires::half,
                                wires::with_feedback(wires::int8),
                                wires::with_feedback(wires::one_bit),
                                wires::with_feedback(wires::top_k(100)),
                                wires::with_feedback(wires::power_sgd(4))};

/// Returns the seconds of the fastest of all assignments of strategies and wires to the parameters
/// of `now`, from parameter `next` on.
double least_seconds(search::problem const& net, search::plan& now, ashlar::machine const& m,
                     std::vector<std::pair<int, int>> const& parameters, std::size_t next = 0) {
  if (next == parameters.size()) {
    auto priced = now;
    search::predict(priced, net, m);
    return priced.seconds;
  }
  auto const [i, k] = parameters[next];
  auto& p = now.choices[static_cast<std::size_t>(i)].parameters[k];
  auto const before = p;
  double best = 1e300;
  for (auto const& s :
       sync::strategies(before, net.spec(i).parameters[k].extents, now.mesh, permitted)) {
    p = s;
    best = std::min(best, least_seconds(net, now, m, parameters, next + 1));
  }
  p = before;
  return best;
}

search::plan plain_less(search::plan plan) {
  plan.plain_steps = 0;
  return plan;
}

}  // namespace

TEST_CASE("no wire pays on a workstation, and one does on 1 Gb/s") {
  for (bool const overlap : {false, true}) {
    auto net = block_net(1, {8, 64}, 256);
    net.overlap = overlap;
    for (int const ranks : {2, 8}) {
      if (overlap && ranks > 2) continue;
      ashlar::topology const inside{{"gpu", ranks}};
      ashlar::topology const nodes{{"node", ranks, ashlar::link_tier::inter_node}};
      auto const near = search::data_parallel(net, inside, ashlar::machines::workstation);
      auto const kept = sync::optimal(net, near, ashlar::machines::workstation,
                                      {.wires = permitted});
      CHECK(!has_wires(kept.chosen));
      CHECK(kept.chosen.choices ==
            sync::optimal(net, near, ashlar::machines::workstation).chosen.choices);

      auto const& slow = ashlar::machines::gigabit_cluster;
      auto const far = search::data_parallel(net, nodes, slow);
      auto const exact = sync::optimal(net, far, slow);
      CHECK(!has_wires(exact.chosen));
      auto const wired = sync::optimal(net, far, slow, {.wires = permitted});
      CHECK(has_wires(wired.chosen));
      CHECK(wired.chosen.seconds < 0.7 * exact.chosen.seconds);
      CHECK(wired.bound <= wired.chosen.seconds);
      // If only bf16 is permitted, it is chosen. The plan is then not faster than with all wires,
      // but faster than with none.
      auto const halves = sync::optimal(net, far, slow, {.wires = {wires::bf16}});
      CHECK(has_wires(halves.chosen));
      CHECK(halves.chosen.seconds < exact.chosen.seconds);
      CHECK(halves.chosen.seconds >= wired.chosen.seconds * (1 - 1e-9));
    }
  }
}

TEST_CASE("the wires and strategies are the fastest of all assignments") {
  search::problem net;
  net.add(linear_spec({8, 16}, 24));
  std::vector<std::pair<int, int>> const parameters{{0, 0}, {0, 1}};
  int with = 0, without = 0;
  for (double const beta : {1e-12, 1e-10, 1e-9, 1e-8}) {
    ashlar::machine const m{{1e-7, beta}, {1e-7, beta}, 1e12, 1e10, 0};
    auto plan = search::data_parallel(net, ashlar::topology{{"gpu", 3}}, m);
    auto const best = sync::optimal(net, plan, m, {.wires = permitted});
    CHECK(best.gap == 0);
    CHECK(close(best.chosen.seconds, least_seconds(net, plan, m, parameters)));
    (has_wires(best.chosen) ? with : without) += 1;
  }
  CHECK(with > 0);
  CHECK(without > 0);
}

TEST_CASE("a memory limit counts the errors of wires, and nets of double have no wires") {
  auto const net = block_net(1, {8, 64}, 256);
  auto slow = ashlar::machines::gigabit_cluster;
  ashlar::topology const nodes{{"node", 4, ashlar::link_tier::inter_node}};
  auto const plain = search::data_parallel(net, nodes, slow);
  auto const free = sync::optimal(net, plain, slow, {.wires = permitted}).chosen;
  slow.memory = free.memory - 1;
  auto const lean = sync::optimal(net, plain, slow, {.wires = permitted}).chosen;
  CHECK(lean.memory <= slow.memory);
  CHECK(lean.seconds >= free.seconds);
  auto doubles = net;
  doubles.element_size = doubles.accumulation_size = 8;
  slow.memory = 0;
  auto const plan = search::data_parallel(doubles, nodes, slow);
  CHECK(has(message_of([&] { sync::optimal(doubles, plan, slow, {.wires = permitted}); }),
            "bf16: a wire carries gradients of float only"));
}

TEST_CASE("a memory limit holds for plain steps too") {
  ashlar::topology const nodes{{"node", 4, ashlar::link_tier::inter_node}};
  auto m = ashlar::machines::gigabit_cluster;
  for (bool const overlap : {false, true}) {
    auto net = block_net(1, {8, 4}, 256);
    net.overlap = overlap;
    m.memory = 0;
    auto plain = search::data_parallel(net, nodes, m);
    plain.plain_steps = 5;
    auto const free = sync::optimal(net, plain, m, {.wires = {wires::bf16}}).chosen;
    REQUIRE(free.memory > memory_per_rank(net, plain_less(free)));
    m.memory = free.memory - 1;
    auto const lean = sync::optimal(net, plain, m, {.wires = {wires::bf16}}).chosen;
    CHECK(has_wires(lean));
    for (auto const& plan : {lean, without_wires(lean)}) {
      auto const program = overlap ? search::overlap_of(net, plan, m).made : build(net, plan, m);
      CHECK(high_water(program).peak <= m.memory);
    }
  }
}

TEST_CASE("the later use of a tied parameter has a wire only if its own matrix can have it") {
  auto const net = any_length(nn::describe<float>(
      nn::tied(nn::embedding(64, 1024), nn::output_embedding(1024, 64)), nn::token_batch{16, 4}));
  ashlar::topology const mesh{{"data", 2}, {"gpu", 8}};
  ashlar::machine const m{{1e-7, 1e-6}, {1e-7, 1e-6}, 1e15, 1e15, 0};
  auto plan = search::data_parallel(net, mesh, m);
  auto const& tie = net.ties[0];
  auto const first = plan[tie.first].parameters[tie.first_index];
  // In the later use, every rank has 8 of the 64 rows, too few for power_sgd of rank 20.
  auto& later = plan.choices[static_cast<std::size_t>(tie.later)];
  for (auto const& c : search::layer_choices(net.spec(tie.later), mesh)) {
    auto const& p = c.parameters[tie.later_index];
    if (p.use[1].is_split() && p.use[1].dim == 0 && p.grad[0].is_partial()) later = c;
  }
  later.parameters[tie.later_index].store = first.store;
  REQUIRE(later.parameters[tie.later_index].grad[1].is_split());
  search::predict(plan, net, m);
  for (bool const overlap : {false, true}) {
    auto searched = net;
    searched.overlap = overlap;
    auto const best = sync::optimal(searched, plan, m, {.wires = {wires::power_sgd(20)}}).chosen;
    CHECK(best[tie.first].parameters[tie.first_index].wire == wires::power_sgd(20));
    CHECK(best[tie.later].parameters[tie.later_index].wire.is_exact());
    for (int i = 0; i < net.size(); ++i) CHECK(search::is_legal(best[i], net.spec(i), mesh));
    // Either both uses get a wire with momentum, or neither does. Here neither does, although the
    // wire would save seconds in the first use.
    auto begins_plain = plan;
    begins_plain.plain_steps = 1;
    auto const momentum = wires::with_momentum(wires::power_sgd(20));
    auto const made = sync::optimal(searched, begins_plain, m, {.wires = {momentum}}).chosen;
    CHECK(made[tie.first].parameters[tie.first_index].wire.is_exact());
    CHECK(made[tie.later].parameters[tie.later_index].wire.is_exact());
    CHECK(made.seconds > best.seconds);
    sync::strategy_space const space(searched, begins_plain, m, {momentum});
    for (std::size_t k = 0; k < space.size(); ++k) {
      auto const& all = space.parameters()[k].strategies;
      for (std::size_t s = 0; s < all.size(); ++s) {
        if (all[s].updated_at().has_owned()) continue;
        sync::candidate tried{std::vector<int>(space.size()), std::vector<int>(space.size(), -1)};
        tried.picks[k] = static_cast<int>(s);
        auto const tuned = space.plan_of(tried);
        CHECK(tuned[tie.first].parameters[tie.first_index].wire.momentum ==
              tuned[tie.later].parameters[tie.later_index].wire.momentum);
      }
    }
  }
}

TEST_CASE("encoded sends matrices below the rank exactly, and refuses a rank that none has") {
  auto const& m = ashlar::machines::workstation;
  ashlar::topology const mesh{{"gpu", 3}};
  search::problem net;
  net.add(linear_spec({8, 48}, 2));
  auto const encoded = [&](ashlar::wire_format const& wire) {
    return sync::encoded{wire}(net, search::data_parallel(net, mesh, m), m);
  };
  CHECK(has(message_of([&] { encoded(wires::power_sgd(4)); }),
            "parameter weight: the rank of power-sgd is above the number of rows or columns"));
  CHECK(!has_wires(encoded(wires::power_sgd(2))));  // its factors would not be smaller
  net.add(linear_spec({8, 2}, 48));
  net.add(linear_spec({8, 48}, 48));
  auto const plan = encoded(wires::power_sgd(4));
  CHECK(plan[0].parameters[0].wire.is_exact());
  CHECK(plan[2].parameters[0].wire == wires::power_sgd(4));
  CHECK(has(message_of([&] { encoded(wires::power_sgd(49)); }), "element 0"));
  // Wires with an invalid number (the rank of power_sgd, the m of top_k) are refused for every
  // tensor.
  auto const& p = plan[2].parameters[0];
  for (auto const& wire : {wires::power_sgd(0), wires::power_sgd(-1), wires::top_k(0)}) {
    CHECK(has(message_of([&] { encoded(wire); }), "write "));
    CHECK(ashlar::wire_fault(wire, {48, 48}, p.grad, mesh) != nullptr);
    CHECK(ashlar::wire_fault(wire, {48}, ashlar::parse_placement("[P]"), mesh) != nullptr);
    auto by_hand = plan;  // the search prices this plan; only nn::place refuses it
    by_hand.choices[2].parameters[0].wire = wire;
    search::predict(by_hand, net, m);
    CHECK(by_hand.seconds > 0);
  }
  auto const whole = ashlar::parse_placement("[P]");
  ashlar::shape const most{1 << 16, 1 << 16}, more{1 << 16, (1 << 16) + 1};
  CHECK(ashlar::wire_fault(wires::top_k(10), most, whole, mesh) == nullptr);
  CHECK(ashlar::wire_fault(wires::top_k(10), more, whole, mesh) != nullptr);
  CHECK(ashlar::wire_fault(wires::int8, more, whole, mesh) == nullptr);
}

}  // namespace ashlar_test
