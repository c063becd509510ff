// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the programs of nets with tied parameters. A tied parameter has one gradient sum for each
// of its two uses, and the two sums are added once. On one stage, the program must have the memory
// and seconds of the plan. In a pipeline, the parameter crosses once in a step from the stage of
// its first use to the stage of its later use, and the gradient of the later use crosses back once.

#include <algorithm>

#include <doctest/doctest.h>
#include <support/relative.hpp>

#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/gpt.hpp>

#include "step_programs.hpp"
#include "step_run_together.hpp"

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
using search::action_kind;

search::problem tied_net(int micro_batches) {
  return any_length(nn::describe(nn::tied(nn::embedding(12, 8), nn::repeat(2, nn::gpt_block(8, 2)),
                                          nn::layer_norm(8), nn::output_embedding(8, 12)),
                                 nn::token_batch{4, 3, micro_batches}));
}

search::plan any_tied_plan(search::problem const& net, ashlar::topology const& t,
                           ashlar::machine const& m, random_cases& draw) {
  auto plan = any_plan(net, t, m, draw);
  auto const& tie = net.ties[0];
  auto const& first = plan[tie.first].parameters[tie.first_index];
  auto& later = plan.choices[static_cast<std::size_t>(tie.later)].parameters[tie.later_index];
  later.store = first.store;
  later.update = first.update;
  search::predict(plan, net, m);
  return plan;
}

int count_of(search::program const& p, action_kind kind) {
  return static_cast<int>(std::count_if(p.actions.begin(), p.actions.end(),
                                        [&](auto const& a) { return a.kind == kind; }));
}

}  // namespace

TEST_CASE("a tied parameter is stored once, and the gradients of its uses are added once") {
  random_cases draw(3);
  int updated_apart = 0;
  for (int n = 0; n < 60; ++n) {
    auto const net = tied_net(1 + n % 3);
    auto const mesh = draw.mesh();
    auto const m = draw.machine();
    auto const plan = any_tied_plan(net, mesh, m, draw);
    updated_apart += plan[net.ties[0].first].parameters[net.ties[0].first_index].is_updated_apart();
    auto const serial = build(net, plan, m);
    CHECK(high_water(serial).peak == plan.memory);
    CHECK(serial_seconds(serial, m).seconds() == relative(plan.seconds));
    int sums = 0, stored = 0, parameters = 0;
    for (auto const& v : serial.values) {
      sums += v.kind == search::value_kind::sum;
      stored += v.kind == search::value_kind::stored;
    }
    for (int i = 0; i < net.size(); ++i) parameters += net.spec(i).parameters.size();
    CHECK(sums == parameters);
    CHECK(stored == parameters - 1);
    CHECK(count_of(serial, action_kind::update) == parameters - 1);
    programmed other(draw);
    other.mesh = mesh, other.machine = m, other.net = net, other.plan = plan, other.serial = serial;
    auto all = other.passed();
    all.push_back(serial);
    for (auto const& p : all) {
      auto const fault = check(p);
      INFO(search::to_string(fault, p));
      CHECK(!fault.found());
      CHECK(count_of(p, action_kind::add_gradient) == 1);
    }
  }
  CHECK(updated_apart > 3);
}

TEST_CASE("programs that add the gradient of a later use wrongly are refused") {
  auto const net = tied_net(2);
  random_cases draw(5);
  ashlar::topology const t{{"gpu", 2}};
  for (int n = 0; n < 8; ++n) {
    auto const p = build(net, any_tied_plan(net, t, {}, draw), {});
    std::size_t at = 0;
    while (p.actions[at].kind != action_kind::add_gradient) ++at;
    auto const mutant = [&](auto change) {
      auto q = p;
      change(q.actions);
      auto const fault = check(with_releases(q));
      return std::string(fault.found() ? fault.what : "right");
    };
    auto const i = static_cast<std::ptrdiff_t>(at);
    CHECK(mutant([](auto&) {}) == "right");
    CHECK(mutant([&](auto& list) { list.erase(list.begin() + i); }) == "never uses a gradient");
    CHECK(mutant([&](auto& list) { list.insert(list.begin() + i, p.actions[at]); }) ==
          "adds the gradient of a later use twice");
    CHECK(mutant([&](auto& list) {
            list.erase(list.begin() + i);
            list.push_back(p.actions[at]);
          }) == "adds to a gradient that is read already");
    CHECK(mutant([&](auto& list) {
            list.erase(list.begin() + i);
            list.insert(list.begin(), p.actions[at]);
          }) != "right");
    CHECK(mutant([&](auto& list) { list[at].part = 1; }) == "adds to the gradient of another");
  }
}

TEST_CASE("in a pipeline a tied parameter and its gradient cross once each") {
  random_cases draw(9);
  int apart = 0, together = 0;
  for (int turn = 0; turn < 24; ++turn) {
    int const positions = 2 + turn % 3;
    auto const net = tied_net(turn % 2 ? positions : 1 + draw.below(5));
    ashlar::machine const m = draw.machine();
    ashlar::topology const whole{{"stage", positions}, {"gpu", 2}}, one{{"stage", 1}, {"gpu", 2}};
    for (auto const& order : pipelines_for(positions, net.micro_batches)) {
      auto const limits = any_limits(net, order, draw);
      if (limits.empty()) continue;
      std::vector<int> const recomputed(limits.size() - 1, 0);
      auto const chain = search::in_stages(net, limits, recomputed);
      auto plan = any_tied_plan(chain, one, m, draw);
      plan.recomputed = 0;
      search::pipeline_part part{0, order, limits, whole, divided(whole, 0, positions)};
      int sends = 0, receives = 0, added = 0;
      for (auto const& program : right_programs(chain, plan, m, part)) {
        added += count_of(program, action_kind::add_gradient);
        for (auto const& c : program.crossings)
          if (c.what == search::moved::parameter) ++(c.is_send ? sends : receives);
      }
      CHECK(added == 1);
      CHECK(sends == receives);
      CHECK((sends == 0 || sends == 2));
      (sends == 0 ? together : apart) += 1;
    }
  }
  CHECK(apart > 30);
  CHECK(together > 3);  // with ZB-V, the first and the last stage are on the same part
}

}  // namespace ashlar_test
