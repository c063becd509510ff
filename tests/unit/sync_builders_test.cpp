// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the plans that the builders of synchronization strategies make: their placements, memory,
// bytes and prices, and the errors of the builders. tests/mpi/sync_strategies_test.cpp tests
// training under these plans.

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/relative.hpp>

#include <ashlar/mesh/text.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/placement/text.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/explain.hpp>
#include <ashlar/step/build.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/step/traffic.hpp>
#include <ashlar/sync/delayed.hpp>
#include <ashlar/sync/encoded.hpp>
#include <ashlar/sync/named.hpp>
#include <ashlar/sync/pinned.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace search = ashlar::search;
namespace sync = ashlar::sync;
using ashlar::parse_topology;

struct synchronized {
  search::problem net;
  ashlar::topology mesh;
  ashlar::machine machine = ashlar::machines::workstation;
  search::plan plain;

  explicit synchronized(char const* t, int size = 4)
      : net(any_length(nn::describe<float>(
            nn::tied(nn::embedding(12, 8), nn::gpt_block(8, 2), nn::output_embedding(8, 12)),
            nn::token_batch{4, 4}))),
        mesh(parse_topology(t)) {
    net.element_size = size;
    plain = search::data_parallel(net, mesh, machine);
  }
  search::plan by(char const* name) const { return sync::named(name, net, plain, machine); }
  /// Returns the bytes that all ranks receive in a step.
  double bytes(search::plan const& p) const {
    auto const step = build(net, p, machine);
    double sum = 0;
    for (int r = 0; r < mesh.ranks(); ++r) sum += received_at(step, mesh.coordinates_of(r)).bytes();
    return sum;
  }
};

/// Returns the placements of the first parameter of the third layer with parameters, as text.
std::string weight(search::plan const& plan) {
  int found = 0;
  for (auto const& c : plan.choices)
    if (!c.parameters.empty() && found++ == 2)
      return to_string(c.parameters[0].updated_at()) + " " + to_string(c.parameters[0].store);
  return {};
}

}  // namespace

TEST_CASE("the placements of each builder") {
  synchronized const s("node=2,gpu=2");
  CHECK(weight(s.by("all-reduce")) == "[B,B] [B,B]");
  CHECK(weight(s.by("zero1")) == "[S(0),S(0)] [B,B]");
  CHECK(weight(s.by("zero2")) == weight(s.by("zero1")));
  CHECK(weight(s.by("zero3")) == "[S(0),S(0)] [S(0),S(0)]");
  CHECK(weight(s.by("hybrid")) == "[B,S(0)] [B,B]");
  CHECK(weight(sync::hybrid{"node", sync::reads::at_use}(s.net, s.plain, s.machine)) ==
        "[S(0),B] [S(0),B]");
  CHECK(weight(s.by("owners")) == "[O(1),O(0)] [B,B]");
  synchronized const line("gpu=4");
  auto const searched = search::zero_3(line.net, line.mesh, line.machine);
  CHECK(weight(sync::zero<3>{}(line.net, searched, line.machine)) == weight(searched));
  CHECK(sync::all_reduce{}(s.net, s.by("zero3"), s.machine).choices == s.by("all-reduce").choices);
}

TEST_CASE("owners are dealt out evenly, and in turn if sizes are equal") {
  auto const net = any_length(nn::describe<float>(
      nn::chain(nn::linear(6, 6), nn::linear(6, 6), nn::linear(6, 6), nn::linear(6, 6)),
      nn::feature_batch{6, 6}));
  auto const t = parse_topology("gpu=3");
  auto const m = ashlar::machines::workstation;
  auto const plan = sync::owners{}(net, search::data_parallel(net, t, m), m);
  std::string dealt;
  for (auto const& c : plan.choices)
    for (auto const& p : c.parameters) dealt += std::to_string(p.update[0].owner);
  // Character k is the rank that owns parameter k. Parameters are in the order of the net, in which
  // weights of 36 elements and biases of 6 elements alternate.
  CHECK(dealt == "01122102");
  auto const balance = sync::balance_of(net, plan);
  CHECK(balance.most == 72);  // some rank must own two of the four weights, so no dealing has less
  CHECK(balance.gap() == 0);
}

TEST_CASE("one rank can own all parameters") {
  synchronized const s("node=2,gpu=2");
  auto const one = sync::owners{sync::reads::at_use, sync::dealing::one_rank}(s.net, s.plain,
                                                                              s.machine);
  CHECK(weight(one) == "[O(0),O(0)] [O(0),O(0)]");
  std::int64_t all = 0;
  for (int i = 0; i < s.net.size(); ++i)
    for (auto const& p : s.net.spec(i).parameters)
      if (p.tie != search::tie_role::later) all += p.extents.elements();
  CHECK(sync::balance_of(s.net, one).most == all);
}

TEST_CASE("hybrid leaves parameters as they are used that are split along its axis already") {
  auto const net = any_length(
      nn::describe<float>(nn::chain(nn::linear(6, 8), nn::linear(8, 6)), nn::feature_batch{6, 6}));
  auto const m = ashlar::machines::workstation;
  auto const tensor = search::tensor_parallel(net, parse_topology("gpu=2"), m);
  auto const plan = sync::hybrid{"gpu", sync::reads::at_use}(net, tensor, m);
  int split = 0, divided = 0;
  for (auto const& c : plan.choices)
    for (auto const& p : c.parameters) {
      if (p.use[0].is_split()) CHECK(p.store == p.use);
      else divided += p.store[0].is_split();
      CHECK_FALSE(p.is_updated_apart());
      split += p.use[0].is_split();
    }
  CHECK(split == 3);    // both weights, and the bias of the first layer
  CHECK(divided == 1);  // the bias of the second layer
}

