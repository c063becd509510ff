// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The main part of train_gpt, for any mesh and any type of activations. Host and GPUs share this
// code.

#pragma once

#include <functional>
#include <optional>

#include <ashlar/ashlar.hpp>
#include <ashlar/device/host/blas_speed.hpp>
#include <ashlar/nn/llama.hpp>
#include <ashlar/step/model_flops.hpp>

#include "../support/layout.hpp"
#include "../support/micro_batches.hpp"
#include "../support/nets.hpp"
#include "../support/pipeline.hpp"
#include "../support/sync_option.hpp"
#include "../support/training_loop.hpp"
#include "generate.hpp"
#include "options.hpp"
#include "text.hpp"

namespace example {

/// The peak flops per second of one rank, from which MFU (model flops utilization) is computed; 0
/// if the peak is unknown.
struct peak {
  double flops = 0;
  std::string source;
};

/// Returns the sizes of the GPT that the options describe.
inline ashlar::nn::gpt_options gpt_sizes(options const& o) {
  return {o.layers, o.d_model, o.heads, o.vocabulary};
}

/// Returns the experts that the options describe, for --experts.
inline ashlar::nn::moe_options experts(options const& o) {
  return {.experts = o.experts,
          .chosen = o.top,
          .balance = o.balance,
          .balance_over = o.balance_over,
          .imbalance = o.imbalance};
}

/// Returns the number of key heads of the Llama that the options describe.
inline int kv_heads_of(options const& o) {
  if (o.kv_heads > 0) return o.kv_heads;
  return o.heads % 2 == 0 ? o.heads / 2 : o.heads;
}

/// Returns a Llama, for --model llama-small. As in Llama, swiglu has 8/3 as many features as a
/// token, rounded up, here to a multiple of 32.
inline auto llama(options const& o) {
  std::int64_t const d = o.d_model;
  return ashlar::nn::llama({.layers = o.layers,
                            .features = d,
                            .heads = o.heads,
                            .kv_heads = kv_heads_of(o),
                            .hidden = (8 * d + 95) / 96 * 32,
                            .vocabulary = o.vocabulary});
}

/// Returns the text that a trained model generates. If nn::generator cannot run the model, the text
/// is generated without a cache of keys and values, and the rank with `speaks` prints the reason.
template <class Net, class Model>
std::string sample_of(options const& o, Net const& net, Model& model, bool speaks) {
  auto const with = [&](auto pass) {
    return generate(std::move(pass), o.prompt, o.sample, o.temperature, o.seed);
  };
  std::string why = "nn::generator does not run on GPUs yet.";
  if constexpr (Model::mesh_type::processor_type::is_host) {
    std::optional<cached_pass<Net, Model>> cached;
    try {
      cached.emplace(net, model);
    } catch (ashlar::error const& e) {
      why = e.what();
    }
    if (cached) return with(std::ref(*cached));
  }
  if (speaks) std::cout << "\nThe sample is generated without a cache: " << why << '\n';
  return with(whole_pass(model));
}

/// Trains a net on `mesh` with activations of type T. Every rank calls it; rank 0 prints.
template <class T, class Mesh, class Net>
void train_net(options o, Mesh const& mesh, peak const& limit, Net const& net) {
  namespace nn = ashlar::nn;
  bool const speaks = mesh.rank() == 0;
  if (o.prompt.empty()) throw ashlar::error("--prompt", "a sample needs a first byte to continue.");
  std::int64_t const sequences = std::int64_t{o.batch} * std::max(1, o.micro_batches);  // in a step
  byte_batches const data(load_text(mesh, o.text, ASHLAR_PROJECT_DIR), sequences, o.context,
                          o.seed);

  auto const net_of = [&](int m) {
    auto described = nn::describe<T>(net, nn::token_batch{sequences / m, o.context, m});
    described.interleaved = o.interleaved;
    described.updates_apart = search_chooses_updates(o.sync);
    described.overlap = o.interleaved == 0;  // if true, the search minimizes the overlapped time
    return described;
  };
  auto const stages = choose_pipeline(o, net_of, micro_batch_counts(sequences, o.micro_batches),
                                      mesh.topology(), mesh.machine());
  if (stages) o.micro_batches = stages->micro_batches();
  o.batch = static_cast<int>(sequences / o.micro_batches);
  auto const problem = net_of(o.micro_batches);
  auto const plan = stages ? stages->chosen
                           : choose_layout(o, problem, mesh.topology(), mesh.machine());
  auto model = stages ? nn::place<T>(net, mesh, *stages, o.seed)
                      : nn::place<T>(net, mesh, plan, o.seed);
  save_layout(o, mesh, [&](std::string const& path) {
    if (stages) write_pipeline(path, problem, *stages);
    else write_layout(path, problem, plan);
  });
  auto const layout = stages ? report_pipeline(problem, *stages, mesh.machine())
                             : report_layout(o, problem, plan, mesh.machine());
  if (speaks) {
    std::cout << (o.is_llama() ? "Llama with " : "GPT with ") << nn::parameter_count(problem)
              << " parameters: " << o.layers << " layers, d-model " << o.d_model << ", " << o.heads
              << " heads"
              << (o.is_llama() ? ", " + std::to_string(kv_heads_of(o)) + " of keys" : "")
              << ", context " << o.context << "; batch " << o.batch << " x " << o.micro_batches
              << "; text of " << data.size() << " bytes\nlayout "
              << (pipeline_is_file(o) ? o.pipeline : o.layout) << "; " << o.precision << " on "
              << mesh.ranks() << " x " << o.device;
    if (limit.flops > 0)
      std::cout << "; MFU of " << limit.flops * 1e-12 << " TF/s a rank (" << limit.source << ")";
    std::cout << "\n\n" << layout << std::endl;
    if (Mesh::processor_type::is_host) std::cerr << ashlar::device::host::slow_blas_warning();
  }

  ashlar::train::trainer trainer(model,
                                 ashlar::train::adam_w{.lr = o.lr, .weight_decay = o.weight_decay},
                                 {.clip = clip_of(model.plan(), o.clip),
                                  .schedule = ashlar::train::warmup_cosine{o.warmup, o.steps, 0.1},
                                  .step_flops = ashlar::search::model_flops(problem),
                                  .peak_flops = limit.flops,
                                  .bubble = stages ? predicted_bubble(*stages) : 0,
                                  .overlap = overlap_of(o),
                                  .record_times = !o.trace.empty(),
                                  .graph = o.graph});
  train_steps(trainer, o, speaks, data);

  if (o.sample == 0) return;
  auto const text = sample_of(o, net, model, speaks);
  if (speaks) std::cout << "\n---- a sample of what it learned ----\n" << text << '\n';
}

/// Trains the net that the options describe.
template <class T, class Mesh>
void train(options const& o, Mesh const& mesh, peak const& limit) {
  if (o.is_llama()) {  // on the host only, as options.cpp checks
    if constexpr (Mesh::processor_type::is_host) train_net<T>(o, mesh, limit, llama(o));
  } else if (o.experts > 0) {  // on the host only, as options.cpp checks
    if constexpr (Mesh::processor_type::is_host)
      train_net<T>(o, mesh, limit, trained_moe_gpt(gpt_sizes(o), experts(o), o.dropout));
  } else if (o.tied) train_net<T>(o, mesh, limit, trained_tied_gpt(gpt_sizes(o), o.dropout));
  else train_net<T>(o, mesh, limit, trained_gpt(gpt_sizes(o), o.dropout));
}

}  // namespace example
