// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Trains small nets whose layers are written by hand, and the same nets with formulas in place of
// these layers, under the same plans. If a formula does the same arithmetic as the layer that it
// replaces, the losses and gradient norms of three steps must be bitwise equal.

#include <random>
#include <vector>

#include <doctest/doctest.h>
#include <support/formula_layers.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

#include <ashlar/nn/chain.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;

nn::feature_batch const one_batch{5, 4}, two_batches{5, 4, 2};

template <class Hand, class Formula>
void check_bits(Hand const& hand, Formula const& formula, nn::feature_batch const& batch) {
  auto const problem = any_length(nn::describe<float>(hand, batch));
  auto const same = any_length(nn::describe<float>(formula, batch));
  std::mt19937 random(7);
  for (auto const& m : all_meshes()) {
    plan_source const plans(problem, m);
    for (int turn = 0; turn < 3; ++turn) {
      auto plan = turn == 0 ? plans.whole() : plans.random(random);
      CAPTURE(describe(problem, plan));
      auto const expected = steps_with(hand, batch, m, plan);
      plan.problem_hash = search::hash(same);
      CHECK(steps_with(formula, batch, m, plan) == expected);
      CHECK(expected[0] != expected[2]);
    }
  }
}

}  // namespace

TEST_CASE("relu and gelu as formulas have the bits of the layers") {
  auto const net = [](auto first, auto second) {
    return nn::chain(nn::linear(4, 6), first, nn::linear(6, 6), second, nn::linear(6, 5));
  };
  check_bits(net(nn::relu(), nn::gelu()), net(as_formula::relu(), as_formula::gelu()), two_batches);
}

TEST_CASE("silu, tanh and sigmoid as formulas have the bits of the layers") {
  namespace device = ashlar::device;
  auto const net = [](auto first, auto second, auto third) {
    return nn::chain(nn::linear(4, 6), first, nn::linear(6, 6), second, nn::linear(6, 7), third,
                     nn::linear(7, 5));
  };
  check_bits(net(nn::activation<device::silu>(), nn::activation<device::hyperbolic_tangent>(),
                 nn::activation<device::logistic>()),
             net(as_formula::silu(), as_formula::tanh(), as_formula::sigmoid()), two_batches);
}

TEST_CASE("flatten as a formula has the bits of the layer") {
  auto const parts = nn::formula("parts", [](auto x) { return split_dim(x, 1, {2, 3}); });
  auto const net = [&](auto flat) {
    return nn::chain(nn::linear(4, 6), parts, flat, nn::linear(6, 5));
  };
  check_bits(net(nn::flatten()), net(as_formula::flatten()), two_batches);
}

TEST_CASE("products and the output embedding as formulas have the bits of the layers") {
  check_bits(nn::chain(nn::linear(4, 6, false), nn::gelu(), nn::output_embedding(6, 5)),
             nn::chain(as_formula::product(4, 6), nn::gelu(), as_formula::output_embedding(6, 5)),
             two_batches);
}

// nn::linear adds each row of dy to the gradient of the bias. The formula first adds up all rows of
// dy, and then adds this sum to the gradient. So the two gradients are bitwise equal after the
// first micro-batch, but not after later ones. The test therefore has one micro-batch. With 8
// features, each of at most four ranks has two features or more. If a rank had a single feature,
// its rows would be contiguous, and they would be added in another order.
TEST_CASE("linear layers with a bias as formulas have the bits of the layers") {
  check_bits(nn::chain(nn::linear(4, 8), nn::gelu(), nn::linear(8, 8)),
             nn::chain(as_formula::linear(4, 8), nn::gelu(), as_formula::linear(8, 8)), one_batch);
}

}  // namespace ashlar_test