TEST_CASE(
    "programs of all builders are right, and have the memory and the seconds of their plans") {
  for (int const size : {4, 2})
    for (auto const* const t : {"gpu=4", "gpu=1", "node=2,gpu=3"}) {
      synchronized const s(t, size);
      for (auto const name : sync::names()) {
        CAPTURE(name);
        auto const plan = s.by(std::string(name).c_str());
        auto const p = build(s.net, plan, s.machine);
        auto const found = check(p);
        CHECK_MESSAGE(!found.found(), found.what);
        CHECK(high_water(p).peak == plan.memory);
        CHECK(plan.seconds == relative(total_cost(s.net, plan, s.machine).seconds()));
        CHECK(plan.seconds == relative(serial_seconds(p, s.machine).seconds()));
        CHECK(plan.gap == 1);
      }
    }
}

TEST_CASE("bytes: ZeRO-1 receives what an all-reduce receives, and less in mixed precision") {
  synchronized const full("gpu=4"), mixed("gpu=4", 2);
  // The tied table has two uses, and the gradient of each use is reduced by itself. An all-reduce
  // gathers both sums. ZeRO-1 gathers the updated table once. So it saves one gather, in which each
  // of the 4 ranks receives three quarters of the table.
  double const table = 12 * 8 * 4, gathered = 3 * table;
  CHECK(full.bytes(full.by("zero1")) + gathered == full.bytes(full.by("all-reduce")));
  CHECK(mixed.bytes(mixed.by("zero1")) < mixed.bytes(mixed.by("all-reduce")));
  CHECK(full.by("zero1").memory < full.by("all-reduce").memory);
  CHECK(mixed.by("zero1").memory < mixed.by("all-reduce").memory);
  CHECK(full.by("zero3").memory < full.by("zero1").memory);
}

TEST_CASE("builders keep the number of micro-batches that take turns") {
  synchronized const s("gpu=2");
  auto in_turns = s.net;
  in_turns.micro_batches = 4;
  in_turns.interleaved = 2;
  auto plan = s.plain;
  search::predict(plan, in_turns, s.machine);
  auto const kept = [&](search::plan const& made) {
    CHECK(made.interleaved == 2);
    CHECK(made.memory == search::memory_per_rank(in_turns, made));
  };
  for (int const asked : {0, 1}) {  // 0: the search has chosen the number
    auto net = in_turns;
    net.interleaved = asked;
    for (bool const overlap : {true, false}) {
      net.overlap = overlap;
      kept(sync::named("optimal", net, plan, s.machine));
    }
    kept(sync::zero<1>{}(net, plan, s.machine));
    kept(sync::delayed{1}(net, plan, s.machine));
    kept(sync::encoded{ashlar::wires::int8}(net, plan, s.machine));
    kept(sync::pinned(net, plan, s.machine, "embedding.table", sync::zero<1>{}));
    auto const text = search::explain(net, plan, s.machine).text;
    CHECK_MESSAGE(has(text, "of 4 micro-batches, of which 2 take turns"), text);
    auto lost = plan;
    lost.interleaved = 0;
    CHECK(!search::explain(net, lost, s.machine).text.empty());
  }
}

TEST_CASE("reports name the placement of the update") {
  synchronized const s("gpu=4");
  auto const text = search::explain(s.net, s.by("zero1"), s.machine).text;
  CHECK_MESSAGE(has(text, "updated [S(0)]"), text);
  CHECK_MESSAGE(has(text, "renew       new weight"), text);
  CHECK_MESSAGE(!has(text, "plan that fits is more than"), text);
}

TEST_CASE("wrong names, axes and plans are refused") {
  synchronized const s("node=2,gpu=2");
  CHECK(has(message_of([&] { s.by("zero4"); }),
            "there is no strategy \"zero4\". Strategies are all-reduce, zero1, "));
  CHECK(has(message_of([&] { sync::hybrid{"rack"}(s.net, s.plain, s.machine); }),
            "sync::hybrid: the mesh has no axis \"rack\". Its axes are: node, gpu."));
  auto other = s.net;
  other.element_size = 2;
  CHECK(has(message_of([&] { sync::zero<1>{}(other, s.plain, s.machine); }),
            "sync::zero: the plan is of another net. Give the problem for which it was made."));
  auto const to = [&](ashlar::placement const& at) {
    return message_of([&] {
      sync::changed_plan("mine", s.net, s.plain, s.machine,
                         [&](search::parameter_choice& p, ashlar::shape const&) { p.update = at; });
    });
  };
  CHECK(has(to(ashlar::parse_placement("P,B")),
            "mine: element 0 (embedding), parameter table: a parameter cannot be updated where its "
            "gradient is partial: write B, S(d) or O(k) for update on that axis."));
  CHECK(has(to(ashlar::parse_placement("O(2),B")), "an owner that the axis does not have"));
  CHECK(has(to(ashlar::parse_placement("B,B")), "update is the same as store: leave it out."));
}

}  // namespace ashlar_test
