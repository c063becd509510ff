// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// One layer outside of a net, whose passes are called as the executor of a training step calls
// them.

#include <cstdint>

#include <ashlar/nn/execution.hpp>
#include <ashlar/nn/node.hpp>
#include <ashlar/search/choices.hpp>
#include <ashlar/tensor/factory.hpp>

namespace ashlar_bench {

namespace nn = ashlar::nn;
namespace step = ashlar::step;

/// Returns the layer choice that splits the batch and replicates the parameters. On one rank it
/// returns the choice that splits nothing, because on one rank no choice has a split.
inline step::layer_choice batch_split(step::layer_spec const& spec, ashlar::topology const& t) {
  auto const whole = ashlar::placement::all_broadcast(t.axes());
  ashlar::placement const rows = t.ranks() == 1 ? whole : whole.with_split(0, 0);
  for (auto const& c : ashlar::search::layer_choices(spec, t)) {
    bool fits = c.x == rows && c.y == rows && c.dy == rows;
    for (auto const& p : c.parameters) fits = fits && p.use == whole && p.store == whole;
    if (fits) return c;
  }
  throw ashlar::error("bench", std::string(spec.name.text) + ": no rows split the batch.");
}

/// A layer placed on a one-dimensional mesh of all ranks. Its values are stored in slots, in this
/// order: the input x, the parameters, the output y, the values saved for the backward pass, dy,
/// dx. Layers with statistics (nn/call.hpp) are not supported.
template <class Layer, int XRank>
class placed_layer {
  using choice = nn::run_time_choice<>;
  using node = nn::layer_node<Layer, float, XRank, choice>;

 public:
  placed_layer(Layer const& layer, ashlar::shape const& x, ashlar::mesh const& m)
      : spec_(layer.spec(x)), lies_(batch_split(spec_, m.topology())),
        node_(layer, 0, m, x, choice(lies_), streams_) {
    on_.pass = {true, 1, 0};
    on_.values.resize(static_cast<std::size_t>(dx() + 1));
    if constexpr (nn::takes_tokens<Layer>())
      on_.set(0, ashlar::from_index<std::int32_t, XRank>(m, x, lies_.x, [](auto const& i) {
                return static_cast<std::int32_t>((31 * i[0] + 7 * i[1]) % 256);
              }));
    else on_.set(0, ashlar::normal<float, XRank>(m, x, lies_.x, {.seed = 2}));
    for (int k = 0; k < spec_.parameters.size(); ++k)
      on_.set(1 + k, node_.parameters()[static_cast<std::size_t>(k)].source());
    constexpr int y_rank = nn::output_rank<Layer, XRank>();
    on_.set(dy(), ashlar::normal<float, y_rank>(m, spec_.y, lies_.dy, {.seed = 3}));
  }

  step::layer_spec const& spec() const { return spec_; }

  void forward() {
    step::action a;
    a.reads.push_back(0);
    for (int k = 0; k < spec_.parameters.size(); ++k) a.reads.push_back(1 + k);
    a.makes.push_back(y());
    a.makes.push_back(kept());
    node_.compute(a, on_);
  }
  void backward() {
    if constexpr (node::has_backward()) {
      gradients(step::action_kind::backward);
    } else {
      gradients(step::action_kind::weight_gradient);
      if constexpr (node::has_halves()) gradients(step::action_kind::input_gradient);
    }
  }

 private:
  int y() const { return 1 + spec_.parameters.size(); }
  int kept() const { return y() + 1; }
  int dy() const { return y() + 2; }
  int dx() const { return y() + 3; }

  void gradients(step::action_kind kind) {
    step::action a;
    a.kind = kind;
    a.reads.push_back(dy());
    a.reads.push_back(kept());
    if (kind != step::action_kind::weight_gradient) {
      for (int k = 0; k < spec_.parameters.size(); ++k)
        if (spec_.parameters[k].in_backward) a.reads.push_back(1 + k);
      a.makes.push_back(dx());
    }
    node_.compute(a, on_);
  }

  step::layer_spec spec_;
  step::layer_choice lies_;
  nn::stream_counter streams_{1, 1};
  node node_;
  nn::execution<ashlar::device::host::processor> on_;
};

}  // namespace ashlar_bench
