// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "options.hpp"

#include <CLI/CLI.hpp>

#include "../support/auto_or_number.hpp"
#include "../support/pipeline.hpp"
#include "cuda.hpp"

namespace example {
namespace {

/// Applies --model gpt2: gives the options that are not on the command line the values of the
/// smallest GPT-2. The net differs from GPT-2 in two ways:
/// - The last matrix has a bias and is not shared with the embedding, unless --tied is given.
/// - The vocabulary is rounded up to a multiple of 128, and its first 256 entries are the bytes.
void take_gpt2(CLI::App const& app, options& o) {
  struct {
    char const* name;
    int& value;
    int gpt2;
  } const numbers[] = {{"--layers", o.layers, 12},
                       {"--d-model", o.d_model, 768},
                       {"--heads", o.heads, 12},
                       {"--context", o.context, 1024},
                       {"--vocabulary", o.vocabulary, 50304}};
  for (auto const& n : numbers)
    if (app.count(n.name) == 0) n.value = n.gpt2;
}

/// Throws if an option does not fit --model.
void check_model(CLI::App const& app, options const& o) {
  if (!o.is_llama()) {
    if (app.count("--kv-heads") > 0)
      throw CLI::ValidationError("--kv-heads", "only --model llama-small has heads of keys.");
    return;
  }
  if (o.device == "cuda")
    throw CLI::ValidationError("--model", "llama-small does not run on GPUs yet.");
  for (char const* name : {"--experts", "--tied", "--dropout"})
    if (app.count(name) > 0)
      throw CLI::ValidationError(
          name, "is for GPTs, but --model is llama-small. Leave it out, or write --model small.");
}

/// Throws if an option has no effect because another option is missing, or because another option
/// takes precedence.
void check_effect(CLI::App const& app, options const& o) {
  for (char const* name : {"--top", "--balance", "--balance-over", "--imbalance"})
    if (o.experts == 0 && app.count(name) > 0)
      throw CLI::ValidationError(
          name, "is for nets with experts. Leave it out, or give a number of --experts.");
  if (pipeline_is_file(o) && app.count("--layout") > 0)
    throw CLI::ValidationError("--layout",
                               "has no effect, because the file of --pipeline has the layout of "
                               "each stage. Leave out one of them.");
}

/// Throws if a combination of options cannot run at all, or cannot run in this build.
void check_device(options const& o) {
  if (o.device == "cpu" && o.precision != "float")
    throw CLI::ValidationError("--precision", o.precision +
                                                  " is for --device cuda. Ranks on host memory "
                                                  "train in float.");
  if (o.graph && !o.pipeline.empty())
    throw CLI::ValidationError("--graph",
                               "a step of a pipeline cannot be one graph. Leave out --graph, or "
                               "--pipeline.");
  if (o.graph && !o.trace.empty())
    throw CLI::ValidationError("--graph",
                               "the actions of a graph have no times, which --trace writes. Leave "
                               "out one of them.");
  if (o.micro_batches == 0 && !searches_schedule(o))
    throw CLI::ValidationError("--micro-batches",
                               "auto is for --pipeline with --schedule auto. Give a number.");
  if (!o.pipeline.empty() && o.interleaved != 1)
    throw CLI::ValidationError(
        "--interleaved",
        "the schedule of a pipeline orders its micro-batches, so they cannot take turns.");
  if (o.interleaved == 0 && o.overlap == "none")
    throw CLI::ValidationError("--interleaved",
                               "auto chooses the number for transfers that run beside "
                               "computations. Omit --overlap none, or give a number.");
  if (o.device == "cpu" && o.graph)
    throw CLI::ValidationError("--graph", "graphs are for --device cuda.");
  if (o.experts > 0 && o.device == "cuda")
    throw CLI::ValidationError("--experts", "experts do not run on GPUs yet.");
  if (o.experts > 0 && o.tied)
    throw CLI::ValidationError("--experts",
                               "a net with experts has a last matrix of its own. Leave "
                               "out --tied.");
  if (o.experts > 0 && o.layers % 2 != 0)
    throw CLI::ValidationError("--experts",
                               "every second block has experts. Give an even number of "
                               "--layers.");
  if (o.device == "cuda" && !has_cuda())
    throw CLI::ValidationError(
        "--device",
        "this train_gpt was built without CUDA. Configure with -DASHLAR_ENABLE_CUDA=ON, "
        "which says whether nvcc, CUDA's libraries or NCCL is missing, and build again.");
}

}  // namespace

std::optional<farewell> parse_options(int argc, char** argv, options& o) {
  CLI::App app("Trains a byte-level GPT or Llama on a mesh of MPI ranks or of GPUs.");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--device", o.device, "cpu: ranks on host memory; cuda: a GPU for each rank")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--precision", o.precision,
                 "precision of products: float, tf32 or bf16 (bf16: activations too; parameters "
                 "stay float)")
      ->check(CLI::IsMember({"float", "tf32", "bf16"}))
      ->capture_default_str();
  app.add_flag("--graph", o.graph, "run each step as one CUDA graph: less work for the host");
  app.add_option("--model", o.model,
                 "the net: small (defaults shown here), gpt2 (the smallest GPT-2: 12 layers, "
                 "d-model 768, 12 heads, context 1024, vocabulary 50304), or llama-small (a Llama "
                 "with the defaults of small, on the host only)")
      ->check(CLI::IsMember({"small", "gpt2", "llama-small"}))
      ->capture_default_str();
  add_number(app, "--layers", o.layers, 1, "transformer blocks");
  add_number(app, "--d-model", o.d_model, 1, "features of a token");
  add_number(app, "--heads", o.heads, 1, "attention heads; must divide --d-model");
  add_number(app, "--kv-heads", o.kv_heads, 0,
             "of llama-small: heads of keys and values; must divide --heads; 0: half of these, or "
             "all if they are odd");
  add_number(app, "--context", o.context, 1, "bytes in a sequence");
  add_number(app, "--vocabulary", o.vocabulary, 256, "rows of the embedding; bytes use 256");
  add_number(app, "--experts", o.experts, 0,
             "experts in every second block; 0: plain blocks. On the host only");
  add_number(app, "--top", o.top, 1, "experts that are chosen for each token");
  app.add_flag("--tied", o.tied, "use the embedding's table as the last matrix, as GPT-2 does");
  add_auto_or_number(app, "--micro-batches", o.micro_batches,
                     "micro-batches in a step (gradient accumulation); auto, which is the default "
                     "with --schedule auto: --batch is that of a step, and the search divides it");
  add_auto_or_number(app, "--interleaved", o.interleaved,
                     "micro-batches that take turns: transfers of one beside computations of the "
                     "others; auto: the number that is predicted to be fastest, up to 4");
  add_number(app, "--sample", o.sample, 0, "bytes of text to generate at the end");
  add_training_options(app, o);
  add_pipeline_options(app, o);
  auto const real = [&](char const* name, double& value, CLI::Validator const& valid,
                        char const* help) {
    app.add_option(name, value, help)->check(valid)->capture_default_str();
  };
  real("--clip", o.clip, CLI::Range(1e-6, 1e6), "largest global gradient norm");
  app.get_option("--staleness")->excludes("--clip");
  real("--balance", o.balance, CLI::NonNegativeNumber, "factor of the experts' balance loss");
  add_number(app, "--balance-over", o.balance_over, 1,
             "micro-batches over which the balance loss is computed; a multiple of them must take "
             "turns (--interleaved)");
  app.add_option(
         "--imbalance", o.imbalance,
         "tokens of the fullest rank over the mean, where experts are split; predictions of "
         "seconds, bytes and memory use it")
      ->capture_default_str();
  real("--weight-decay", o.weight_decay, CLI::NonNegativeNumber,
       "weight decay of weights and tables");
  real("--dropout", o.dropout, CLI::Range(0.0, 0.99), "dropout probability");
  real("--temperature", o.temperature, CLI::Range(0.01, 100.0), "temperature of the sample");
  app.add_option("--peak-flops", o.peak_flops,
                 "peak flops per second of a rank, for MFU (default: the GPU's data sheet, or the "
                 "flops of a --machine)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--text", o.text, "file to learn from (default: the project's own sources)");
  app.add_option("--prompt", o.prompt, "text that the sample continues")->capture_default_str();
  app.final_callback([&] {
    if (o.model == "gpt2") take_gpt2(app, o);
    if (searches_schedule(o) && app.count("--micro-batches") == 0) o.micro_batches = 0;
    check_model(app, o);
    check_effect(app, o);
    check_device(o);
  });
  return read_options(app, argc, argv);
}

}  // namespace example
