// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the wires that sync::optimal chooses among those that are permitted: none on a workstation,
// where encoding costs more than it saves, and some between nodes with 1 Gb/s. On small nets the
// result is compared with all assignments of strategies and wires.

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/machine/presets.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/sync/encoded.hpp>
#include <ashlar/sync/optimal.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

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
      // One that is permitted alone is taken too, and no more than it saves is promised.
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
            "the wire bf16 carries gradients of float only"));
}

}  // namespace ashlar_test
