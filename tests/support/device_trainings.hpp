// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Trains small GPTs, on ranks with one device each and on one rank of the host, and compares the
// results. The trainings run on a real device (tests/cuda) and on the fake device
// (tests/cuda/fake).

#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <mpi.h>
#include <support/nets.hpp>
#include <support/plans.hpp>

#include <ashlar/nn/gpt.hpp>

namespace ashlar_test {

namespace nn = ashlar::nn;

/// Returns a GPT from tokens in [0, 7) to 7 logits, with dropout.
inline auto small_gpt(int blocks) {
  return nn::chain(nn::embedding(7, 6), nn::repeat(blocks, nn::gpt_block(6, 3, 0.2)),
                   nn::layer_norm(6), nn::linear(6, 7));
}
/// The same GPT, but its last layer shares the embedding's table.
inline auto tied_gpt(int blocks) {
  return nn::tied(nn::embedding(7, 6), nn::repeat(blocks, nn::gpt_block(6, 3, 0.2)),
                  nn::layer_norm(6), nn::output_embedding(6, 7));
}

/// The results of a training, as one rank sees them.
struct trained_net {
  std::vector<double> losses;                             ///< the loss of each step
  std::vector<double> norms;                              ///< the gradient norm of each step
  std::vector<double> predicted;                          ///< after the training
  std::map<std::string, std::vector<double>> parameters;  ///< whole parameters that the rank reads
};

/// Trains a model of a GPT (small_gpt or tied_gpt) for three steps. Calls after_step(trainer) after
/// each of them. Communicates.
template <class Model, class Optimizer, class AfterStep>
trained_net trained(Model& model, nn::token_batch const& batch, Optimizer const& optimizer,
                    ashlar::train::trainer_options const& options, AfterStep const& after_step) {
  ashlar::train::trainer trainer(model, optimizer, options);
  trained_net made;
  for (unsigned step = 0; step < 3; ++step) {
    auto const report = trainer.step(random_batch<std::int32_t>(batch, 7, 7, step, 4));
    made.losses.push_back(report.loss);
    made.norms.push_back(report.gradient_norm);
    after_step(trainer);
  }
  auto one = batch;
  one.micro_batches = 1;
  auto const predicted = model.predict(random_batch<std::int32_t>(one, 7, 7, 9, 4).inputs);
  made.predicted.assign(predicted.begin(), predicted.end());
  using T = ashlar::accumulation_t<typename Model::value_type>;
  model.for_each_parameter([&](auto const& p) {
    auto const values = ashlar::to_full<T>(p.value());
    if (p.value().mesh().is_here()) made.parameters[p.path()].assign(values.begin(), values.end());
  });
  return made;
}

/// The optimizer of trainings that are compared with the host's. Its updates are proportional to
/// the gradients. With AdamW, gradients that differ only by rounding errors, such as the gradients
/// of the biases of attention keys, would lead to very different parameters. With a larger learning
/// rate, rounding errors would grow tenfold in each step.
inline constexpr ashlar::train::sgd plain_descent{.lr = 0.005, .momentum = 0.9};

/// Trains a GPT on one rank of the host, in float. MPI must be initialized.
template <class Net>
trained_net trained_on_host(Net const& net, nn::token_batch const& batch,
                            ashlar::train::trainer_options const& options) {
  ashlar::mesh const m(MPI_COMM_SELF, {{"gpu", 1}});
  auto const problem = any_length(nn::describe<float>(net, batch));
  auto model = nn::place<float>(net, m, plan_source(problem, m).whole(), 5);
  return trained(model, batch, plain_descent, options, [](auto const&) {});
}

/// Checks that losses agree with the host's losses, relative to themselves.
inline void check_losses(trained_net const& made, trained_net const& host, double tolerance) {
  CHECK(made.losses.size() == host.losses.size());
  for (std::size_t k = 0; k < std::min(made.losses.size(), host.losses.size()); ++k) {
    CAPTURE(k);
    CHECK(made.losses[k] == doctest::Approx(host.losses[k]).epsilon(tolerance));
  }
}

/// Checks that results agree with the host's results: losses relative to themselves, predictions
/// and each parameter relative to their largest value. Gradient norms may differ ten times as much,
/// because the layer norms after small embeddings amplify rounding errors of parameters.
inline void check_as_on_host(trained_net const& made, trained_net const& host, double tolerance) {
  check_losses(made, host, tolerance);
  for (std::size_t k = 0; k < std::min(made.norms.size(), host.norms.size()); ++k) {
    CAPTURE(k);
    CHECK(made.norms[k] == doctest::Approx(host.norms[k]).epsilon(10 * tolerance));
  }
  CHECK(difference({made.predicted}, {host.predicted}) < tolerance);
  CHECK(!made.parameters.empty());
  for (auto const& one : made.parameters) {
    CAPTURE(one.first);
    CHECK(difference({one.second}, {host.parameters.at(one.first)}) < tolerance);
  }
}

/// Checks that results are bitwise equal to others. `made` may have fewer parameters.
inline void check_same_bits(trained_net const& made, trained_net const& others) {
  CHECK(made.losses == others.losses);
  CHECK(made.norms == others.norms);
  CHECK(made.predicted == others.predicted);
  CHECK(!made.parameters.empty());
  for (auto const& one : made.parameters) {
    CAPTURE(one.first);
    CHECK(one.second == others.parameters.at(one.first));
  }
}

}  // namespace ashlar_test
