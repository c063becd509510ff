// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the reports of sync::explain and diff, and the parameters that are named in sync::pinned.

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/relative.hpp>

#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/sync/encoded.hpp>
#include <ashlar/sync/explain.hpp>
#include <ashlar/sync/named.hpp>
#include <ashlar/sync/optimal.hpp>
#include <ashlar/sync/pinned.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace search = ashlar::search;
namespace sync = ashlar::sync;

struct explained_net {
  search::problem net = any_length(
      nn::describe<float>(nn::tied(nn::embedding(12, 8), nn::repeat(2, nn::gpt_block(8, 2)),
                                   nn::output_embedding(8, 12)),
                          nn::token_batch{4, 4}));
  ashlar::topology mesh{{"gpu", 4}};
  ashlar::machine machine = ashlar::machines::workstation;
  search::plan plain = search::data_parallel(net, mesh, machine);
  search::plan all = sync::all_reduce{}(net, plain, machine);

  search::plan by(std::string_view name) const { return sync::named(name, net, plain, machine); }
};

auto lines(std::string const& text) { return std::count(text.begin(), text.end(), '\n'); }

}  // namespace

TEST_CASE("the report has a line for equal parameters, with their strategy, bytes and seconds") {
  explained_net const s;
  auto const text = sync::explain(s.net, s.by("zero1"), s.machine);
  CHECK_MESSAGE(has(text, "parameter"), text);
  CHECK_MESSAGE(has(text, "grad -> update -> store -> use"), text);
  CHECK_MESSAGE(has(text, "ZeRO-1 along gpu"), text);
  CHECK_MESSAGE(has(text, "[P] -> [S(0)] -> [B] -> [B]"), text);
  CHECK_MESSAGE(has(text, "linear.weight x 2"), text);
  CHECK_MESSAGE(has(text, "12x8"), text);
  CHECK(has(sync::explain(s.net, s.by("zero3"), s.machine), "ZeRO-3 along gpu"));
  CHECK(has(sync::explain(s.net, s.by("owners-at-use"), s.machine), "read at use"));
  CHECK(has(sync::explain(s.net, s.by("owners"), s.machine),
            "owners:          the busiest rank owns "));
  ashlar::placement const whole{ashlar::broadcast()};
  CHECK(sync::strategy_text({whole, whole, whole}, s.mesh) == "local");
  CHECK(sync::strategy_text({whole, {ashlar::partial()}, whole}, s.mesh) == "all-reduce");
  CHECK(sync::strategy_text({whole, {ashlar::partial()}, {ashlar::owned(1)}}, s.mesh) ==
        "owner along gpu, read at use");
  // If a mesh has many axes, the report writes the placements on lines of their own.
  ashlar::topology const wide{{"a", 2}, {"b", 2}, {"c", 2}};
  auto const on_three = search::data_parallel(s.net, wide, s.machine);
  auto const long_text = sync::explain(s.net, sync::zero<1>{}(s.net, on_three, s.machine),
                                       s.machine);
  CHECK_MESSAGE(has(long_text, "\n    grad -> update -> store -> use\n"), long_text);
  for (std::size_t at = 0; at < long_text.size();) {
    auto const end = long_text.find('\n', at);
    REQUIRE(end != std::string::npos);
    CHECK(end - at <= 100);
    at = end + 1;
  }
  // The report counts the bytes of the program's moves of parameters. Without overlap, all seconds
  // of these moves are exposed.
  auto const step = build(s.net, s.by("zero1"), s.machine);
  double received = 0;
  for (auto const& move : step.moves)
    if (move.what == search::moved::parameter)
      for (auto const& it : step.path_of(move).steps)
        received += double(search::transfer_traffic(step.path_of(move), it, step.mesh).elements) *
                    4;
  auto const facts = sync::detail::explained(s.net, s.by("zero1"), s.machine);
  double sum = 0, exposed = 0, seconds = 0;
  for (auto const& p : facts.parameters)
    sum += p.received, exposed += p.exposed, seconds += p.seconds;
  CHECK(sum == received);
  CHECK(facts.received == received);
  CHECK(exposed == relative(seconds));
  auto net = s.net;
  net.overlap = true;
  auto const overlapped = sync::detail::explained(net, s.by("zero1"), s.machine);
  CHECK(overlapped.received == facts.received);
  CHECK(overlapped.seconds <= facts.seconds);
}

TEST_CASE("diff shows only parameters that differ, with both strategies") {
  explained_net const s;
  auto const pinned = sync::pinned(s.net, s.all, s.machine, "embedding.table", sync::zero<1>{});
  auto const text = sync::diff(s.net, s.all, pinned, s.machine);
  CHECK_MESSAGE(has(text, "before:          "), text);
  CHECK_MESSAGE(has(text, "embedding.table"), text);
  CHECK_MESSAGE(has(text, "  before "), text);
  CHECK_MESSAGE(!has(text, "linear.weight"), text);
  CHECK(lines(sync::explain(s.net, s.all, pinned, s.machine)) > lines(text));
  CHECK(has(sync::diff(s.net, s.all, s.all, s.machine), "no parameter differs"));
  auto other = s.all;
  ++other.problem_hash;
  CHECK(has(message_of([&] { sync::diff(s.net, s.all, other, s.machine); }),
            "sync::diff: the plan is of another net."));
  CHECK(has(message_of([&] { sync::explain(s.net, other, s.machine); }),
            "sync::explain: the plan is of another net."));
}

