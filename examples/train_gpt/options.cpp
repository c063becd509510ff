// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "options.hpp"

#include <CLI/CLI.hpp>

namespace example {

options parse_options(int argc, char** argv, bool speaks, std::optional<int>& exit_code) {
  options o;
  CLI::App app("Trains a byte-level GPT on a mesh of MPI ranks.");
  auto const number = [&](char const* name, int& value, int least, char const* help) {
    app.add_option(name, value, help)->check(CLI::Range(least, 1 << 30))->capture_default_str();
  };
  number("--layers", o.layers, 1, "transformer blocks");
  number("--d-model", o.d_model, 1, "features of a token");
  number("--heads", o.heads, 1, "attention heads; must divide --d-model");
  number("--context", o.context, 1, "bytes in a sequence");
  number("--batch", o.batch, 1, "sequences in a micro-batch, all ranks together");
  number("--micro-batches", o.micro_batches, 1, "micro-batches in a step (gradient accumulation)");
  number("--steps", o.steps, 1, "training steps");
  number("--warmup", o.warmup, 0, "steps of linear warm-up");
  number("--every", o.every, 1, "steps between progress lines");
  number("--sample", o.sample, 0, "bytes of text to generate at the end");
  auto const real = [&](char const* name, double& value, CLI::Validator const& valid,
                        char const* help) {
    app.add_option(name, value, help)->check(valid)->capture_default_str();
  };
  real("--lr", o.lr, CLI::NonNegativeNumber, "peak learning rate");
  real("--clip", o.clip, CLI::Range(1e-6, 1e6), "largest global gradient norm");
  real("--weight-decay", o.weight_decay, CLI::NonNegativeNumber, "of weights and tables");
  real("--dropout", o.dropout, CLI::Range(0.0, 0.99), "probability");
  real("--temperature", o.temperature, CLI::Range(0.01, 100.0), "of the sample");
  app.add_option("--seed", o.seed, "of parameters, data and dropout")->capture_default_str();
  app.add_option("--text", o.text, "file to learn from (default: the project's own sources)");
  app.add_option("--prompt", o.prompt, "what the sample continues")->capture_default_str();
  app.add_option("--mesh", o.mesh, "named axes such as node=2,gpu=2 (default: gpu=RANKS)");
  app.add_option("--layout", o.layout, "auto (searched), data, tensor, or a plan file")
      ->capture_default_str();
  app.add_option("--save-layout", o.save_layout, "write the plan to this file");
  app.add_option(
      "--machine", o.machine,
      "machine that plans are priced with: a file (bench/calibrate) or h200_server, ...");
  app.add_option("--memory-limit", o.memory_limit,
                 "bytes per rank, such as 512MB: restricts --layout auto");
  app.add_flag("--exact-log", o.exact_log, "print every loss with all its digits");
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) {
    if (speaks) app.exit(e);
    exit_code = e.get_exit_code() == 0 ? 0 : 2;
  }
  return o;
}

}  // namespace example
