// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Trains a small VGG13 on images that it draws itself, with the placements that the search finds.
//
//   mpirun -n 4 train_vgg --mesh node=2,gpu=2 --layout auto

#include <algorithm>
#include <cstdio>
#include <iostream>

#include <CLI/CLI.hpp>

#include <ashlar/ashlar.hpp>
#include <ashlar/device/host/blas_speed.hpp>
#include <ashlar/nn/vgg.hpp>

#include "../support/layout.hpp"
#include "../support/sync_option.hpp"
#include "../support/training_loop.hpp"
#include "shapes.hpp"

namespace nn = ashlar::nn;
namespace train = ashlar::train;

namespace {

struct options : example::training_options {
  int image = 32, width = 8, hidden = 64, samples = 512;
  double noise = 0.1;
};

std::optional<example::farewell> parse_options(int argc, char** argv, options& o) {
  CLI::App app("Trains a small VGG13 on a mesh of MPI ranks, on images that it generates.");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  o.batch = 32;
  o.steps = 300;
  o.lr = 2e-3;
  example::add_training_options(app, o);
  example::add_number(app, "--image", o.image, 32, "rows and columns of an image");
  example::add_number(app, "--width", o.width, 1,
                      "channels of the first stage; 64 in the published net");
  example::add_number(app, "--hidden", o.hidden, 1,
                      "features of the linear layers; 4096 in the published net");
  example::add_number(app, "--samples", o.samples, 0,
                      "approximate number of new images to classify at the end");
  app.add_option("--noise", o.noise, "standard deviation of the noise")
      ->check(CLI::NonNegativeNumber);
  return example::read_options(app, argc, argv);
}

/// Returns the share of new images that the model classifies correctly. Every rank gets the same
/// number.
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
  auto const machine = example::choose_machine(o, ashlar::machines::workstation);
  ashlar::mesh const mesh(env.world(), example::choose_mesh(o, env.size()), machine);
  bool const speaks = mesh.rank() == 0;

  auto const net = nn::vgg13({.image = o.image,
                              .width = o.width,
                              .hidden = o.hidden,
                              .classes = std::ssize(example::shape_names)});
  auto problem = ashlar::search::any_length(
      nn::describe(net, nn::image_batch{o.batch, 3, o.image, o.image}));
  problem.updates_apart = example::search_chooses_updates(o.sync);
  auto const plan = example::choose_layout(o, problem, mesh.topology(), machine);
  auto model = nn::place<float>(net, mesh, plan, o.seed);
  example::save_layout(
      o, mesh, [&](std::string const& path) { example::write_layout(path, problem, plan); });
  auto const layout = example::report_layout(o, problem, plan, machine);
  if (speaks) {
    std::cout << "VGG13 with " << model.parameter_count() << " parameters, layout " << o.layout
              << "\n\n"
              << layout << std::endl;
    std::cerr << ashlar::device::host::slow_blas_warning();
  }

  train::trainer trainer(model, train::adam_w{.lr = o.lr},
                         {.clip = example::clip_of(model.plan(), 1.0),
                          .schedule = train::warmup_cosine{o.warmup, o.steps, 0.1},
                          .unit = "images",
                          .overlap = example::overlap_of(o),
                          .record_times = !o.trace.empty()});
  example::train_steps(trainer, o, speaks, [&](int step) {
    return example::shape_images(o.batch, o.image, o.noise, o.seed, step);
  });
  if (o.samples == 0) return;
  double const right = accuracy(model, o);
  if (speaks) std::printf("accuracy on new images: %.1f %%\n", 100 * right);
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  options o;
  if (auto const farewell = parse_options(argc, argv, o)) return farewell->say(env.rank() == 0);
  run(o, env);
}
