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
  gradient_check(rows_net, nn::feature_batch{5, 4, 2}, 0, 6).run(6);
}

TEST_CASE("what is kept and the temporaries of passes need the memory that a plan predicts") {
  auto const net = nn::chain(nn::linear(24, 32), nn::rms_norm(32), nn::swiglu(32, 80), mlp(32, 96),
                             nn::linear(32, 20));
  nn::feature_batch const batch{400, 24, 2};
  auto const problem = any_length(nn::describe<double>(net, batch, 0));  // no optimizer states
  auto const data = random_batch<double>(batch, 0, 20, 1);
  auto const& machine = ashlar::machines::workstation;
  for (auto const& t : world_topologies()) {
    if (t.axes() > 2) continue;
    for (auto const& plan : {search::data_parallel(problem, t, machine),
                             search::tensor_parallel(problem, t, machine)}) {
      ashlar::mesh const m(MPI_COMM_WORLD, t);
      auto model = nn::place<double>(net, m, plan);
      accumulate_step(model, data);
      m.memory().reset_peak();
      accumulate_step(model, data);
      auto peak = static_cast<std::int64_t>(m.memory().peak_bytes());
      MPI_Allreduce(MPI_IN_PLACE, &peak, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
      CAPTURE(describe(problem, plan));
      CAPTURE(plan.memory);
      CAPTURE(peak);
      CHECK(double(peak) <= 1.1 * double(plan.memory));
      CHECK(double(peak) >= 0.6 * double(plan.memory));
    }
  }
}

TEST_CASE("a formula is the first layer, with and without weights that its gradients read") {
  gradient_check(nn::chain(mlp(4, 3), nn::linear(4, 5)), nn::feature_batch{3, 4}, 0, 5).run(6);
}

TEST_CASE(
    "a block as in Llama trains alike under searched and given plans, with the planned bytes") {
  nn::token_batch const batch{5, 4, 2};
  for (auto const& m : all_meshes(bandwidth_bound)) {
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
    for (int i = 0; i < 2; ++i) {
      auto const wrong = it.wrong_with(it.plans().random(random));
      CHECK_MESSAGE(wrong == "", wrong);
    }
  }
}

}  // namespace ashlar_test
