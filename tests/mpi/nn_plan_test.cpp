// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8
// thorough: ASHLAR_BOTH_MACHINES=on 6 8

// Tests the central guarantee of the library with random legal plans: each training step has the
// loss of a single-process run, and performs exactly the collectives that search::schedule
// predicts. The networks are a perceptron, a net with skips, a net with branches and a GPT.

#include <doctest/doctest.h>
#include <support/placed.hpp>
#include <support/training_trial.hpp>

#include <ashlar/nn/branch.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/skip.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;

/// Tries `count` random plans on each mesh of all_meshes_of_two_machines. The planner chooses
/// different redistributions for the two machines.
template <class Net, class Batch>
void try_random_plans(Net const& net, Batch const& batch, int vocabulary, int classes, int count) {
  unsigned seed = 0;
  for (auto const& m : all_meshes_of_two_machines()) {
    training_trial<Net, Batch> it(net, batch, m, vocabulary, classes);
    std::mt19937 random(++seed);
    for (int i = 0; i < count; ++i) {
      auto const wrong = it.wrong_with(it.plans().random(random));
      CHECK_MESSAGE(wrong == "", wrong);
    }
  }
}

}  // namespace

TEST_CASE("random plans of a perceptron") {
  auto const net = nn::chain(nn::linear(6, 10), nn::gelu(), nn::dropout(0.2),
                             nn::residual(nn::linear(10, 10)), nn::layer_norm(10), nn::relu(),
                             nn::linear(10, 7, false));
  try_random_plans(net, nn::feature_batch{5, 6, 2}, 0, 7, 12);
}

TEST_CASE("random plans of a net with skips") {
  auto const net = nn::chain(
      nn::linear(6, 5),
      nn::skip(nn::chain(nn::linear(5, 4), nn::skip(nn::gelu()), nn::residual(nn::linear(8, 8)))),
      nn::layer_norm(13), nn::linear(13, 7));
  try_random_plans(net, nn::feature_batch{5, 6, 2}, 0, 7, 12);
}

TEST_CASE("random plans of a net with branches") {
  auto const gated = nn::branch(nn::linear(6, 5), nn::chain(nn::linear(6, 5), nn::gelu()),
                                nn::join::multiply);
  auto const net = nn::chain(
      gated, nn::branch(nn::residual(nn::linear(5, 5)), nn::linear(5, 4), nn::join::concat<1>),
      nn::branch(nn::linear(9, 7), nn::chain(nn::layer_norm(9), nn::linear(9, 7)), nn::join::add));
  try_random_plans(net, nn::feature_batch{5, 6, 2}, 0, 7, 2);
}

TEST_CASE("random plans of a GPT") {
  auto const net = nn::chain(nn::embedding(11, 6), nn::repeat(2, nn::gpt_block(6, 3, 0.1)),
                             nn::layer_norm(6), nn::linear(6, 11));
  try_random_plans(net, nn::token_batch{3, 5, 2}, 11, 11, 6);
}

}  // namespace ashlar_test
