// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8
// thorough: ASHLAR_BOTH_MACHINES=on 6 8

// Tests that training a small GPT under common plans equals training on one process, with exactly
// the collectives that search::schedule predicts. The plans are
// - searched, with replicated and with sharded storage, and under memory limits,
// - data parallel, also with parameter servers, and tensor parallel, and
// - written by hand: these split the rows, the columns and the inner dimension of matrix products
//   on two and three mesh axes.

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/usual_plans.hpp>

#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/optimal.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;

auto const gpt = nn::chain(nn::embedding(11, 6), nn::repeat(1, nn::gpt_block(6, 3)),
                           nn::layer_norm(6), nn::linear(6, 11));
nn::token_batch const batch{5, 4, 2};

using gpt_trial = training_trial<std::remove_const_t<decltype(gpt)>, nn::token_batch>;

/// A plan that is written by hand: the placements of x and y for each element of the GPT above,
/// which is a layer or one end of a residual block. The other placements are those of the first
/// legal choice with this x and y. The second end of a block gets the choice of the first one.
using hand_written = std::vector<std::pair<char const*, char const*>>;

search::plan plan_of(plan_source const& plans, hand_written const& lies) {
  return plans.filled([&](int i) {
    auto const& [x, y] = lies[static_cast<std::size_t>(i)];
    for (auto const& c : plans.choices(i))
      if (c.x == ashlar::parse_placement(x) && c.y == ashlar::parse_placement(y)) return c;
    throw std::logic_error("element " + std::to_string(i) + ": no choice from " + x + " to " + y);
  });
}

void try_hand_written(ashlar::topology const& t, std::vector<hand_written> const& plans) {
  if (t.ranks() != world_size()) return;
  for (auto const& machine : {ashlar::machines::workstation, bandwidth_bound}) {
    ashlar::mesh const m(MPI_COMM_WORLD, t, machine);
    gpt_trial it(gpt, batch, m, 11, 11);
    for (auto const& lies : plans) {
      auto const wrong = it.wrong_with(plan_of(it.plans(), lies));
      CHECK_MESSAGE(wrong == "", wrong);
    }
  }
}

}  // namespace

TEST_CASE("searched, data and tensor parallel plans") {
  for (auto const& m : all_meshes_of_two_machines()) {
    auto const& t = m.topology();
    gpt_trial it(gpt, batch, m, 11, 11);
    auto const sharded = [&](int, search::layer_choice const& c) {
      for (auto const& p : c.parameters)
        for (int a = 0; a < t.axes(); ++a)
          if (t.extent(a) > 1 && !p.store[a].is_split() && !p.grad[a].is_broadcast()) return false;
      return true;
    };
    for (auto const& plan : {search::optimal(it.problem(), t, m.machine()),
                             search::data_parallel(it.problem(), t, m.machine()),
                             search::tensor_parallel(it.problem(), t, m.machine()),
                             search::optimal(it.problem(), t, m.machine(), sharded)}) {
      auto const wrong = it.wrong_with(plan);
      CHECK_MESSAGE(wrong == "", wrong);
    }
  }
}

// The plans are data parallel with parameter servers. Along each axis on which data parallelism
// replicates a parameter, only one rank stores the parameter. This rank is the parameter's owner.
// The ranks take turns as owners of successive parameters. Layers read the owners' values.
TEST_CASE("parameter servers: every parameter is stored by one owner along an axis") {
  for (auto const& m : all_meshes_of_two_machines()) {
    auto const& t = m.topology();
    gpt_trial it(gpt, batch, m, 11, 11);
    auto plan = search::data_parallel(it.problem(), t, m.machine());
    int next = 0;
    for (auto& choice : plan.choices)
      for (auto& p : choice.parameters)
        for (int a = 0; a < t.axes(); ++a)
          if (p.store[a].is_broadcast() && p.grad[a].is_partial())
            p.store = p.store.with(a, ashlar::owned(next++ % t.extent(a)));
    CHECK((next > 0 || t.ranks() == 1));
    auto const wrong = it.wrong_with(plan);
    CHECK_MESSAGE(wrong == "", wrong);
  }
}

TEST_CASE("plans of a GPT with tied embeddings") {
  auto const net = nn::tied(nn::embedding(11, 6), nn::gpt_block(6, 3), nn::output_embedding(6, 11));
  for (auto const& m : all_meshes()) {
    if (m.axes() > 2) continue;  // on three axes, a search takes seconds
    training_trial it(net, batch, m, 11, 11);
    check_usual_plans(it, m);
  }
}

TEST_CASE("below a memory limit") {
  for (auto const& m : all_meshes()) {
    if (m.axes() > 2) continue;  // on three axes, a search takes seconds
    gpt_trial it(gpt, batch, m, 11, 11);
    auto machine = m.machine();
    auto const& t = m.topology();
    auto const fastest = search::data_parallel(it.problem(), t, machine);
    int fitting = 0;
    for (double part : {0.9, 0.6}) {
      machine.memory = static_cast<std::int64_t>(part * static_cast<double>(fastest.memory));
      search::plan plan;
      if (message_of([&] { plan = search::optimal(it.problem(), t, machine); }) !=
          "nothing was thrown")
        continue;
      ++fitting;
      CHECK(plan.memory <= machine.memory);
      auto const wrong = it.wrong_with(plan);
      CHECK_MESSAGE(wrong == "", wrong);
    }
    CHECK((fitting > 0 || world_size() == 1));
  }
}

