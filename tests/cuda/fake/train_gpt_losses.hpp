// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Trains a small GPT as examples/train_gpt does, on the host and on fake GPU ranks (fake_cuda.hpp).
// The losses of up to 50 steps must agree for every mesh and plan that a test gives. If the losses
// differ, a layer may have accessed a shard in host code, or may have submitted work to the device
// in the wrong order.

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>
#include <support/device_instances.hpp>
#include <support/worse_gap.hpp>

#include <ashlar/comm/mpi/environment.hpp>
#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/place.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/pipeline.hpp>
#include <ashlar/train/trainer.hpp>

#include "../../../examples/train_gpt/text.hpp"
#include "fake_ranks.hpp"
#include "recorded_ranges.hpp"

namespace ashlar_test {
namespace nn = ashlar::nn;
namespace search = ashlar::search;

constexpr int layers = 2, features = 16, heads = 2, context = 8, batch = 4, micro_batches = 2;

inline auto gpt(double dropout) {
  return nn::chain(nn::embedding(256, features),
                   nn::repeat(layers, nn::gpt_block(features, heads, dropout)),
                   nn::layer_norm(features), nn::linear(features, 256));
}

template <class T>
search::problem problem_of(double dropout) {
  return any_length(nn::describe<T>(gpt(dropout), nn::token_batch{batch, context, micro_batches}));
}

/// Trains on the text of this source file, as train_gpt does, and returns the loss of each step.
/// The plan may be a plan in pipeline stages.
template <class T, class Mesh, class Plan>
std::vector<double> losses_under(Mesh const& mesh, Plan const& plan, double dropout, int steps) {
  example::byte_batches const data(example::load_text(mesh, __FILE__, {}), batch * micro_batches,
                                   context, 1);
  auto model = nn::place<T>(gpt(dropout), mesh, plan, 1);
  ashlar::train::trainer trainer(model, ashlar::train::adam_w{.lr = 1e-3}, {.clip = 1.0});
  std::vector<double> all;
  for (int step = 0; step < steps; ++step) all.push_back(trainer.step(data(step)).loss);
  return all;
}
template <class T, class Mesh>
std::vector<double> losses(Mesh const& mesh, bool tensor_parallel, double dropout, int steps = 50) {
  auto const problem = problem_of<T>(dropout);
  auto const plan = tensor_parallel
                        ? search::tensor_parallel(problem, mesh.topology(), mesh.machine())
                        : search::data_parallel(problem, mesh.topology(), mesh.machine());
  return losses_under<T>(mesh, plan, dropout, steps);
}
/// Trains in two pipeline stages, as train_gpt does with the option --pipeline 2, and returns the
/// loss of each step.
template <class T, class Mesh>
std::vector<double> losses_in_stages(Mesh const& mesh, double dropout, int steps) {
  auto const plan = search::pipeline([&](int) { return problem_of<T>(dropout); }, mesh.topology(),
                                     mesh.machine(),
                                     {.stages = {2}, .micro_batches = {micro_batches}});
  return losses_under<T>(mesh, plan, dropout, steps);
}

struct host_run {
  std::vector<double> plain, with_dropout;
};

/// Returns the losses of trainings on one rank of the host, without and with dropout. The first
/// call trains. It also initializes and finalizes MPI, because the rest of the program does not use
/// MPI.
inline host_run const& host_losses() {
  static host_run const done = [] {
    int argc = 0;
    char** argv = nullptr;
    ashlar::mpi::environment const env(argc, argv);
    ashlar::mesh const one(MPI_COMM_SELF, {{"gpu", 1}});
    return host_run{losses<float>(one, false, 0), losses<float>(one, false, 0.1)};
  }();
  return done;
}

inline double largest_difference(std::vector<double> const& a, std::vector<double> const& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = worse_gap(worst, std::abs(a[i] - b[i]) / b[i]);
  return worst;
}

/// Trains with `losses_on(mesh)` on fake GPU ranks. Each loss must differ from the host's loss by
/// less than `tolerance`, relative to the host's loss.
template <class LossesOn>
void compare_losses(ashlar::topology const& t, double dropout, double tolerance, int steps,
                    LossesOn const& losses_on) {
  auto expected = dropout == 0 ? host_losses().plain : host_losses().with_dropout;
  expected.resize(static_cast<std::size_t>(steps));
  fake::all_ranks(t.ranks(), [&](ashlar::nccl::world const& w) {
    double const worst = largest_difference(losses_on(ashlar::nccl::mesh(w, t)), expected);
    if (w.rank() == 0) MESSAGE(to_string(t) << ": largest relative difference " << worst);
    CHECK(worst < tolerance);
  });
}
template <class T>
void compare(ashlar::topology const& t, bool tensor_parallel, double dropout, double tolerance,
             int steps = 50) {
  compare_losses(t, dropout, tolerance, steps, [&](auto const& mesh) {
    return losses<T>(mesh, tensor_parallel, dropout, steps);
  });
}
template <class T>
void compare_in_stages(ashlar::topology const& t, double dropout, double tolerance, int steps) {
  compare_losses(t, dropout, tolerance, steps,
                 [&](auto const& mesh) { return losses_in_stages<T>(mesh, dropout, steps); });
}

}  // namespace ashlar_test
