// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs the same training steps as torch_train_step.py runs in PyTorch, from the same weights on the
// same batches. bench/run_torch.sh runs both programs in turns.
//
//   mpirun -n 2 bench/torch_train_step gpt --steps 20 --write FOLDER
//   mpirun -n 2 bench/torch_train_step vgg --steps 4 --layout data --lr 1e-5
//
//   gpt   the net of bench/train_step: 4 layers, d-model 512, 8 heads, context 256, batch 8
//   vgg   VGG13 with 32 channels in its first stage, on 64 images of 3 x 32 x 32
//
// --write writes the initial weights and the batches into files of FOLDER, which
// torch_train_step.py reads:
//
//   parameters.txt   a line "NAME EXTENTS" for each parameter, in the order of the net
//   parameters.bin   the values of the parameters (float)
//   inputs.bin       the inputs of all steps (int32 or float)
//   targets.bin      the targets of all steps (int32)
//
// The program prints three lines:
//
//   ms MEDIAN       the median time of a step; the first step does not count
//   cpu_ms MEDIAN   the median CPU time of rank 0 in a step, which other processes disturb less
//   losses LIST     the losses of all steps

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <ashlar/ashlar.hpp>
#include <ashlar/nn/vgg.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/optimal.hpp>

namespace nn = ashlar::nn;
namespace search = ashlar::search;

namespace {

struct arguments {
  std::string net, folder, layout = "auto";
  int steps = 4;
  double lr = 1e-4;
};

template <class T>
void write_values(std::ofstream& out, std::vector<T> const& values) {
  out.write(reinterpret_cast<char const*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(T)));
}

/// Returns the median time of a step in milliseconds. The first step is a warm-up and does not
/// count, unless it is the only one.
double median_ms(std::vector<double> seconds) {
  if (seconds.size() > 1) seconds.erase(seconds.begin());
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<long>(seconds.size() / 2),
                   seconds.end());
  return 1e3 * seconds[seconds.size() / 2];
}

/// Writes the files of --write. Collective: gathers all parameters on every rank.
template <class Model, class Batches>
void write_beginning(Model& model, Batches const& batches, std::string const& folder) {
  bool const writes = model.mesh().rank() == 0;
  auto const file = [&](char const* name) {
    return writes ? std::ofstream(folder + '/' + name, std::ios::binary) : std::ofstream();
  };
  auto names = file("parameters.txt"), values = file("parameters.bin");
  auto inputs = file("inputs.bin"), targets = file("targets.bin");
  if (writes && (!names || !values || !inputs || !targets))
    throw std::runtime_error("--write: cannot write into " + folder);
  model.for_each_parameter([&](auto const& p) {
    auto const full = to_full<float>(p.value());
    names << p.name();
    auto const extents = p.value().extents();
    for (int d = 0; d < extents.rank(); ++d) names << ' ' << extents[d];
    names << '\n';
    if (writes) write_values(values, full);
  });
  for (auto const& batch : batches) {
    if (!writes) break;
    write_values(inputs, batch.inputs);
    write_values(targets, batch.targets);
  }
}

template <class Net, class Batch, class Data>
void train(ashlar::mesh const& mesh, arguments const& args, Net const& net, Batch const& batch,
           std::vector<Data> const& batches) {
  search::problem const problem = any_length(nn::describe(net, batch));
  auto const plan = args.layout == "data"
                        ? search::data_parallel(problem, mesh.topology(), mesh.machine())
                        : search::optimal(problem, mesh.topology(), mesh.machine());
  auto model = nn::place<float>(net, mesh, plan, 1);
  if (!args.folder.empty()) write_beginning(model, batches, args.folder);
  ashlar::train::trainer trainer(model, ashlar::train::adam_w{.lr = args.lr}, {.clip = 1.0});
  std::vector<double> seconds, cpu_seconds;
  std::string losses;
  for (auto const& data : batches) {
    mesh.barrier();
    auto const start = std::clock();
    auto const report = trainer.step(data);
    cpu_seconds.push_back(double(std::clock() - start) / CLOCKS_PER_SEC);
    seconds.push_back(report.seconds);
    losses += ' ' + std::to_string(report.loss);
  }
  if (mesh.rank() != 0) return;
  std::printf("ms %.3f\ncpu_ms %.3f\nlosses%s\n", median_ms(seconds), median_ms(cpu_seconds),
              losses.c_str());
}

void train_gpt(ashlar::mesh const& mesh, arguments const& args) {
  constexpr int layers = 4, d = 512, heads = 8, context = 256, batch = 8, vocabulary = 256;
  auto const net = nn::chain(nn::embedding(vocabulary, d),
                             nn::repeat(layers, nn::gpt_block(d, heads)), nn::layer_norm(d),
                             nn::linear(d, vocabulary));
  std::mt19937 random(7);
  std::vector<ashlar::train::batch_data<>> batches(static_cast<std::size_t>(args.steps));
  for (auto& data : batches)
    for (int s = 0; s < batch; ++s) {
      auto token = static_cast<std::int32_t>(random() % vocabulary);
      for (int i = 0; i < context; ++i) {  // the next token follows a fixed rule, with noise
        data.inputs.push_back(token);
        token = static_cast<std::int32_t>(
            random() % 8 == 0 ? random() % vocabulary : (5u * unsigned(token) + 3) % vocabulary);
        data.targets.push_back(token);
      }
    }
  train(mesh, args, net, nn::token_batch{batch, context}, batches);
}

void train_vgg(ashlar::mesh const& mesh, arguments const& args) {
  constexpr int images = 64, side = 32, classes = 10;
  auto const net = nn::vgg13({.image = side, .width = 32, .hidden = 256, .classes = classes});
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<ashlar::train::batch_data<float>> batches(static_cast<std::size_t>(args.steps));
  for (auto& data : batches)
    for (int s = 0; s < images; ++s) {
      auto const target = static_cast<std::int32_t>(random() % classes);
      data.targets.push_back(target);
      for (int i = 0; i < 3 * side * side; ++i)  // stripes of width target + 1, and noise
        data.inputs.push_back(normal(random) + (i % side / (target + 1) % 2 == 0 ? 0.5f : -0.5f));
    }
  train(mesh, args, net, nn::image_batch{images, 3, side, side}, batches);
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  arguments args;
  if (argc > 1) args.net = argv[1];
  bool good = args.net == "gpt" || args.net == "vgg";
  for (int i = 2; i < argc; i += 2) {
    std::string const option = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (option == "--steps") args.steps = std::atoi(value.c_str());
    else if (option == "--write") args.folder = value;
    else if (option == "--layout") args.layout = value;
    else if (option == "--lr") args.lr = std::atof(value.c_str());
    else good = false;
  }
  if (!good || args.steps < 1) {
    std::cerr << "torch_train_step gpt|vgg [--steps N] [--write FOLDER] [--layout auto|data] [--lr "
                 "RATE]\n";
    return 2;
  }
  ashlar::mesh const mesh(env.world(), {{"gpu", env.size()}});
  if (args.net == "gpt") train_gpt(mesh, args);
  else train_vgg(mesh, args);
}
