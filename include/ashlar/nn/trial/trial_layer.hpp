// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Everything that nn::verify must know of the type of a layer. Only the templates of this file are
// compiled for each layer. The trials themselves (verification.hpp) are compiled once.

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <ashlar/nn/node.hpp>

namespace ashlar::nn {

struct verify_options {
  double low = -1.5, high = 1.5;  ///< the range of the input's numbers
  std::int64_t ids = 2;           ///< ids are below this if the layer has no check()
  int chosen = 0;                 ///< the number of experts per token, if x is a routed tensor
};

namespace detail {

/// A range of integers that a layer accepts: first <= i < end.
struct integer_range {
  std::int64_t first = 0, end = 0;
};

/// The middle of the values that a parameter gets, and their largest distance from it.
struct parameter_range {
  double middle = 0, reach = 0.5;
};

/// A layer whose passes nn::verify tries, and what its class declares.
struct trial_layer {
  using processor = device::host::processor;

  step::layer_spec spec;
  verify_options options;
  element_type input{};    ///< the type of the elements of x
  element_type values{};   ///< the type of y and the parameters
  element_type sums{};     ///< the type of the statistics
  element_type targets{};  ///< the type of the targets of a loss
  int y_rank = 0;
  int statistics = 0;
  bool is_loss = false;
  bool has_backward = false, has_weight_gradient = false, has_input_gradient = false;
  std::optional<integer_range> ids;             ///< the range of the ids, if x consists of ids
  std::optional<integer_range> target_classes;  ///< the range of the targets, if they are integers
  shape target_extents;
  std::vector<parameter_range> parameters;
  /// Returns the layer on the mesh of one simulated rank (comm/fake_rank.hpp), with its tensors
  /// placed as the choice says.
  std::function<std::unique_ptr<element_node<processor>>(mesh const&, step::layer_choice const&)>
      place;

  bool has(step::action_kind kind) const {
    return kind == step::action_kind::backward          ? has_backward
           : kind == step::action_kind::weight_gradient ? has_weight_gradient
                                                        : has_input_gradient;
  }
};

/// Returns the least integer n >= 0 for which accepts(n) throws, but at most 4096.
inline std::int64_t count_accepted(std::function<void(std::int32_t)> const& accepts) {
  std::int64_t n = 0;
  for (; n < 4096; ++n) {
    try {
      accepts(static_cast<std::int32_t>(n));
    } catch (error const&) {
      break;
    }
  }
  return n;
}

/// Returns the ids below the first one that the layer's check() refuses, or below options.ids if
/// the layer has no check(). The range contains at least the id 0.
template <class Layer>
integer_range accepted_ids(Layer const& layer, verify_options const& options) {
  std::int64_t ids = options.ids;
  if constexpr (requires { layer.check(std::span<std::int32_t const>()); })
    ids = count_accepted([&](std::int32_t id) { layer.check(std::span(&std::as_const(id), 1)); });
  return {0, std::max<std::int64_t>(ids, 1)};
}

/// Returns the classes that the loss's check_targets() accepts, beginning with -1 (a row without a
/// target) if check_targets() accepts -1. Without check_targets(), returns the numbers below the
/// last extent of x.
template <class Layer, class Target>
integer_range accepted_targets(Layer const& layer, shape const& x) {
  std::int64_t first = 0, end = x[x.rank() - 1];
  using list = std::span<Target const>;
  if constexpr (requires { layer.check_targets(list(), x); }) {
    auto const accepts = [&](std::int32_t i) {
      auto const target = static_cast<Target>(i);
      layer.check_targets(list(&target, 1), x);
    };
    end = count_accepted(accepts);
    try {
      accepts(-1);
      first = -1;
    } catch (error const&) {
    }
  }
  return {first, std::max(end, first + 1)};
}

/// Returns the extents `x` for the input of a layer, marked as routed if the layer takes routed
/// rows.
template <class Layer>
shape trial_input(shape x, verify_options const& options) {
  if constexpr (requires { Layer::takes_rows; }) {
    if (x.rank() < 3 || options.chosen < 1 || options.chosen > x.experts())
      throw error("nn::verify",
                  "the layer takes rows of experts [tokens.., experts, features]. Set "
                  "verify_options::chosen to the number of experts of each token.");
    x.chosen = options.chosen;
  }
  return x;
}

/// Returns what the trials of a layer need, for elements of type T and an input with XRank dims.
template <class T, int XRank, class Layer>
trial_layer make_trial_layer(Layer const& layer, shape const& extents,
                             verify_options const& options) {
  shape const x = trial_input<Layer>(extents, options);
  using choice = run_time_choice<>;
  using node = layer_node<Layer, T, XRank, choice>;
  using types = types_of<Layer, T, XRank, choice>;
  trial_layer made;
  made.spec = layer.spec(x);
  check_spec<Layer>(made.spec, x);
  made.options = options;
  made.input = element_type_of<typename types::input::value_type>;
  made.values = made.targets = element_type_of<T>;
  made.sums = element_type_of<typename types::accumulated>;
  made.y_rank = types::y_rank;
  made.statistics = types::statistics;
  made.has_backward = node::has_backward();
  made.has_weight_gradient = node::has_weight_gradient();
  made.has_input_gradient = node::has_halves();
  if constexpr (takes_tokens<Layer>()) made.ids = accepted_ids(layer, options);
  if constexpr (loss_layer<Layer>) {
    using target = typename Layer::template target<T>;
    made.is_loss = true;
    made.targets = element_type_of<target>;
    made.target_extents = layer.target_extents(x);
    if constexpr (std::is_integral_v<target>)
      made.target_classes = accepted_targets<Layer, target>(layer, x);
  }
  for (int k = 0; k < made.spec.parameters.size(); ++k) {
    parameter_range range;
    if constexpr (requires { layer.initial(k); })
      if (auto const initial = layer.initial(k); !initial.is_random()) range = {initial.value, 0.3};
    made.parameters.push_back(range);
  }
  made.place = [layer, x](mesh const& m, step::layer_choice const& lies) {
    stream_counter streams{5, 1};
    return std::make_unique<node>(layer, 0, m, x, choice(lies), streams);
  };
  return made;
}

}  // namespace detail
}  // namespace ashlar::nn
