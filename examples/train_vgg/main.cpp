// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Trains a small VGG13 on images that it draws itself, with the layout that the search finds.
//
//   mpirun -n 4 train_vgg --mesh node=2,gpu=2 --layout auto

#include <algorithm>
#include <cstdio>
#include <iostream>

#include <CLI/CLI.hpp>

#include <ashlar/ashlar.hpp>
#include <ashlar/io/json/machine_file.hpp>
#include <ashlar/nn/vgg.hpp>

#include "shapes.hpp"

namespace nn = ashlar::nn;
namespace search = ashlar::search;
namespace train = ashlar::train;

namespace {

struct options {
  std::string mesh, layout = "auto", machine = "workstation";
  int image = 32, width = 8, hidden = 64, batch = 32, steps = 300, every = 10, samples = 512;
  double lr = 2e-3, noise = 0.1;
  std::uint64_t seed = 1;
  bool exact_log = false;
};

void add_options(CLI::App& app, options& o) {
  auto const number = [&](char const* name, int& value, int least, char const* help) {
    app.add_option(name, value, help)->check(CLI::Range(least, 1 << 20))->capture_default_str();
  };
  app.add_option("--mesh", o.mesh, "named axes such as node=2,gpu=2 (default: gpu=RANKS)");
  app.add_option("--layout", o.layout, "auto (searched), data or tensor")
      ->check(CLI::IsMember({"auto", "data", "tensor"}))
      ->capture_default_str();
  app.add_option("--machine", o.machine,
                 "machine that plans are priced with: a file (bench/calibrate) or h200_server, ...")
      ->capture_default_str();
  number("--image", o.image, 32, "rows and columns of an image");
  number("--width", o.width, 1, "channels of the first stage; 64 in the published net");
  number("--hidden", o.hidden, 1, "features of the linear layers; 4096 in the published net");
  number("--batch", o.batch, 1, "images in a step, all ranks together");
  number("--steps", o.steps, 1, "training steps");
  number("--every", o.every, 1, "steps between progress lines");
  number("--samples", o.samples, 0, "new images to be classified at the end, about");
  app.add_option("--lr", o.lr, "peak learning rate")->check(CLI::NonNegativeNumber);
  app.add_option("--noise", o.noise, "deviation of the noise")->check(CLI::NonNegativeNumber);
  app.add_option("--seed", o.seed, "of parameters and images")->capture_default_str();
  app.add_flag("--exact-log", o.exact_log, "print every loss with all its digits");
}

/// The part of new images that the model classifies right. Every rank gets the same number.
template <class Model>
double accuracy(Model& model, options const& o) {
  int const batches = (o.samples + o.batch - 1) / o.batch;
  std::size_t right = 0, all = 0;
  for (int i = 0; i < batches; ++i) {
    auto const data = example::shape_images(o.batch, o.image, o.noise, o.seed, -1 - i);
    auto const logits = model.predict(data.inputs);
    auto const classes = logits.size() / data.targets.size();
    for (std::size_t s = 0; s < data.targets.size(); ++s, ++all) {
      auto const row = logits.begin() + static_cast<std::ptrdiff_t>(s * classes);
      auto const best = std::max_element(row, row + static_cast<std::ptrdiff_t>(classes)) - row;
      right += best == data.targets[s];
    }
  }
  return static_cast<double>(right) / static_cast<double>(all);
}

void run(options const& o, ashlar::mpi::environment const& env) {
  auto const topology = ashlar::parse_topology(o.mesh.empty() ? "gpu=" + std::to_string(env.size())
                                                              : o.mesh);
  auto const machine = ashlar::io::machine_from(o.machine);
  ashlar::mesh const mesh(env.world(), topology, machine);
  bool const speaks = mesh.rank() == 0;

  auto const net = nn::vgg13({.image = o.image,
                              .width = o.width,
                              .hidden = o.hidden,
                              .classes = std::ssize(example::shape_names)});
  auto const problem = nn::describe(net, nn::image_batch{o.batch, 3, o.image, o.image});
  auto const plan = o.layout == "data"     ? search::data_parallel(problem, topology, machine)
                    : o.layout == "tensor" ? search::tensor_parallel(problem, topology, machine)
                                           : search::optimal(problem, topology, machine);
  auto model = nn::place<float>(net, mesh, plan, o.seed);
  if (speaks)
    std::cout << "VGG13 with " << model.parameter_count() << " parameters, layout " << o.layout
              << "\n\n"
              << search::explain(problem, plan, machine) << std::endl;

  train::trainer trainer(model, train::adam_w{.lr = static_cast<float>(o.lr)},
                         {.clip = 1.0, .schedule = train::warmup_cosine{10, o.steps, 0.1}});
  for (int step = 0; step < o.steps; ++step) {
    auto const report = trainer.step(
        example::shape_images(o.batch, o.image, o.noise, o.seed, step));
    if (!speaks) continue;
    if (o.exact_log) std::printf("loss[%d] = %.9g\n", step, report.loss);
    else if (step % o.every == 0 || step + 1 == o.steps)
      std::printf("step %4d   loss %7.4f   %7.0f images/s\n", step, report.loss,
                  report.tokens_per_second);
  }
  if (o.samples == 0) return;
  double const right = accuracy(model, o);
  if (speaks) std::printf("accuracy on new images: %.1f %%\n", 100 * right);
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  options o;
  CLI::App app("Trains a small VGG13 on a mesh of MPI ranks, on images that it draws.");
  add_options(app, o);
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) {
    if (env.rank() == 0) app.exit(e);
    return e.get_exit_code() == 0 ? 0 : 2;
  }
  run(o, env);
}
