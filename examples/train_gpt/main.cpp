// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Trains a byte-level GPT or Llama on a text. It runs on a mesh of MPI ranks or of GPUs, with the
// placements that the search finds.
//
//   mpirun -n 4 train_gpt --mesh node=2,gpu=2 --layout auto --steps 200 --sample 300
//   mpirun -n 8 train_gpt --device cuda --precision bf16 --model gpt2 --batch 64

#include "cuda.hpp"
#include "train.hpp"

int main(int argc, char** argv) {
  example::options o;
  auto const farewell = example::parse_options(argc, argv, o);
  if (!farewell && o.device == "cuda") {
    example::run_on_cuda(o, argc, argv);
    return 0;
  }
  ashlar::mpi::environment env(argc, argv);
  if (farewell) return farewell->say(env.rank() == 0);
  auto const machine = example::choose_machine(o, ashlar::machines::workstation);
  ashlar::mesh const mesh(env.world(), example::choose_mesh(o, env.size()), machine);
  example::peak limit{o.peak_flops, "--peak-flops"};
  if (limit.flops == 0 && !o.machine.empty()) limit = {machine.flops, o.machine};
  example::train<float>(o, mesh, limit);
}