TEST_CASE("rows, columns and inner dimension on two axes") {
  hand_written const rows_and_columns{
      {"S(0),B", "S(0),P"},  // axis 1 splits the vocabulary
      {"S(0),B", "S(0),B"},       {"S(0),B", "S(0),B"},
      {"S(0),B", "S(0),S(2)"},                              // splits columns by heads
      {"S(0),S(2)", "S(0),S(2)"}, {"S(0),S(2)", "S(0),P"},  // splits the inner dimension by heads
      {"S(0),B", "S(0),B"},       {"S(0),B", "S(0),B"},
      {"S(0),B", "S(0),B"},       {"S(0),B", "S(0),S(2)"},
      {"S(0),S(2)", "S(0),S(2)"}, {"S(0),S(2)", "S(0),P"},
      {"S(0),B", "S(0),B"},       {"S(0),B", "S(0),B"},
      {"S(0),B", "S(0),S(2)"},  // splits columns: each rank has some classes
      {"S(0),S(2)", "P,B"}};
  hand_written const inner_and_columns{
      {"S(1),B", "S(1),S(2)"},  // axis 0 splits positions, axis 1 splits features
      {"S(1),S(0)", "S(1),S(0)"},
      {"S(0),S(1)", "S(0),S(1)"},
      {"S(2),B", "P,S(2)"},  // axis 0 splits the inner dimension, axis 1 splits columns
      {"S(2),S(0)", "S(2),S(0)"},
      {"S(3),S(2)", "P,P"},  // splits the inner dimension: axis 0 within heads, axis 1 by heads
      {"S(1),S(0)", "S(1),S(0)"},
      {"S(0),S(0)", "S(0),S(0)"},
      {"S(0),S(0)", "S(0),S(0)"},
      {"S(2),S(1)", "P,S(1)"},
      {"S(2),S(0)", "S(2),S(0)"},
      {"S(2),S(2)", "P,P"},
      {"S(0),S(0)", "S(0),S(0)"},
      {"B,S(1)", "B,S(1)"},
      {"S(2),S(1)", "P,S(1)"},
      {"S(2),S(2)", "B,B"}};
  hand_written const columns_twice{{"S(0),S(1)", "S(0),S(1)"},
                                   {"P,P", "P,P"},
                                   {"S(0,1),S(0,0)", "S(0,1),S(0,0)"},
                                   {"B,B", "S(2,1),S(2,0)"},  // splits heads in reversed order
                                   {"S(2,1),S(2,0)", "S(2,1),S(2,0)"},
                                   {"S(2,1),S(2,0)", "P,P"},
                                   {"P,P", "P,P"},
                                   {"P,S(2)", "P,S(2)"},
                                   {"B,B", "B,B"},
                                   {"S(1),B", "S(1),S(2)"},
                                   {"S(1),S(2)", "S(1),S(2)"},
                                   {"S(2),S(1)", "P,S(1)"},
                                   {"P,S(2)", "P,S(2)"},
                                   {"S(1),S(0)", "S(1),S(0)"},
                                   {"B,B", "S(2),S(2)"},
                                   {"S(1),S(0)", "P,P"}};
  for (auto const& t :
       {ashlar::topology{{"node", 2}, {"gpu", 2}}, ashlar::topology{{"node", 2}, {"gpu", 3}},
        ashlar::topology{{"node", 4}, {"gpu", 2}}})
    try_hand_written(t, {rows_and_columns, inner_and_columns, columns_twice});
}

TEST_CASE("rows, columns and inner dimension on three axes") {
  hand_written const one_each{
      {"S(0),B,B", "S(0),P,S(2)"},          {"S(0),B,S(1)", "S(0),B,S(1)"},
      {"S(0),S(1),S(1)", "S(0),S(1),S(1)"}, {"S(0),S(2),B", "S(0),P,S(2)"},
      {"S(0),S(0),S(2)", "S(0),S(0),S(2)"}, {"S(0),S(3),S(2)", "S(0),P,P"},
      {"S(0),B,S(1)", "S(0),B,S(1)"},       {"S(0),P,S(2)", "S(0),P,S(2)"},
      {"S(0),B,S(1)", "S(0),B,S(1)"},       {"S(0),S(2),B", "S(0),P,S(2)"},
      {"S(0),S(1),S(2)", "S(0),S(1),S(2)"}, {"S(0),B,S(2)", "S(0),S(2),P"},
      {"S(0),P,S(2)", "S(0),P,S(2)"},       {"S(0),S(0),S(0)", "S(0),S(0),S(0)"},
      {"S(2),S(0),B", "P,S(0),S(2)"},       {"S(1),S(0),S(2)", "P,P,B"}};
  hand_written const nested{{"S(0),S(0),S(1)", "S(0),S(0),S(1)"},
                            {"P,S(1),S(1)", "P,S(1),S(1)"},
                            {"S(0,2),S(0,0),S(0,1)", "S(0,2),S(0,0),S(0,1)"},
                            {"B,B,S(0)", "S(2),S(2),S(0)"},
                            {"S(2,1),B,S(2,0)", "S(2,1),B,S(2,0)"},
                            {"S(2),S(2),S(2)", "P,P,P"},
                            {"P,S(1),S(1)", "P,S(1),S(1)"},
                            {"B,S(2),P", "B,S(2),P"},
                            {"B,S(1),B", "B,S(1),B"},
                            {"S(2,1),S(2,0),B", "P,P,S(2)"},
                            {"S(2),S(2),S(2)", "S(2),S(2),S(2)"},
                            {"S(2),S(2),S(2)", "P,P,P"},
                            {"B,S(2),P", "B,S(2),P"},
                            {"S(1),S(1),B", "S(1),S(1),B"},
                            {"B,B,B", "S(2),S(2),S(2)"},
                            {"S(2),S(2),S(2)", "B,B,B"}};
  try_hand_written({{"node", 2}, {"gpu", 2}, {"core", 2}}, {one_each, nested});
}

}  // namespace ashlar_test
