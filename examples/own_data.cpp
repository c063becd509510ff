// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Trains a small GPT on a file of tokens. The file is a .bin file of nanoGPT or llm.c, a .npy array
// of integers, or any other file, whose bytes are then the tokens. Each rank reads the part of a
// batch that it needs. If the program is started again, it continues from the last saved step.
//
//   mpirun -n 4 own_data train.bin run 100

#include <cstdlib>
#include <iostream>

#include <ashlar/ashlar.hpp>
#include <ashlar/checkpoint/training.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/train/loader.hpp>

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  if (argc != 4) {
    if (env.rank() == 0) std::cerr << "usage: own_data TOKENS FOLDER STEPS\n";
    return 2;
  }
  std::string const file = argv[1], folder = argv[2];
  int const steps = std::atoi(argv[3]);

  namespace nn = ashlar::nn;
  int const vocabulary = 50304, width = 64;
  auto const net = nn::chain(nn::embedding(vocabulary, width),
                             nn::repeat(2, nn::gpt_block(width, 4)), nn::layer_norm(width),
                             nn::linear(width, vocabulary));
  ashlar::mesh const mesh(env.world(), {{"gpu", env.size()}});
  auto const problem = nn::describe<float>(net, nn::token_batch{.sequences = 8, .length = 64});
  auto const plan = ashlar::search::optimal(problem, mesh.topology(), mesh.machine());
  auto model = nn::place<float>(net, mesh, plan, 1);
  ashlar::train::trainer trainer(model, ashlar::train::adam_w{.lr = 1e-3});

  ashlar::train::loader data(trainer, file, {.seed = 1});
  if (auto const index = ashlar::checkpoint::resume(folder, trainer)) data.check(index->metadata);
  while (trainer.steps_done() < steps) {
    auto const report = trainer.step(data.batch(trainer.steps_done()));
    if (mesh.rank() == 0) std::cout << report << '\n';
  }
  ashlar::checkpoint::save(folder, trainer, {.metadata = data.describe(trainer.steps_done())});
}
