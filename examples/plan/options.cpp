// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "options.hpp"

#include <string_view>

#include <CLI/CLI.hpp>

#include "../support/auto_or_number.hpp"
#include "../support/sync_option.hpp"
#include "models.hpp"
#include "pipeline.hpp"

namespace example {
namespace {

/// Throws if an option cannot be combined with --overlap, or if --overlap is missing for an option
/// that needs it.
void check_overlap(options const& o) {
  if (o.interleaved == 0 && !o.overlap)
    throw CLI::ValidationError(
        "--interleaved auto needs --overlap: if nothing overlaps, no number of turns is faster.");
  if (!o.overlap) return;
  if (o.micro_batches == 0)
    throw CLI::ValidationError(
        "--micro-batches auto compares times without overlap. With --overlap, give a number.");
  if (o.algorithm != "exact")
    throw CLI::ValidationError("--algorithm " + o.algorithm +
                               " minimizes the time without overlap. Omit it, or omit --overlap.");
  if (o.pareto > 0)
    throw CLI::ValidationError(
        "--pareto is a front of times without overlap. Omit it, or omit --overlap.");
}

/// Throws if the model's front cannot be searched.
void check_front(options const& o) {
  if (o.pareto == 0) return;
  if (o.tied)
    throw CLI::ValidationError(
        "--pareto is for nets without tied parameters. Omit it, or omit --tied.");
  if (!o.sync.empty() && !search_chooses_updates(o.sync))
    throw CLI::ValidationError("--pareto searches the plans of its front, but --sync " + o.sync +
                               " changes a plan after the search. Omit one of them, or write "
                               "--sync auto.");
}

/// Throws if an option cannot be combined with a search of pipeline stages or of the number of
/// micro-batches.
void check_pipeline(CLI::App const& app, options const& o) {
  for (char const* other : {"--algorithm", "--evaluations", "--seconds", "--pareto", "--header",
                            "--program", "--overlap", "--sync"})
    if (o.stages != 1 && app.count(other) > 0)
      throw CLI::ValidationError(
          std::string(other) +
          " is for plans without pipeline stages. Omit it, or omit --pipeline and --stages.");
  if (wants_pipeline(o) && o.interleaved != 1)
    throw CLI::ValidationError(
        "--interleaved is for a given number of micro-batches without pipeline stages. Omit it, "
        "or give a number of --micro-batches and omit --pipeline and --stages.");
}

/// The options that only some models have, and these models. All models have the other options.
constexpr struct {
  char const* name;
  std::string_view models;
} options_of_models[] = {
    {"--layers", "gpt, bert, gpt-moe"},
    {"--d-model", "gpt, bert, gpt-moe"},
    {"--heads", "gpt, bert, gpt-moe, u-transformer"},
    {"--vocabulary", "gpt, bert, gpt-moe"},
    {"--context", "gpt, bert, llama-7b, llama-70b, gpt-moe, bert-sgmoe, bert-switch"},
    {"--tied", "gpt"},
    {"--as-trained", "gpt, gpt-moe"},
    {"--image", "vgg13, vgg16, alexnet, u-transformer, vit-sgmoe, vit-switch"},
    {"--classes", "vgg13, vgg16, alexnet"},
    {"--halo", "vgg13, vgg16, alexnet"},
    {"--channels", "u-transformer"},
    {"--tables", "dlrm"},
    {"--rows", "dlrm"},
    {"--widths", "mlp"},
    {"--experts", "gpt-moe, bert-sgmoe, bert-switch, vit-sgmoe, vit-switch"},
    {"--top", "gpt-moe, bert-sgmoe, bert-switch, vit-sgmoe, vit-switch"},
    {"--imbalance", "gpt-moe, bert-sgmoe, bert-switch, vit-sgmoe, vit-switch"}};

/// Throws if an option is given that the model does not have.
void check_model(CLI::App const& app, options const& o) {
  for (auto const& [name, those] : options_of_models)
    if (app.count(name) > 0 &&
        (", " + std::string(those) + ",").find(", " + o.model + ",") == std::string::npos)
      throw CLI::ValidationError(std::string(name) + " is for " + std::string(those) +
                                 ", but the model is " + o.model + ". Omit it.");
}

}  // namespace

options parse_options(int argc, char** argv, std::optional<int>& exit_code) {
  options o;
  CLI::App app(
      "Finds the placements of every tensor of a net on a mesh, without running the net:\n  plan "
      "gpt --layers 96 --d-model 12288 --heads 96 --context 2048 --batch 1024 \\\n    --mesh "
      "node=128,gpu=8 --machine h200_server --memory-limit 140GB --out plan.json\nA pin is "
      "ELEMENT.TENSOR=PLACEMENT, such as 3.x=S(0),B or 3..135/12.weight=*,S(1) "
      "or\nlinear.y=S(0),*; elements are numbered and named by --explain.");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  auto const number = [&](char const* name, auto& value, int least, char const* help,
                          char const* group) {
    app.add_option(name, value, help)
        ->check(CLI::Range(least, 1 << 30))
        ->capture_default_str()
        ->group(group);
  };
  auto const count = [&](char const* name, int& value, char const* help, char const* group) {
    return add_auto_or_number(app, name, value, help)->group(group);
  };
  char const* const net = "The net";
  app.add_option("model", o.model, "the net")->required()->check(CLI::IsMember(model_names()));
  number("--layers", o.layers, 1, "blocks of gpt, bert and gpt-moe", net);
  number("--d-model", o.d_model, 1, "features of a token", net);
  number("--heads", o.heads, 1, "attention heads; must divide --d-model", net);
  number("--context", o.context, 1, "tokens in a sequence", net);
  number("--vocabulary", o.vocabulary, 1, "words in the vocabulary", net);
  number("--batch", o.batch, 1, "sequences, rows or images in a micro-batch, on all ranks together",
         net);
  auto* const micro_batches = count(
      "--micro-batches", o.micro_batches,
      "micro-batches in a step; auto: the fastest number, where --batch is the batch of the step",
      net);
  count("--interleaved", o.interleaved,
        "micro-batches that take turns: transfers of one beside computations of the others; auto: "
        "the fastest number up to 4, with --overlap",
        net);
  number("--image", o.image, 1, "rows and columns of an image", net);
  number("--classes", o.classes, 1, "classes of images", net);
  app.add_flag("--halo", o.halo,
               "plans may also split the rows of images and exchange the rows at the borders")
      ->group(net);
  app.add_option(
         "--experts", o.experts,
         "experts of each mixture; default: 8 of gpt-moe, one for each rank of bert-*, two of "
         "vit-*")
      ->check(CLI::Range(1, 1 << 20))
      ->group(net);
  app.add_option("--top", o.top,
                 "experts that are chosen for each token; default: 1 of *-switch, 2 of others")
      ->check(CLI::Range(1, 1 << 20))
      ->group(net);
  app.add_option("--imbalance", o.imbalance,
                 "tokens of the fullest rank over the mean, where experts are split; prices and "
                 "memory count with it (default: 1)")
      ->group(net);
  app.add_option("--channels", o.channels, "of u-transformer: channels of its four levels")
      ->delimiter(',')
      ->take_all()
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str()
      ->group(net);
  app.add_flag("--tied", o.tied,
               "of gpt: the embedding's table is the last matrix too, as in GPT-2")
      ->group(net);
  app.add_flag(
         "--as-trained", o.as_trained,
         "of gpt and gpt-moe: the net of train_gpt, with dropout layers and a bias in the last "
         "matrix; train_gpt reads only plans of this net")
      ->group(net);
  number("--tables", o.tables, 2, "embedding tables of dlrm", net);
  number("--rows", o.rows, 1, "rows of each table", net);
  app.add_option("--widths", o.widths,
                 "of mlp: input features, features of every hidden layer, and classes")
      ->delimiter(',')
      ->take_all()
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str()
      ->group(net);
  app.add_option("--type", o.type, "element type of activations and parameters")
      ->check(CLI::IsMember({"bfloat16", "float", "double"}))
      ->capture_default_str()
      ->group(net);
  number("--optimizer-states", o.optimizer_states, 0,
         "optimizer values kept per parameter, of its type", net);

  char const* const where = "Mesh and machine";
  app.add_option("--mesh", o.mesh, "the mesh: named axes such as node=128,gpu=8")
      ->capture_default_str()
      ->group(where);
  app.add_option("--machine", o.machine, "a machine file, or one of " + machine_names())
      ->capture_default_str()
      ->group(where);
  app.add_option("--memory-limit", o.memory_limit,
                 "bytes per rank, such as 140GB or 80GiB; none: no limit "
                 "(default: the machine's)")
      ->group(where);

  char const* const how = "Search";
  app.add_option("--algorithm", o.algorithm, "one of " + algorithm_names())
      ->capture_default_str()
      ->group(how);
  app.add_flag("--overlap", o.overlap,
               "minimize the time of a step whose transfers run beside computations")
      ->group(how);
  app.add_option("--seed", o.seed, "seed of the random algorithms")->group(how);
  app.add_option("--evaluations", o.evaluations, "maximum number of plans to price")
      ->check(CLI::PositiveNumber)
      ->group(how);
  app.add_option("--seconds", o.seconds, "approximate time limit")
      ->check(CLI::PositiveNumber)
      ->group(how);
  app.add_option("--pin", o.pins, "a placement that the plan must have; may be given several times")
      ->group(how)
      ->take_all();

  add_sync_option(app, o.sync)->group(how);
  bool pipeline = false;
  app.add_flag("--pipeline", pipeline,
               "short for --stages auto --micro-batches auto; either may be given, too")
      ->group(how);
  auto* const stages = count("--stages", o.stages,
                             "pipeline stages; auto: the fastest number. Stages need the exact "
                             "algorithm, and set --micro-batches auto unless that is given",
                             how);

  auto* const schedule =
      app.add_option("--schedule", o.schedule,
                     "schedule of pipeline stages: auto (the fastest one), or one of " +
                         schedule_names() +
                         "; interleaved:N has N stages a part. 1f1b cuts the net into equally many "
                         "blocks, others cut it where the step is shortest")
          ->capture_default_str()
          ->group(how);
  auto* const in_flight = app.add_option("--in-flight", o.in_flight,
                                         "the most micro-batches that a stage may have in flight; "
                                         "schedules that need more are left out")
                              ->check(CLI::PositiveNumber)
                              ->group(how);

  char const* const what = "Output";
  app.add_flag("--explain", o.explain, "print every placement and collective")->group(what);
  app.add_flag("--program", o.program, "print the actions of a step, in order, with their times")
      ->group(what);
  app.add_option("--diff", o.diff, "compare with a plan file, or with data or tensor")->group(what);
  app.add_option("--pareto", o.pareto, "time-memory front with this number of limits")
      ->check(CLI::Range(2, 1000))
      ->expected(0, 1)
      ->default_str("12")
      ->group(what);
  app.add_option("--out", o.out, "write the plan as JSON")->group(what);
  app.add_option("--html", o.html, "write an HTML page that shows the plan")->group(what);
  app.add_option("--header", o.header, "write the plan as a constexpr variable in a C++ header")
      ->group(what);
  app.add_option("--name", o.name, "name of that variable")->capture_default_str()->group(what);
  app.add_flag("--quiet", o.quiet, "print no progress on standard error")->group(what);
  try {
    app.parse(argc, argv);
    if (pipeline && stages->count() == 0) o.stages = 0;
    if (o.stages != 1 && micro_batches->count() == 0) o.micro_batches = 0;
    check_model(app, o);
    check_pipeline(app, o);
    if (!o.pins.empty() && !o.sync.empty() && !search_chooses_updates(o.sync))
      throw CLI::ValidationError("--sync " + o.sync +
                                 " changes the plan after the search, also what --pin prescribes. "
                                 "Omit one of them, or write --sync auto.");
    check_overlap(o);
    check_front(o);
    if (o.stages == 1 && schedule->count() > 0)
      throw CLI::ValidationError("--schedule is for plans with pipeline stages. Add --pipeline.");
    if (o.stages == 1 && in_flight->count() > 0)
      throw CLI::ValidationError("--in-flight is for plans with pipeline stages. Add --pipeline.");
  } catch (CLI::ParseError const& e) {
    exit_code = app.exit(e) == 0 ? 0 : 2;
  }
  return o;
}

}  // namespace example
