// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests programs in which micro-batches take turns (step/turns.hpp): the order of actions, the
// gathers, bytes, seconds and memory. On chains with one link, the timeline must equal the cost
// model of the HiDup paper (step/duplex_seconds.hpp).

#include <algorithm>
#include <random>

#include <doctest/doctest.h>
#include <support/equation_5.hpp>

#include <ashlar/search/breakdown.hpp>
#include <ashlar/search/check_problem.hpp>
#include <ashlar/search/pipeline.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/step/duplex_seconds.hpp>
#include <ashlar/step/timeline.hpp>
#include <ashlar/step/traffic.hpp>

#include "step_programs.hpp"

namespace ashlar_test {
namespace {

using ashlar::parse_placement;
using search::action_kind;

/// A chain of layers without parameters. At random boundaries between layers, the activations and
/// gradients are redistributed. One element takes one second on the only link.
struct random_chain {
  ashlar::machine m;
  search::problem net;
  search::plan plan;

  explicit random_chain(std::mt19937& random) {
    auto const below = [&](int n) { return std::uniform_int_distribution(0, n - 1)(random); };
    m.intra = {0, 0.25};
    m.flops = 1;
    plan.mesh = ashlar::parse_topology("gpu=2");
    auto const rows = parse_placement("S(0)"), whole = parse_placement("B");
    int const layers = 2 + below(6);
    ashlar::shape x{2, 1 + below(50)};
    for (int i = 0; i < layers; ++i) {
      search::layer_spec spec;
      spec.name = "layer";
      spec.x = x;
      spec.y = x = {2, 1 + below(50)};
      spec.forward_flops = std::uniform_real_distribution(0., 60.)(random);
      spec.backward_flops = std::uniform_real_distribution(0., 90.)(random);
      net.add(spec);
      auto const any = [&] { return below(2) ? rows : whole; };
      plan.choices.push_back({any(), any(), any(), any(), {}, {}});
    }
  }

