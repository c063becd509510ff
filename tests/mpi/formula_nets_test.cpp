// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests layers that are written as formulas, as parts of nets. Their gradients are compared with
// finite differences, random plans with one process, and searched plans with their predictions.
// Extents are not divisible by the extents of the mesh axes, so shards are uneven, and some empty.

#include <doctest/doctest.h>
#include <support/gradients.hpp>
#include <support/training_trial.hpp>

#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/rms_norm.hpp>
#include <ashlar/nn/swiglu.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/optimal.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;

constexpr auto zero = nn::all_equal(0);

/// One MLP of two products with biases, as one layer.
constexpr auto mlp(std::int64_t features, std::int64_t hidden) {
  return nn::formula(
      "mlp",
      [](auto x, auto in, auto in_bias, auto out, auto out_bias) {
        return matmul(gelu(matmul(x, in) + in_bias), out) + out_bias;
      },
      nn::weight("in", {features, hidden}), nn::weight("in_bias", {hidden}, zero),
      nn::weight("out", {hidden, features}), nn::weight("out_bias", {features}, zero));
}

auto const rows_net = nn::chain(nn::linear(4, 5), nn::rms_norm(5), mlp(5, 7), nn::swiglu(5, 3),
                                nn::linear(5, 6));
auto const tokens_net = nn::chain(
    nn::embedding(11, 6), nn::residual(nn::chain(nn::rms_norm(6), nn::self_attention(6, 3))),
    nn::residual(nn::chain(nn::rms_norm(6), nn::swiglu(6, 5))), nn::rms_norm(6),
    nn::linear(6, 11, false));

}  // namespace

TEST_CASE("formulas on rows: gradients, and random plans against one process") {
  gradient_check(rows_net, nn::feature_batch{5, 4, 2}, 0, 6).run(10);
}

TEST_CASE("a formula is the first layer, with and without weights that its gradients read") {
  gradient_check(nn::chain(mlp(4, 3), nn::linear(4, 5)), nn::feature_batch{3, 4}, 0, 5).run(6);
}

TEST_CASE(
    "a block as in Llama trains alike under searched and given plans, with the planned bytes") {
  nn::token_batch const batch{5, 4, 2};
  for (auto const& m : all_meshes_of_two_machines()) {
    auto const& t = m.topology();
    if (t.axes() > 2) continue;  // on three axes, a search takes seconds
    training_trial it(tokens_net, batch, m, 11, 11);
    for (auto const& plan : {search::optimal(it.problem(), t, m.machine()),
                             search::data_parallel(it.problem(), t, m.machine()),
                             search::tensor_parallel(it.problem(), t, m.machine()),
                             search::zero_3(it.problem(), t, m.machine())}) {
      auto const wrong = it.wrong_with(plan);
      CHECK_MESSAGE(wrong == "", wrong);
    }
    std::mt19937 random(5);
    for (int i = 0; i < 4; ++i) {
      auto const wrong = it.wrong_with(it.plans().random(random));
      CHECK_MESSAGE(wrong == "", wrong);
    }
  }
}

}  // namespace ashlar_test
