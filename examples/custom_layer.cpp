// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Shows a user-defined layer in a few lines: y = gain * x, with a learned gain per feature. The
// layer is written as its formula. The library derives the gradient and all permitted placements of
// the layer from the operators of the formula. docs/04_a_layer.md writes the same layer by hand.
//
//   mpirun -n 4 custom_layer

#include <algorithm>
#include <iostream>

#include <ashlar/nn.hpp>
#include <ashlar/nn/formula.hpp>
#include <ashlar/search/explain.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/tensor.hpp>
#include <ashlar/train.hpp>

namespace nn = ashlar::nn;

constexpr auto gain(std::int64_t features) {
  return nn::formula(
      "gain", [](auto x, auto g) { return g * x; },
      nn::weight("gain", {features}, nn::all_equal(1)));
}

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  ashlar::mesh mesh(env.world(), {{"gpu", env.size()}});

  auto const net = nn::chain(nn::linear(64, 256), gain(256), nn::relu(), nn::linear(256, 10));
  auto const problem = nn::describe(net, nn::feature_batch{128, 64});
  auto const plan = ashlar::search::optimal(problem, mesh.topology(), mesh.machine());
  auto model = nn::place<float>(net, mesh, plan, 1);
  if (mesh.rank() == 0) std::cout << ashlar::search::explain(problem, plan, mesh.machine()) << '\n';
  ashlar::train::trainer trainer(model, ashlar::train::adam_w{.lr = 3e-3});

  // There are ten classes: the class of a row is the index of the largest of its first ten
  // features.
  ashlar::train::batch_data<float> batch;
  batch.inputs.resize(128 * 64);
  ashlar::device::host::fill_normal<float>(5, 0, 0, 128 * 64, 0.0f, 1.0f, batch.inputs.data());
  for (int row = 0; row < 128; ++row) {
    auto const* x = batch.inputs.data() + 64 * row;
    batch.targets.push_back(static_cast<std::int32_t>(std::max_element(x, x + 10) - x));
  }
  for (int step = 0; step < 100; ++step) {
    auto const report = trainer.step(batch);
    if (mesh.rank() == 0 && step % 20 == 0) std::cout << report << '\n';
  }
}