TEST_CASE("pinned takes the plain steps of wires, and refuses two numbers of them") {
  explained_net const s;
  auto const by = [](int plain_steps) {
    return sync::encoded{.wire = ashlar::wires::int8, .plain_steps = plain_steps};
  };
  auto const one = sync::pinned(s.net, s.all, s.machine, "linear.weight", by(30));
  CHECK(has_wires(one));
  CHECK(one.plain_steps == 30);
  CHECK(sync::pinned(s.net, one, s.machine, "embedding.table", by(30)).plain_steps == 30);
  CHECK(sync::pinned(s.net, one, s.machine, "embedding.table", sync::zero<1>{}).plain_steps == 30);
  CHECK(has(message_of([&] { sync::pinned(s.net, one, s.machine, "embedding.table", by(0)); }),
            "sync::pinned: \"embedding.table\": the plan has 30 plain steps, but the builder 0. "
            "They belong to the whole plan: give both the same number."));
}

TEST_CASE("pinned changes the wires of both uses of a tied parameter") {
  explained_net const s;
  auto const& tie = s.net.ties[0];
  auto const wired = sync::encoded{ashlar::wires::int8}(s.net, s.all, s.machine);
  auto const wires_of = [&](auto const& builder) {
    auto const plan = sync::pinned(s.net, wired, s.machine, "embedding.table", builder);
    CHECK(has_wires(plan));  // other parameters keep theirs
    return std::pair(plan[tie.first].parameters[tie.first_index].wire,
                     plan[tie.later].parameters[tie.later_index].wire);
  };
  CHECK(wires_of(sync::encoded{ashlar::wires::exact}) ==
        std::pair(ashlar::wires::exact, ashlar::wires::exact));
  CHECK(wires_of(sync::zero<1>{}) == std::pair(ashlar::wires::int8, ashlar::wires::int8));
}

TEST_CASE("optimal refuses momentum without plain steps, and diff names other plain steps") {
  explained_net const s;
  auto const wire = ashlar::wires::with_momentum(ashlar::wires::int8);
  CHECK(has(message_of([&] { sync::optimal(s.net, s.all, s.machine, {.wires = {wire}}); }),
            "sync::optimal: int8+momentum: a wire with momentum begins after plain steps"));
  auto begun = s.all;
  begun.plain_steps = 3;
  auto const best = sync::optimal(s.net, begun, s.machine, {.wires = {wire}}).chosen;
  CHECK(plain_steps_fault(best) == nullptr);
  auto bare = wire;
  bare.feedback = false;
  CHECK(has(
      message_of([&] { sync::encoded{.wire = bare, .plain_steps = 3}(s.net, s.all, s.machine); }),
      "a wire with momentum is not exact and has error feedback: write with_momentum(wire)."));
  auto const by = [&](int n) {
    return sync::encoded{.wire = wire, .plain_steps = n}(s.net, s.all, s.machine);
  };
  CHECK(has(sync::diff(s.net, by(2), by(5), s.machine), "plain steps:     2 before, 5 now\n"));
  CHECK(!has(sync::diff(s.net, by(2), by(2), s.machine), " before, "));
}

TEST_CASE("both uses of a tied parameter have a wire with momentum, or neither") {
  explained_net const s;
  auto const& tie = s.net.ties[0];
  auto one_summed = s.all;
  auto& later = one_summed.choices[static_cast<std::size_t>(tie.later)].parameters[tie.later_index];
  later.grad = later.updated_at();
  auto const wires_of = [&](search::plan const& from, ashlar::wire_format const& wire) {
    auto const plan = sync::encoded{.wire = wire, .plain_steps = 2}(s.net, from, s.machine);
    return int(!plan[tie.first].parameters[tie.first_index].wire.is_exact()) +
           int(!plan[tie.later].parameters[tie.later_index].wire.is_exact());
  };
  auto const momentum = ashlar::wires::with_momentum(ashlar::wires::int8);
  CHECK(wires_of(s.all, momentum) == 2);
  CHECK(wires_of(one_summed, ashlar::wires::int8) == 1);
  CHECK(wires_of(one_summed, momentum) == 0);
}

TEST_CASE("pins change the parameters that a name stands for") {
  explained_net const s;
  auto const updated = [&](std::string_view name) {
    auto const plan = sync::pinned(s.net, s.all, s.machine, name, sync::zero<1>{});
    int count = 0;
    for (auto const& c : plan.choices)
      for (auto const& p : c.parameters) count += p.is_updated_apart();
    CHECK(plan.memory <= s.all.memory);
    return count;
  };
  CHECK(updated("embedding.table") == 2);         // the tied parameter has two uses
  CHECK(updated("output_embedding.table") == 2);  // the later use names both
  CHECK(updated("l*.weight") == 8);
  CHECK(updated("0.table") == 2);
  auto const refused = [&](std::string_view name) {
    return message_of([&] { sync::pinned(s.net, s.all, s.machine, name, sync::zero<1>{}); });
  };
  CHECK(has(refused("linear"), "sync::pinned: \"linear\": write ELEMENT.PARAMETER, such as "));
  CHECK(has(refused("linear.wight"),
            "\"linear.wight\": there is no parameter wight there. Parameters are weight, bias."));
  CHECK(has(refused("gelu.weight"), "These elements have no parameters."));
  CHECK(has(refused("conv.weight"), "no layer has this name. The layers are: embedding"));
}

}  // namespace ashlar_test
