// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "training_options.hpp"

#include <iostream>
#include <sstream>

#include <CLI/CLI.hpp>

#include "sync_option.hpp"

namespace example {

void add_number(CLI::App& app, char const* name, int& value, int least, char const* help) {
  app.add_option(name, value, help)->check(CLI::Range(least, 1 << 30))->capture_default_str();
}

void add_training_options(CLI::App& app, training_options& o) {
  add_number(app, "--batch", o.batch, 1, "samples in a micro-batch, on all ranks together");
  add_number(app, "--steps", o.steps, 1, "training steps");
  add_number(app, "--warmup", o.warmup, 0, "steps of linear warm-up");
  add_number(app, "--every", o.every, 1, "steps between progress lines");
  app.add_option("--lr", o.lr, "peak learning rate")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--seed", o.seed, "seed of parameters, data and dropout")->capture_default_str();
  app.add_option("--mesh", o.mesh, "named axes such as node=2,gpu=2 (default: gpu=RANKS)");
  app.add_option("--layout", o.layout, "auto (searched), data, tensor, or a plan file")
      ->capture_default_str();
  add_sync_option(app, o.sync);
  add_wire_options(app, o.wire, o.plain_steps);
  add_number(app, "--delay", o.delay, 0,
             "steps by which gradients are older than the parameters that they update, so that "
             "they are summed during the next passes");
  app.add_option("--staleness", o.staleness,
                 "ranks push gradients to owners and read parameters that may miss the others' "
                 "gradients of so many steps, without clipping")
      ->check(CLI::Range(0, 1 << 30));
  app.add_option("--save-layout", o.save_layout, "write the plan to this file");
  app.add_option(
      "--machine", o.machine,
      "machine with which plans are priced: a file (bench/calibrate) or h200_server, ...");
  app.add_option("--memory-limit", o.memory_limit,
                 "the most bytes per rank that the plan may use, such as 512MB; none: no limit "
                 "(default: with --layout auto, the machine's)");
  app.add_option("--trace", o.trace,
                 "write the last step, measured and predicted, to this file for ui.perfetto.dev");
  app.add_option("--checkpoint", o.checkpoint,
                 "keep the training in this folder, which all ranks share");
  add_number(app, "--every-steps", o.every_steps, 1, "steps between checkpoints");
  add_number(app, "--keep", o.keep, 0, "checkpoints that stay in the folder; 0: all");
  for (char const* name : {"--every-steps", "--keep"}) app.get_option(name)->needs("--checkpoint");
  app.add_flag("--resume", o.resume,
               "continue from the newest checkpoint, on any number of ranks and any --layout");
  app.add_option("--overlap", o.overlap,
                 "as_planned: transfers run beside computations where that is predicted to be "
                 "faster; none: one after the other (the same results)")
      ->check(CLI::IsMember({"as_planned", "none"}))
      ->capture_default_str();
  app.add_flag("--exact-log", o.exact_log, "print every loss with all its digits");
}

int farewell::say(bool speaks) const {
  if (speaks) {
    std::cout << output << std::flush;
    std::cerr << error << std::flush;
  }
  return exit_code;
}

std::optional<farewell> read_options(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) {
    std::ostringstream output, error;
    app.exit(e, output, error);
    return farewell{e.get_exit_code() == 0 ? 0 : 2, output.str(), error.str()};
  }
  return {};
}

}  // namespace example