  /// Returns the stages of the first micro-batch. A stage consists of moves and the work after
  /// them.
  std::vector<search::duplex_stage> stages(search::program const& p) const {
    std::vector<search::duplex_stage> list{{}};
    for (auto const& a : p.actions) {
      if (a.micro_batch > 0) continue;
      if (a.kind == action_kind::begin_move && !p.path_of(p.move_of(a)).is_local()) {
        if (list.back().work > 0) list.push_back({});
        list.back().communication += p.path_of(p.move_of(a)).seconds;
      }
      list.back().work += a.seconds;
    }
    return list;
  }
};

bool is_close(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(a, b); }

TEST_CASE("the timeline of two micro-batches is equation 5 of HiDup on 10,000 random chains") {
  std::mt19937 random(16);
  int communicating = 0, exposed = 0, hidden = 0;
  for (int n = 0; n < 10000; ++n) {
    CAPTURE(n);
    random_chain c(random);
    c.net.micro_batches = c.net.interleaved = 2;
    predict(c.plan, c.net, c.m);
    auto const serial = build(c.net, c.plan, c.m);
    auto stages = c.stages(serial);
    stages.front().communication = 0;
    auto const early = early_moves(serial).made;
    auto const t = timeline_of(early, c.m);
    CHECK(is_close(t.seconds, by_equation_5(stages)));
    CHECK(is_close(t.seconds, search::duplex_seconds(stages)));
    CHECK(t.seconds >= std::max(t.work, t.busiest_link()) * (1 - 1e-12));
    CHECK(t.seconds <= serial_seconds(serial, c.m).seconds() * (1 + 1e-12));
    CHECK(is_close(timeline_of(serial, c.m).seconds, serial_seconds(serial, c.m).seconds()));
    communicating += stages.size() > 2;
    exposed += t.exposed > 0;
    hidden += t.hidden() > 0;

    // With two groups of micro-batches, the last stage of the first group and the first stage of
    // the second group form one stage, because nothing moves between them.
    c.net.micro_batches = 4;
    auto both = stages;
    both.back().work += stages.front().work;
    both.insert(both.end(), stages.begin() + 1, stages.end());
    if (stages.size() > 1)
      CHECK(is_close(timeline_of(early_moves(build(c.net, c.plan, c.m)).made, c.m).seconds,
                     search::duplex_seconds(both)));
  }
  CHECK(communicating > 5000);
  CHECK(exposed > 1000);
  CHECK(hidden > 5000);
}

/// A random net and plan with m micro-batches. In the program `turns`, groups of k micro-batches
/// take turns; in `serial`, they do not.
struct taking_turns : programmed {
  search::program turns;
  taking_turns(random_cases& draw, int m, int k) : programmed(draw) {
    net.micro_batches = m;
    net.interleaved = 1;
    serial = build(net, plan, machine);
    net.interleaved = k;
    predict(plan, net, machine);
    turns = build(net, plan, machine);
  }
};

template <class F>
void for_random_turns(int cases, F f) {
  random_cases draw(77);
  for (int n = 0; n < cases; ++n)
    for (int const m : {2, 3, 4, 5})
      for (int k = 2; k <= m; ++k) {
        CAPTURE(n);
        CAPTURE(m);
        CAPTURE(k);
        f(taking_turns(draw, m, k));
      }
}

TEST_CASE("programs with turns are right, and their seconds and bytes are those of their plans") {
  int fewer_bytes = 0;
  for_random_turns(40, [&](taking_turns const& c) {
    CHECK(c.plan.interleaved == c.net.interleaved);
    CHECK(!check(c.turns).found());
    auto const seconds = serial_seconds(c.turns, c.machine);
    CHECK(close(seconds.work, serial_seconds(c.serial, c.machine).work));
    CHECK(close(seconds.seconds(), c.plan.seconds));
    auto const parts = breakdown(c.net, c.plan, c.machine);
    auto const received = received_at_most(c.turns), without = received_at_most(c.serial);
    CHECK(close(received.bytes(), parts.total.received));
    // The program with turns has the same moves as the serial program, except that a group of
    // micro-batches shares each gather.
    auto const groups = (c.net.micro_batches - 1) / c.net.interleaved + 1;
    auto const gathers = [](search::program const& p) {
      return std::count_if(p.moves.begin(), p.moves.end(),
                           [&](auto const& m) { return search::step_detail::is_gather(p, m); });
    };
    CHECK(gathers(c.turns) * c.net.micro_batches == gathers(c.serial) * groups);
    CHECK(gathers(c.serial) - gathers(c.turns) ==
          std::ssize(c.serial.moves) - std::ssize(c.turns.moves));
    fewer_bytes += received.bytes() < without.bytes();
    CHECK(received.bytes() <= without.bytes());
    // Taking turns again must change nothing. Turns that end only at moves must be correct too.
    CHECK(take_turns(c.turns, c.net.interleaved).made == c.turns);
    auto const longer = take_turns(c.turns, c.net.interleaved, search::turn_ends::at_moves).made;
    CHECK(!check(longer).found());
    auto const best = overlapped(c.turns, c.machine);
    CHECK(!check(best.made).found());
    CHECK(best.seconds <= c.plan.seconds * (1 + 1e-9));
  });
  CHECK(fewer_bytes > 100);
}

TEST_CASE("a program with turns holds at most the memory that its plan says") {
  double share = 0;
  int count = 0;
  for_random_turns(150, [&](taking_turns const& c) {
    auto const peak = high_water(c.turns).peak;
    CHECK(peak <= c.plan.memory);
    CHECK(c.plan.memory == memory_per_rank(c.net, c.plan));
    share += double(peak) / double(c.plan.memory);
    ++count;
  });
  CHECK(share / count > 0.6);
}

TEST_CASE("micro-batches take turns element by element, and the last group may be smaller") {
  ashlar::machine m;
  m.flops = 1;
  search::problem net;
  auto const rows = parse_placement("S(0)"), whole = parse_placement("B");
  search::plan plan;
  plan.mesh = ashlar::parse_topology("gpu=2");
  for (int i = 0; i < 2; ++i) {
    search::layer_spec spec;
    spec.x = spec.y = {4, 4};
    spec.name = i == 0 ? "first" : "second";
    net.add(spec);
    plan.choices.push_back({i == 0 ? rows : whole, rows, rows, rows, {}, {}});
  }
  net.micro_batches = 4;
  net.interleaved = 3;
  std::string order;
  for (auto const& a : build(net, plan, m).actions) {
    if (!computes(a.kind)) continue;
    order += a.kind == action_kind::forward ? 'F' : 'B';
    order += std::to_string(a.element) + "." + std::to_string(a.micro_batch) + ' ';
  }
  CHECK(order ==
        "F0.0 F0.1 F0.2 F1.0 B1.0 B0.0 F0.3 F1.1 B1.1 B0.1 F1.2 B1.2 B0.2 F1.3 B1.3 B0.3 ");
}

TEST_CASE("a program whose micro-batches have different actions does not take turns") {
  random_cases draw(6);
  auto p = taking_turns(draw, 2, 2).serial;
  auto& list = p.actions;
  auto const forward = std::find_if(list.begin(), list.end(), [](auto const& a) {
    return a.kind == action_kind::forward && a.micro_batch == 1;
  });
  REQUIRE((forward != list.end()));
  list.erase(forward);
  auto const made = take_turns(p, 2);
  CHECK(!made.applied);
  CHECK(std::string(made.reason) == "its micro-batches have different actions");
}

TEST_CASE("what cannot take turns is refused in one sentence") {
  random_cases draw(5);
  auto const t = ashlar::parse_topology("gpu=2");
  search::problem net;
  net.add(linear_spec({4, 8}, 8));
  net.micro_batches = 2;
  auto const refused = [&](int interleaved, char const* text) {
    net.interleaved = interleaved;
    CHECK_THROWS_WITH_AS(search::check_problem(net, t, ashlar::machine{}), doctest::Contains(text),
                         ashlar::error);
  };
  refused(3, "3 micro-batches cannot take turns in a step of 2. Set interleaved to a "
             "number from 1, for none, to 2, or use more micro-batches.");
  refused(-1, "-1 micro-batches cannot take turns in a step of 2.");
  refused(0, "interleaved = 0 lets the search choose how many micro-batches take turns, which "
             "it does only for the overlapped time. Set problem::overlap, or set interleaved to a "
             "number from 1 to 2.");
  net.overlap = true;
  refused(2, "problem::overlap asks for the least overlapped time.");
  net.overlap = false;
  net.interleaved = 2;
  CHECK_NOTHROW(search::check_problem(net, t, ashlar::machine{}));
  CHECK_THROWS_WITH_AS(
      search::pipeline([&](int) { return net; }, t, ashlar::machine{}, {.micro_batches = {2}}),
      doctest::Contains(
          "micro-batches cannot take turns in a pipeline, whose schedule orders them. "
          "Set problem::interleaved to 1."),
      ashlar::error);
  net.layers[0].couples_rows = true;
  refused(2, "couples the rows of a batch, so micro-batches cannot take turns. Set interleaved to "
             "1, or use a layer that treats every row alone.");
  net.interleaved = 1;
  CHECK_NOTHROW(search::check_problem(net, t, ashlar::machine{}));
  net.layers[0].turns_together = 2;
  refused(1, "element 0 (linear) needs the forward passes of 2 micro-batches before its backward "
             "passes, but 1 of 2 take turns. They cannot take turns, since element 0 (linear) "
             "couples the rows of a batch. Use other layers.");
  net.overlap = true;
  refused(0, "but 1 of 2 take turns. They cannot take turns, since ");
  net.overlap = false;
  net.layers[0].couples_rows = false;
  refused(1, "but 1 of 2 take turns. Set interleaved to a multiple of 2.");
}

}  // namespace
}  // namespace ashlar_test
