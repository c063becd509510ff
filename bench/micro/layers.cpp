// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Measures the forward and the backward pass of layers. The passes are called as the executor of a
// training step calls them. A benchmark is named layer/NAME/PASS/DIM:N..., with the global extents
// of the layer's input. The batch is split over the ranks and the parameters are replicated, so no
// pass communicates.
//
//   forward    computes the output and saves the values that the backward pass needs
//   backward   computes the gradients of the parameters and of the input

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/attention.hpp>
#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/embedding.hpp>
#include <ashlar/nn/layer_norm.hpp>
#include <ashlar/nn/linear.hpp>

#include "../support/placed_layer.hpp"
#include "suite.hpp"

namespace {

using namespace ashlar_bench::micro;
namespace nn = ashlar::nn;
using ashlar_bench::placed_layer;

/// Adds the benchmarks of the two passes of a layer, for an input of rank XRank. The benchmarks
/// report the floating-point operations of all ranks if the pass contains GEMMs. If not, they
/// report the bytes that one rank reads and writes.
template <int XRank, class Layer>
void add_layer(suite& all, std::string const& name, std::string const& sizes, Layer const& layer,
               ashlar::shape const& x) {
  for (bool const forward : {true, false})
    all.add("layer/" + name + (forward ? "/forward/" : "/backward/") + sizes,
            [=](team const& ranks) -> work {
              auto const of = std::make_shared<placed_layer<Layer, XRank>>(layer, x, ranks.line());
              auto const& spec = of->spec();
              of->forward();
              double const flops = forward ? spec.forward_flops : spec.backward_flops;
              double const values = forward ? spec.forward_values : spec.backward_values;
              double const bytes = values * sizeof(float) / double(ranks.ranks);
              counts const per_run{flops > 0 ? 0 : bytes, 0, flops};
              if (forward) return {[of] { of->forward(); }, per_run};
              return {[of] { of->backward(); }, per_run};
            });
}

family const layers([](suite& all) {
  for (std::int64_t const d : {256, 1024}) {
    std::string const sizes = "rows:512/features:" + std::to_string(d);
    add_layer<2>(all, "linear", sizes, nn::linear(d, d), {512, d});
    add_layer<2>(all, "gelu", sizes, nn::gelu(), {512, d});
    add_layer<2>(all, "layer_norm", sizes, nn::layer_norm(d), {512, d});
  }
  add_layer<4>(all, "attention", "batch:8/seq:128/heads:8/head_dim:32", nn::attention_core(),
               {8, 128, 8, 96});
  add_layer<2>(all, "embedding", "batch:8/seq:128/features:256", nn::embedding(256, 256), {8, 128});
  add_layer<4>(all, "convolution", "batch:8/channels:32/size:32/kernel:3",
               nn::convolution(32, 32, 3, {.padding = 1}), {8, 32, 32, 32});
});

}  // namespace
