// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Trains a multilayer perceptron with a layout that the compiler finds. The search runs while this
// file is compiled, and the type of every tensor of the model contains its placement. Run it on
// four ranks:
//
//   mpirun -n 4 typed_mlp

#include <iostream>
#include <random>

#include <ashlar/nn.hpp>
#include <ashlar/search/explain.hpp>
#include <ashlar/search/in_compiler.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/tensor.hpp>
#include <ashlar/train.hpp>

namespace nn = ashlar::nn;

constexpr ashlar::topology mesh_shape{{"node", 2}, {"gpu", 2}};
constexpr ashlar::machine machine = ashlar::machines::workstation;

constexpr auto net = nn::chain(nn::linear(64, 256), nn::gelu(), nn::linear(256, 256), nn::gelu(),
                               nn::linear(256, 10));
constexpr auto problem = nn::describe(net, nn::feature_batch{256, 64});
constexpr auto plan = ashlar::search::optimal(problem, mesh_shape, machine);

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  ashlar::mesh mesh(env.world(), mesh_shape, machine);
  auto model = nn::place<float>(net, mesh, nn::constant<plan>, 1);
  ashlar::train::trainer trainer(model, ashlar::train::adam_w{.lr = 3e-3}, {.clip = 1.0});

  if (mesh.rank() == 0) std::cout << ashlar::search::explain(problem, plan, machine) << '\n';

  // The data are points around ten centres in 64 dimensions. The model learns to which centre a
  // point belongs.
  std::mt19937 random(7);
  std::normal_distribution<float> noise(0, 1);
  std::vector<float> centres(10 * 64);
  for (auto& c : centres) c = noise(random);
  for (int step = 0; step < 50; ++step) {
    ashlar::train::batch_data<float> batch;
    for (int row = 0; row < 256; ++row) {
      int const label = static_cast<int>(random() % 10);
      for (int i = 0; i < 64; ++i)
        batch.inputs.push_back(centres[static_cast<std::size_t>(64 * label + i)] +
                               2 * noise(random));
      batch.targets.push_back(label);
    }
    auto const report = trainer.step(batch);
    if (mesh.rank() == 0 && step % 10 == 0) std::cout << report << '\n';
  }
}
