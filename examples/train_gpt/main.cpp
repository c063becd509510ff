// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Trains a byte-level GPT on a text, on a mesh of MPI ranks, with the layout that the search finds.
//
//   mpirun -n 4 train_gpt --mesh node=2,gpu=2 --layout auto --steps 200 --sample 300

#include <cstdio>
#include <iostream>
#include <string>

#include <ashlar/ashlar.hpp>

#include "generate.hpp"
#include "layout.hpp"
#include "options.hpp"
#include "text.hpp"

namespace nn = ashlar::nn;
namespace train = ashlar::train;

namespace {

void run(example::options const& o, ashlar::mpi::environment const& env) {
  auto const topology = ashlar::parse_topology(o.mesh.empty() ? "gpu=" + std::to_string(env.size())
                                                              : o.mesh);
  auto const machine = example::choose_machine(o);
  ashlar::mesh const mesh(env.world(), topology, machine);
  bool const speaks = mesh.rank() == 0;
  if (o.prompt.empty()) throw ashlar::error("--prompt", "a sample needs a first byte to continue.");

  example::byte_batches const data(example::load_text(o.text, ASHLAR_PROJECT_DIR),
                                   std::int64_t{o.batch} * o.micro_batches, o.context, o.seed);

  constexpr int vocabulary = 256;
  auto const net = nn::chain(nn::embedding(vocabulary, o.d_model),
                             nn::repeat(o.layers, nn::gpt_block(o.d_model, o.heads, o.dropout)),
                             nn::layer_norm(o.d_model), nn::linear(o.d_model, vocabulary));
  auto const problem = nn::describe(net, nn::token_batch{o.batch, o.context, o.micro_batches});
  auto const plan = example::choose_layout(o, problem, topology, machine);
  auto model = nn::place<float>(net, mesh, plan, o.seed);

  if (speaks)
    std::cout << "GPT with " << model.parameter_count() << " parameters: " << o.layers
              << " layers, d-model " << o.d_model << ", " << o.heads << " heads, context "
              << o.context << "; batch " << o.batch << " x " << o.micro_batches << "; text of "
              << data.size() << " bytes\nlayout " << o.layout << "\n\n"
              << example::report_layout(o, problem, plan, machine) << std::endl;

  train::trainer trainer(
      model, train::adam_w{.lr = o.lr, .weight_decay = o.weight_decay},
      {.clip = o.clip, .schedule = train::warmup_cosine{o.warmup, o.steps, 0.1}});
  for (int step = 0; step < o.steps; ++step) {
    auto const report = trainer.step(data(step));
    if (!speaks) continue;
    if (o.exact_log) std::printf("loss[%d] = %.9g\n", step, report.loss);
    else if (step % o.every == 0 || step + 1 == o.steps) std::cout << report << std::endl;
  }

  if (o.sample > 0) {
    auto const text = example::generate(model, o.prompt, o.sample, o.temperature, o.seed);
    if (speaks) std::cout << "\n---- a sample of what it learned ----\n" << text << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  std::optional<int> exit_code;
  auto const o = example::parse_options(argc, argv, env.rank() == 0, exit_code);
  if (exit_code) return *exit_code;
  run(o, env);
}
