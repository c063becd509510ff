// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the predicted timelines of small programs against values computed by hand. On a link, one
// element of a tensor takes one second. On the busiest rank, a forward pass of a layer takes 100
// seconds.

#include <algorithm>
#include <locale>

#include <doctest/doctest.h>

#include <ashlar/io/trace.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/step/text.hpp>
#include <ashlar/step/timeline.hpp>

#include "step_programs.hpp"

namespace ashlar_test {
namespace {

using ashlar::parse_placement, ashlar::parse_topology;
using search::action_kind;

/// Returns a linear layer from 8 to 8 features on 4 rows. If x is split in two, forward takes 100 s
/// and backward 200 s.
search::layer_spec timed_linear() {
  auto spec = linear_spec({4, 8}, 8);
  spec.forward_flops = 200;
  spec.backward_flops = 400;
  spec.gradient_flops = 200;
  return spec;
}

ashlar::machine one_second_an_element() {
  ashlar::machine m;
  m.intra = m.inter = {0, 0.25};
  m.flops = 1;
  return m;
}

/// A network of two linear layers, with a plan that splits activations by rows.
struct two_layers {
  ashlar::machine m = one_second_an_element();
  search::problem net;
  search::plan plan;

  explicit two_layers(char const* mesh) {
    net.add(timed_linear());
    net.add(timed_linear());
    plan.mesh = parse_topology(mesh);
    auto const rows = parse_placement(plan.mesh.axes() == 1 ? "S(0)" : "B,S(0)");
    auto const whole = ashlar::placement::all_broadcast(plan.mesh.axes());
    for (int i = 0; i < 2; ++i)
      plan.choices.push_back(
          {rows, rows, rows, rows, {{whole, whole, whole}, {whole, whole, whole}}, {}});
  }
  search::program build() {
    predict(plan, net, m);
    return search::build(net, plan, m);
  }
};

/// Returns the time span of the first action of this kind for this element.
search::time_span when(search::program const& p, search::timeline const& t, action_kind kind,
                       int element) {
  for (std::size_t i = 0; i < p.actions.size(); ++i)
    if (p.actions[i].kind == kind && p.actions[i].element == element) return t.actions[i];
  return {-1, -1};
}

TEST_CASE("gradients move during the backward pass, alone and in buckets") {
  two_layers c("gpu=2");
  auto const whole = parse_placement("B"), partial = parse_placement("P");
  for (auto& own : c.plan.choices)
    for (auto& p : own.parameters) p = {whole, partial, whole};
  auto const serial = c.build();
  // Forward takes 100 + 100 s and backward 200 + 200 s. Each layer has an all-reduce of 64 elements
  // for its weight, and an all-reduce of 8 elements for its bias.
  CHECK(timeline_of(serial, c.m).seconds == doctest::Approx(744));

  // Without buckets, each all-reduce starts as soon as its gradient is available. The gradients of
  // layer 1 are available 400 s after the start of the step, and those of layer 0 after 600 s.
  auto const alone = early_synchronization(serial, 0).made;
  auto const t = timeline_of(alone, c.m);
  CHECK(t.seconds == doctest::Approx(672));
  CHECK(t.exposed == doctest::Approx(72));
  CHECK(t.elements[1].hidden() == doctest::Approx(72));
  CHECK(t.elements[0].exposed == doctest::Approx(72));
  CHECK(when(alone, t, action_kind::begin_move, 1).start == doctest::Approx(400));
  double arrivals = 0;
  for (auto const& m : t.moves)
    if (m.busy > 0) arrivals = std::max(arrivals, m.arrival);
  CHECK(arrivals == doctest::Approx(672));

  // A bucket is full when it has 256 bytes. The first bucket holds the weight's gradient of layer
  // 1. The second one holds the bias's gradient of layer 1 and the weight's gradient of layer 0.
  // The transfer of this second bucket lasts from 600 s to 672 s. The bias's gradient of layer 0
  // follows.
  auto const filled = early_synchronization(serial, 256).made;
  CHECK(timeline_of(filled, c.m).seconds == doctest::Approx(680));
  CHECK(std::count_if(filled.moves.begin(), filled.moves.end(),
                      [](auto const& m) { return m.bucket == 0; }) == 2);

  // With a single bucket, no communication overlaps with computation. The advantage is that a
  // latency of 50 s is paid once instead of four times.
  auto const one = early_synchronization(serial, 1 << 20).made;
  CHECK(timeline_of(one, c.m).seconds == doctest::Approx(744));
  c.m.intra.alpha = 50;
  CHECK(timeline_of(serial, c.m).seconds == doctest::Approx(944));
  CHECK(timeline_of(one, c.m).seconds == doctest::Approx(794));
  CHECK(serial_seconds(one, c.m).seconds() == doctest::Approx(794));
  // Without buckets, the all-reduces of layer 1 end after 514 s and 572 s, and the all-reduces of
  // layer 0 after 714 s and 772 s.
  CHECK(timeline_of(alone, c.m).seconds == doctest::Approx(772));
}

TEST_CASE("encoding and decoding are never hidden behind computations") {
  two_layers c("gpu=2");
  auto const whole = parse_placement("B"), partial = parse_placement("P");
  for (auto& own : c.plan.choices)
    for (auto& p : own.parameters) {
      p = {whole, partial, whole};
      p.wire = ashlar::wires::bf16;
    }
  c.m.memory_bandwidth = 64;
  // Encoding takes 6 bytes of memory traffic per element, and decoding takes 10. A weight has 64
  // elements. So the addends of a weight are encoded in 6 s and decoded in 10 s, and the sums in
  // 3 s and 10 s. The link carries 2 times 64 bytes in 32 s. A bias takes an eighth of all this.
  double const coding = 2 * (29 + 29 / 8.0), link = 2 * (32 + 32 / 8.0);
  auto const serial = c.build();
  CHECK(serial_seconds(serial, c.m).seconds() == doctest::Approx(600 + coding + link));
  CHECK(timeline_of(serial, c.m).seconds == doctest::Approx(600 + coding + link));
  for (std::int64_t const bytes : {0, 1 << 20}) {
    auto const t = timeline_of(early_synchronization(serial, bytes).made, c.m);
    CHECK(t.seconds >= 600 + coding);
    CHECK(t.seconds <= 600 + coding + link + 1e-9);
    if (bytes == 0) CHECK(t.seconds < 600 + coding + link);
    CHECK(t.exposed == doctest::Approx(t.seconds - 600));
    CHECK(t.communication == doctest::Approx(coding + link));
    CHECK(t.busiest_link() == doctest::Approx(link));
    double busy = 0, exposed = 0;
    for (auto const& m : t.moves) {
      busy += m.busy;
      exposed += m.exposed;
      CHECK(m.exposed <= m.busy + 1e-9);
    }
    CHECK(busy == doctest::Approx(coding + link));
    CHECK(exposed == doctest::Approx(t.exposed));
  }
}

TEST_CASE("a bucket departs with its moves, and not with the releases after them") {
  two_layers c("gpu=2");
  auto const whole = parse_placement("B"), partial = parse_placement("P");
  for (auto& own : c.plan.choices)
    for (auto& p : own.parameters) p = {whole, partial, whole};
  auto p = early_synchronization(c.build(), 1 << 20).made;
  auto const begun = std::find_if(p.actions.begin(), p.actions.end(), [&](auto const& a) {
    return a.kind == action_kind::begin_move && p.move_of(a).bucket == 0;
  });
  auto const first = static_cast<int>(begun - p.actions.begin());
  auto const alone = search::departure::at(p, first);
  CHECK(alone.end == first + 4);

  search::action release;
  release.kind = action_kind::release;
  p.actions.insert(p.actions.begin() + alone.end, release);
  CHECK(search::departure::at(p, first).end == alone.end);
  p.actions.insert(p.actions.begin() + first + 1, release);
  CHECK(search::departure::at(p, first).end == alone.end + 1);
  int moves = 0;
  search::departure::at(p, first).for_each_move(p, [&](int) { ++moves; });
  CHECK(moves == 4);
}

TEST_CASE("a gradient that has to be moved is computed first") {
  two_layers c("gpu=2");
  c.net.layers.push_back(timed_linear());
  c.net.layers[1].backward = search::backward_form::halves;
  c.net.elements[1].layer = 1;
  c.plan.choices[1].dx = parse_placement("S(1)");  // redistributed to S(0): 8 of 16 elements move
  auto const serial = c.build();
  auto const before = timeline_of(serial, c.m);
  CHECK(before.seconds == doctest::Approx(608));
  CHECK(before.elements[0].exposed == doctest::Approx(8));
  auto const early = early_moves(serial).made;
  auto const t = timeline_of(early, c.m);
  CHECK(when(early, t, action_kind::input_gradient, 1).start == doctest::Approx(200));
  CHECK(when(early, t, action_kind::weight_gradient, 1).start == doctest::Approx(300));
  CHECK(when(early, t, action_kind::backward, 0).start == doctest::Approx(400));
  CHECK(t.seconds == doctest::Approx(600));
  CHECK(t.exposed == 0);
  CHECK(t.hidden() == doctest::Approx(8));
}

TEST_CASE("a gradient moves while the segment that waits for it is recomputed") {
  two_layers c("gpu=2");
  c.net.elements[0].segment = 0;
  c.net.segments = 1;
  c.plan.recomputed = 1;
  c.plan.choices[1].dx = parse_placement("S(1)");
  auto const serial = c.build();
  CHECK(timeline_of(serial, c.m).seconds == doctest::Approx(708));
  auto const early = early_moves(serial).made;
  auto const t = timeline_of(early, c.m);
  CHECK(when(early, t, action_kind::recompute, 0).start == doctest::Approx(400));
  CHECK(t.seconds == doctest::Approx(700));
  CHECK(t.elements[0].hidden() == doctest::Approx(8));
}

TEST_CASE("stored weights are gathered one element ahead, or once and kept") {
  two_layers c("gpu=2");
  auto const rows = parse_placement("S(0)"), whole = parse_placement("B");
  for (auto& own : c.plan.choices) own.parameters[0] = {whole, rows, rows};
  auto const serial = c.build();
  CHECK(timeline_of(serial, c.m).seconds == doctest::Approx(4 * 32 + 600));

  auto const ahead = prefetch(serial).made;
  auto const t = timeline_of(ahead, c.m);
  CHECK(t.seconds == doctest::Approx(632));
  CHECK(t.exposed == doctest::Approx(32));
  CHECK(t.hidden() == doctest::Approx(96));
  CHECK(when(ahead, t, action_kind::forward, 0).start == doctest::Approx(32));
  CHECK(when(ahead, t, action_kind::begin_move, 1).start == doctest::Approx(32));
  CHECK(when(ahead, t, action_kind::end_move, 1).start == doctest::Approx(132));

  auto const kept = prefetch(serial, {1, search::gathered::once_a_step}).made;
  CHECK(kept.moves.size() == 3);  // two gathers and the slice of the input data
  CHECK(timeline_of(kept, c.m).seconds == doctest::Approx(632));
  CHECK(timeline_of(kept, c.m).communication == doctest::Approx(64));
}

TEST_CASE("two links work at a time, each carries one transfer after another") {
  two_layers c("node=2,gpu=2");
  auto const whole = parse_placement("B,B");
  auto const between = parse_placement("S(0),B"), inside = parse_placement("B,S(0)");
  for (auto& own : c.plan.choices)
    own.parameters = {{whole, between, between}, {whole, inside, inside}};
  c.net.layers[0].parameters[1].in_backward = true;
  auto const serial = c.build();
  // The two ranks of a node share the link between nodes, so 32 elements take 64 s. Inside the
  // node, 4 elements take 4 s.
  CHECK(timeline_of(serial, c.m).seconds == doctest::Approx(4 * 68 + 600));
  auto const ahead = prefetch(serial).made;
  auto const t = timeline_of(ahead, c.m);
  // No computation can overlap with the gathers for layer 0. The gather of its weight takes 64 s.
  // Then the gather of its bias takes 4 s, because the serial order begins it afterwards. After
  // these 68 s, the parameters of layer 1 use both links.
  CHECK(t.seconds == doctest::Approx(668));
  CHECK(t.busy[static_cast<int>(ashlar::link_tier::inter_node)] == doctest::Approx(256));
  CHECK(t.busy[static_cast<int>(ashlar::link_tier::intra_node)] == doctest::Approx(16));
  std::vector<double> arrivals;
  for (std::size_t k = 0; k < t.moves.size(); ++k)
    if (ahead.moves[k].element == 1 && ahead.moves[k].phase == search::phase::forward)
      arrivals.push_back(t.moves[k].arrival);
  CHECK(arrivals == std::vector<double>{132, 72});
}

TEST_CASE("only useful passes are kept, and a report says so") {
  two_layers c("gpu=2");
  auto const whole = parse_placement("B"), partial = parse_placement("P");
  for (auto& own : c.plan.choices)
    for (auto& p : own.parameters) p = {whole, partial, whole};
  auto const best = overlapped(c.build(), c.m);
  CHECK(best.pays());
  CHECK(best.serial == doctest::Approx(744));
  CHECK(best.seconds == doctest::Approx(672));
  REQUIRE(best.passes.size() == 3);
  CHECK(std::string(best.passes[0].reason) == "there is nothing to change");
  CHECK(best.passes[1].kept);
  CHECK(best.passes[1].after == doctest::Approx(672));
  CHECK_FALSE(best.passes[2].kept);

  c.m.intra.beta = 0;  // communication is free, so overlap gains nothing
  auto const serial = c.build();
  auto const none = overlapped(serial, c.m);
  CHECK_FALSE(none.pays());
  CHECK(none.made == serial);
  CHECK(std::string(none.passes[1].reason) == "it would not be faster");
}

TEST_CASE("a trace has times of nanoseconds and escaped names, in every locale") {
  struct comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    std::string do_grouping() const override { return "\3"; }
  };
  two_layers s("gpu=2");
  s.net.layers[0].name = "a\"b\\c";
  auto const p = s.build();
  ashlar::io::traced_step step{"the \"first\"", {}};
  step.actions.assign(p.actions.size(), {2.0, 2.000000125});
  auto const before = std::locale::global(std::locale(std::locale(), new comma));
  auto const text = ashlar::io::trace_events(s.net, p, step, 1234);
  std::locale::global(before);
  auto const has = [&](char const* part) { return text.find(part) != std::string::npos; };
  CAPTURE(text);
  CHECK(has(R"("pid":1234,"args":{"name":"the \"first\""}})"));
  CHECK(has(R"("name":"0.a\"b\\c forward","cat":"work","ts":2000000.000,"dur":0.125,)"));
}

TEST_CASE("a program prints as a table") {
  two_layers c("gpu=2");
  auto const rows = parse_placement("S(0)"), whole = parse_placement("B");
  for (auto& own : c.plan.choices) own.parameters[0] = {whole, rows, rows};
  auto const p = prefetch(c.build()).made;
  auto const text = print(c.net, p, c.m).text;
  CHECK(text.rfind("program for gpu=2 (2 ranks): ", 0) == 0);
  CHECK(text.find("in serial order 728.00 s; 128.00 s of communication, 96.00 s of it hidden") !=
        std::string::npos);
  CHECK(text.find("begin weight") != std::string::npos);
  CHECK(text.find("[S(0)] -> [B]: all-gather along gpu") != std::string::npos);
  CHECK(text.find("update bias") != std::string::npos);
  CHECK(text.find("release") == std::string::npos);
  std::size_t at = 0, widest = 0;
  for (std::size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    widest = std::max(widest, end - at);
  CHECK(widest <= 100);
  auto const cut = print(c.net, p, c.m, {.most_actions = 6, .releases = true}).text;
  CHECK(cut.find("actions more\n") != std::string::npos);
  CHECK(std::count(cut.begin(), cut.end(), '\n') < std::count(text.begin(), text.end(), '\n'));
}

}  // namespace
}  // namespace ashlar_test
