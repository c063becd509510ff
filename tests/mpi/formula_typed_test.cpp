// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 2

// Runs a net of formulas under a plan that is a constant expression, so that every tensor has its
// placement in its type, and under the same plan as a run-time value. The losses must be bitwise
// equal.

#include <doctest/doctest.h>
#include <support/nets.hpp>
#include <support/placed.hpp>

#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/formula_join.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/place.hpp>
#include <ashlar/nn/rms_norm.hpp>
#include <ashlar/nn/swiglu.hpp>
#include <ashlar/search/choices.hpp>
#include <ashlar/train/trainer.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace search = ashlar::search;

constexpr auto typed_net = nn::chain(nn::rms_norm(4), nn::swiglu(4, 3), nn::linear(4, 5));
constexpr nn::feature_batch typed_batch{5, 4};
constexpr auto typed_problem = nn::describe<double>(typed_net, typed_batch);

/// This plan splits the rows of the norm, the hidden features of the MLP, and the classes of the
/// last layer.
template <int N>
constexpr search::basic_plan<N> mixed_plan(search::basic_problem<N> const& net) {
  search::basic_plan<N> plan;
  plan.mesh = ashlar::topology{{"gpu", 2}};
  ashlar::axis_placement const y[] = {ashlar::split(0, 0), ashlar::partial(), ashlar::split(1, 0)};
  for (int i = 0; i < net.size(); ++i) {
    auto const all = search::layer_choices(net.spec(i), plan.mesh, search::trivial_axes::all_rows);
    int found = 0;
    for (int c = 0; c < static_cast<int>(all.size()); ++c)
      if (i < 3 && same_role(all[static_cast<std::size_t>(c)].y[0], y[i])) found = c;
    plan.choices.push_back(all[static_cast<std::size_t>(found)]);
  }
  plan.micro_batches = net.micro_batches;
  plan.input = net.spec(0).x;
  plan.problem_hash = search::hash(net);
  return plan;
}
constexpr auto typed_plan = mixed_plan(typed_problem);
static_assert(typed_plan[1].parameters[0].use[0].is_split_of(1));

/// A net with a branch whose outputs a formula joins. The branch is elements 0 to 4: its begin, a
/// linear layer, the turn to its second net, a linear layer and its end.
constexpr auto typed_branch = nn::chain(
    nn::branch(nn::linear(4, 6), nn::linear(4, 6),
               nn::formula("gate", [](auto u, auto v) { return silu(u) * v; })),
    nn::linear(6, 5));
constexpr auto branch_problem = nn::describe<double>(typed_branch, typed_batch);

/// This plan splits the hidden features of the branch.
template <int N>
constexpr search::basic_plan<N> split_branch(search::basic_problem<N> const& net) {
  search::basic_plan<N> plan;
  plan.mesh = ashlar::topology{{"gpu", 2}};
  for (int i = 0; i < net.size(); ++i) {
    bool const hidden = i == 1 || i == 3 || i == 4;
    search::layer_choice found;
    if (i != 2)
      for (auto const& c :
           search::layer_choices(net.spec(i), plan.mesh, search::trivial_axes::all_rows))
        if (same_role(c.y[0], hidden ? ashlar::split(1, 0) : ashlar::broadcast())) found = c;
    plan.choices.push_back(found);
  }
  plan.choices[2] = search::turn_between(plan[0], plan[4]);
  plan.micro_batches = net.micro_batches;
  plan.input = net.spec(0).x;
  plan.problem_hash = search::hash(net);
  return plan;
}
constexpr auto branch_plan = split_branch(branch_problem);
static_assert(branch_plan[4].x[0].is_split_of(1) && branch_plan[4].dx[0].is_split_of(1));

template <class Typed, class Plain>
void check_equal_losses(Typed& typed, Plain& run_time) {
  ashlar::train::trainer a(typed, ashlar::train::sgd{.lr = 0.1});
  ashlar::train::trainer b(run_time, ashlar::train::sgd{.lr = 0.1});
  double first = 0, last = 0;
  for (int step = 0; step < 3; ++step) {
    auto const data = random_batch<double>(typed_batch, 0, 5, 1);
    last = a.step(data).loss;
    if (step == 0) first = last;
    CHECK(b.step(data).loss == last);
  }
  CHECK(last < first);
}

}  // namespace

TEST_CASE("formulas under a constexpr plan have the bits of the same plan at run time") {
  ashlar::mesh const m(MPI_COMM_WORLD, typed_plan.mesh);
  auto typed = nn::place<double>(typed_net, m, nn::constant<typed_plan>, 3);
  auto run_time = nn::place<double>(typed_net, m, typed_plan, 3);
  check_equal_losses(typed, run_time);
}

TEST_CASE("a formula that joins a branch under a constexpr plan has the bits at run time") {
  ashlar::mesh const m(MPI_COMM_WORLD, branch_plan.mesh);
  auto typed = nn::place<double>(typed_branch, m, nn::constant<branch_plan>, 3);
  auto run_time = nn::place<double>(typed_branch, m, branch_plan, 3);
  check_equal_losses(typed, run_time);
}

}  // namespace ashlar_test
