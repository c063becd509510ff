// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares the time of a training step of a GPT with a lower bound. The bound is the time of the
// step's GEMMs at the speed of a large sgemm. That sgemm runs on all ranks at once. Steps and
// sgemms are measured in turns.
//
//   mpirun -n 1 bench/train_step            d-model 512, 4 layers, context 256, batch 8
//   mpirun -n 2 bench/train_step            the same batch on two ranks, with the searched plan
//   bench/train_step LAYERS D_MODEL HEADS CONTEXT BATCH LAYOUT     (auto, data or tensor)

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <ashlar/ashlar.hpp>
#include <ashlar/device/host/blas_speed.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/optimal.hpp>

#include "support/clock.hpp"

namespace nn = ashlar::nn;
namespace search = ashlar::search;

namespace {

using ashlar_bench::median_of, ashlar_bench::now;

/// Returns the seconds of one sgemm of order n, which runs on every rank at once.
double sgemm_seconds(ashlar::mesh const& mesh, std::int64_t n, std::vector<float>& a,
                     std::vector<float>& b, std::vector<float>& c) {
  mesh.barrier();
  double const start = now();
  ashlar::device::host::gemm(false, false, n, n, n, 1.0f, a.data(), n, b.data(), n, 0.0f, c.data(),
                             n);
  return now() - start;
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  auto const number = [&](int i, int fallback) { return argc > i ? std::atoi(argv[i]) : fallback; };
  int const layers = number(1, 4), d = number(2, 512), heads = number(3, 8);
  int const context = number(4, 256), batch = number(5, 8);
  std::string const layout = argc > 6 ? argv[6] : "auto";

  ashlar::mesh const mesh(env.world(), {{"gpu", env.size()}});
  constexpr int vocabulary = 256;
  auto const net = nn::chain(nn::embedding(vocabulary, d),
                             nn::repeat(layers, nn::gpt_block(d, heads)), nn::layer_norm(d),
                             nn::linear(d, vocabulary));
  search::problem const problem = nn::describe(net, nn::token_batch{batch, context});
  auto const plan = layout == "data"
                        ? search::data_parallel(problem, mesh.topology(), mesh.machine())
                    : layout == "tensor"
                        ? search::tensor_parallel(problem, mesh.topology(), mesh.machine())
                        : search::optimal(problem, mesh.topology(), mesh.machine());
  auto model = nn::place<float>(net, mesh, plan, 1);
  ashlar::train::trainer trainer(model, ashlar::train::adam_w{.lr = 1e-4}, {.clip = 1.0});

  ashlar::train::batch_data<> data;
  for (int i = 0; i < batch * context; ++i) {
    data.inputs.push_back(i * 7 % vocabulary);
    data.targets.push_back((i * 7 + 7) % vocabulary);
  }
  double flops = 0;
  for (int i = 0; i < problem.size(); ++i)
    flops += problem.spec(i).forward_flops + problem.spec(i).backward_flops;

  std::int64_t const order = 1024;
  std::vector<float> a(static_cast<std::size_t>(order * order), 0.5f), b = a, c = a;
  trainer.step(data);
  sgemm_seconds(mesh, order, a, b, c);
  std::vector<double> steps, gemms, shares;
  for (int trial = 0; trial < 7; ++trial) {
    for (int i = 0; i < 3; ++i) gemms.push_back(sgemm_seconds(mesh, order, a, b, c));
    auto const report = trainer.step(data);
    steps.push_back(report.seconds);
    shares.push_back(report.communication_share);
  }
  double const roof = 2.0 * double(order * order * order) / median_of(gemms) * env.size();
  double const step = median_of(steps), ideal = flops / roof;
  if (mesh.rank() == 0) {
    std::cerr << ashlar::device::host::slow_blas_warning();
    std::printf(
        "ranks %d, layout %s, %d layers, d-model %d, context %d, batch %d\n"
        "sgemm roof, all ranks at once   %8.1f GF/s\n"
        "GEMMs of one step               %8.1f GFLOP\n"
        "GEMMs alone at the roof         %8.4f s\n"
        "training step                   %8.4f s   (%.0f tokens/s, %.1f %% in communication)\n"
        "share of the roof               %8.1f %%\n",
        env.size(), layout.c_str(), layers, d, context, batch, roof / 1e9, flops / 1e9, ideal, step,
        batch * context / step, 100 * median_of(shares), 100 * ideal / step);
  }
}
