// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Trains a byte-level GPT on a text, on a mesh of MPI ranks, with the layout that the search finds.
//
//   mpirun -n 4 train_gpt --mesh node=2,gpu=2 --layout auto --steps 200 --sample 300

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

#include <ashlar/ashlar.hpp>
#include <ashlar/io/json/machine_file.hpp>
#include <ashlar/io/json/plan_file.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/explain.hpp>
#include <ashlar/search/optimal.hpp>

#include "support/generate.hpp"
#include "support/text.hpp"

namespace nn = ashlar::nn;
namespace search = ashlar::search;
namespace train = ashlar::train;

namespace {

struct options {
  std::string text, mesh, layout = "auto", save_layout, memory_limit, machine;
  int layers = 2, d_model = 128, heads = 4, context = 128, batch = 8, micro_batches = 1;
  int steps = 100, warmup = 10, every = 10, sample = 0;
  double lr = 1e-3, clip = 1.0, dropout = 0.0, weight_decay = 0.01, temperature = 0.7;
  std::uint64_t seed = 1;
  bool full_precision_log = false;
};

/// "512MB", "2 GiB", "1000000". Throws ashlar::error.
std::int64_t parse_bytes(std::string const& text) {
  char* end = nullptr;
  double const number = std::strtod(text.c_str(), &end);
  std::string unit(end);
  unit.erase(std::remove(unit.begin(), unit.end(), ' '), unit.end());
  double factor = 0;
  for (auto const& [name, value] : {std::pair{"", 1.0},
                                    {"B", 1.0},
                                    {"KB", 1e3},
                                    {"MB", 1e6},
                                    {"GB", 1e9},
                                    {"KiB", 1024.0},
                                    {"MiB", 1048576.0},
                                    {"GiB", 1073741824.0}})
    if (unit == name) factor = value;
  if (end == text.c_str() || factor == 0 || !(number > 0) || number * factor > 9e18)
    throw ashlar::error("train_gpt", "--memory-limit \"" + text +
                                         "\" is no size. Write it as 512MB, 2GiB or in bytes.");
  return static_cast<std::int64_t>(number * factor);
}

search::plan choose_layout(options const& o, search::problem const& problem,
                           ashlar::mesh const& mesh) {
  if (o.layout == "auto") return search::optimal(problem, mesh.topology(), mesh.machine());
  if (o.layout == "data") return search::data_parallel(problem, mesh.topology(), mesh.machine());
  if (o.layout == "tensor")
    return search::tensor_parallel(problem, mesh.topology(), mesh.machine());
  return ashlar::io::load_plan(o.layout, problem, mesh.topology(), mesh.machine());
}

void run(options const& o, ashlar::mpi::environment const& env) {
  auto const topology = ashlar::parse_topology(o.mesh.empty() ? "gpu=" + std::to_string(env.size())
                                                              : o.mesh);
  auto machine = o.machine.empty() ? ashlar::machines::workstation
                                   : ashlar::io::load_machine(o.machine);
  if (!o.memory_limit.empty()) machine.memory = parse_bytes(o.memory_limit);
  ashlar::mesh const mesh(env.world(), topology, machine);
  bool const speaks = mesh.rank() == 0;

  example::byte_batches const data(example::load_text(o.text, ASHLAR_PROJECT_DIR),
                                   std::int64_t{o.batch} * o.micro_batches, o.context, o.seed);

  constexpr int vocabulary = 256;
  auto const net = nn::chain(nn::embedding(vocabulary, o.d_model),
                             nn::repeat(o.layers, nn::gpt_block(o.d_model, o.heads, o.dropout)),
                             nn::layer_norm(o.d_model), nn::linear(o.d_model, vocabulary));
  auto const problem = nn::describe(net, nn::token_batch{o.batch, o.context, o.micro_batches});
  auto const plan = choose_layout(o, problem, mesh);
  auto model = nn::place<float>(net, mesh, plan, o.seed);

  if (speaks) {
    std::cout << "GPT with " << model.parameter_count() << " parameters: " << o.layers
              << " layers, d-model " << o.d_model << ", " << o.heads << " heads, context "
              << o.context << "; batch " << o.batch << " x " << o.micro_batches << "; text of "
              << data.size() << " bytes\nlayout " << o.layout << "\n\n"
              << search::explain(problem, plan, machine) << '\n'
              << std::flush;
    if (!o.save_layout.empty()) ashlar::io::save_plan(o.save_layout, problem, plan);
  }

  train::trainer trainer(
      model, train::adam_w{.lr = o.lr, .weight_decay = o.weight_decay},
      {.clip = o.clip, .schedule = train::warmup_cosine{o.warmup, o.steps, 0.1}});
  for (int step = 0; step < o.steps; ++step) {
    auto const report = trainer.step(data(step));
    if (!speaks) continue;
    if (o.full_precision_log) {
      char line[64];
      std::snprintf(line, sizeof line, "loss[%d] = %.9g", step, report.loss);
      std::cout << line << '\n';
    } else if (step % o.every == 0 || step + 1 == o.steps) {
      std::cout << report << std::endl;
    }
  }

  if (o.sample > 0) {
    auto const text = example::generate(model, "// ", o.sample, o.temperature, o.seed);
    if (speaks) std::cout << "\n---- a sample of what it learned ----\n" << text << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  options o;
  CLI::App app("Trains a byte-level GPT on a mesh of MPI ranks.");
  app.add_option("--text", o.text, "file to learn from (default: the project's own sources)");
  app.add_option("--layers", o.layers, "transformer blocks")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--d-model", o.d_model, "features of a token")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--heads", o.heads, "attention heads; must divide --d-model")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  app.add_option("--context", o.context, "bytes in a sequence")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--batch", o.batch, "sequences in a micro-batch, all ranks together")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--micro-batches", o.micro_batches,
                 "micro-batches in a step (gradient accumulation)")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  app.add_option("--steps", o.steps, "training steps")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  app.add_option("--lr", o.lr, "peak learning rate")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--warmup", o.warmup, "steps of linear warm-up")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str();
  app.add_option("--clip", o.clip, "largest global gradient norm")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--weight-decay", o.weight_decay, "of weights and tables")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--dropout", o.dropout, "probability")
      ->check(CLI::Range(0.0, 0.99))
      ->capture_default_str();
  app.add_option("--seed", o.seed, "of parameters, data and dropout")->capture_default_str();
  app.add_option("--mesh", o.mesh, "named axes such as node=2,gpu=2 (default: gpu=RANKS)");
  app.add_option("--layout", o.layout, "auto (searched), data, tensor, or a plan file")
      ->capture_default_str();
  app.add_option("--save-layout", o.save_layout, "write the plan to this file");
  app.add_option("--machine", o.machine, "machine file that plans are priced with");
  app.add_option("--memory-limit", o.memory_limit,
                 "per rank, such as 512MB: restricts --layout auto");
  app.add_option("--every", o.every, "steps between progress lines")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  app.add_option("--sample", o.sample, "bytes of text to generate at the end")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  app.add_option("--temperature", o.temperature, "of the sample")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--exact-log", o.full_precision_log, "print every loss with all its digits");
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) {
    // Help and errors once, not once per rank.
    int const code = env.rank() == 0 ? app.exit(e) : (e.get_exit_code() != 0);
    return code;
  }
  run(o, env);
}
