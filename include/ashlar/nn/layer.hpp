// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What a layer is: extents, rules and arithmetic. It holds no placement, no parameter and nothing of a
// pass, so that one layer serves every plan, every repeat and every micro-batch.
//
//   layer_spec spec(shape x) const            what the search needs (step/layer_spec.hpp)
//   auto forward(call) const                  y, or nn::made(y, kept...)           (call.hpp)
//   auto backward(call) const                 dx; adds to the parameters' gradients
//
// Optional:
//
//   template <int XRank> static constexpr int y_rank      dims of its output; absent: those of its input
//   using parameters = nn::ranks<2, 1>                    dims of its parameters
//   initial_values initial(int k) const                   what parameter k is before training
//   void weight_gradient(call) const                      the parameters' gradients alone
//   auto input_gradient(call) const                       dx alone. A layer whose spec says `halves` has these
//                                                         two in place of backward, one that says
//                                                         `separable` weight_gradient beside it, and one
//                                                         that says `gradients_only` weight_gradient alone
//   template <int XRank> using statistics = nn::ranks<…>  dims of what it moves within its forward pass,
//                                                         which then comes in parts: template <int Part>
//                                                         forward(call) returns statistic Part, the last y
//   static constexpr int streams                          streams of random numbers that it draws from
//   static constexpr bool takes_tokens, int x_rank        of a net's first layer: its input
//   void check(span of values) const                      of a net's first layer: refuses an input
//   static constexpr bool runs_on_devices                 its passes call the processor's operations only
//
// A layer that calls the processor's operations (device/host/operations.hpp, without their namespace) and
// says runs_on_devices runs on the host and on GPUs; one that loops over shards runs on the host. T is the
// type of x and y and of parameters in use; gradients of parameters, statistics and what is kept of rows
// are accumulation_t<T>. A loss is a layer too (loss.hpp).

#include <ashlar/nn/call.hpp>
#include <ashlar/nn/loss.hpp>
#include <ashlar/step/check_rows.hpp>
#include <ashlar/step/problem.hpp>

namespace ashlar::nn {

/// A layer that is one element of the plan.
template <class Layer>
concept blueprint = requires(Layer const& layer, shape const& x) {
  { layer.spec(x) } -> std::same_as<search::layer_spec>;
};

// How chains and composites treat any part: a blueprint here, a composite by its members.

/// How many elements of a plan a layer is; negative if only the run time knows.
template <class Layer>
constexpr int element_count() {
  if constexpr (blueprint<Layer>) {
    return 1;
  } else {
    constexpr bool composite = requires { Layer::elements; };
    static_assert(
        composite,
        "nn: this type is no layer. A layer has spec(shape) const, returning a "
        "search::layer_spec, forward(call) const and backward(call) const: see nn/layer.hpp.");
    if constexpr (composite) return Layer::elements;
    else return 0;
  }
}

/// Elements of the plan that a part takes up, also where only a value says so.
template <class Layer>
constexpr int run_time_elements(Layer const& layer) {
  if constexpr (blueprint<Layer>) return 1;
  else return layer.run_time_elements();
}

/// Dims of the output of a part whose input has XRank dims.
template <class Layer, int XRank>
constexpr int output_rank() {
  if constexpr (requires { Layer::template y_rank<XRank>; }) return Layer::template y_rank<XRank>;
  else return XRank;
}

/// Whether a net's input is token ids rather than numbers: its first layer says so.
template <class Layer>
constexpr bool takes_tokens() {
  if constexpr (requires { Layer::takes_tokens; }) return Layer::takes_tokens;
  else return false;
}

/// Dims of a net's input: its first layer says so; else 2, [rows, features] or [batch, seq].
template <class Layer>
constexpr int input_rank() {
  if constexpr (requires { Layer::x_rank; }) return Layer::x_rank;
  else return 2;
}

namespace detail {

template <class Layer>
constexpr auto parameter_ranks() {
  if constexpr (requires { typename Layer::parameters; })
    return std::type_identity<typename Layer::parameters>();
  else return std::type_identity<ranks<>>();
}

/// Throws ashlar::error where a layer's spec for an input of extents `x` cannot be right: its rows, and
/// what the layer's type says of parameters.
template <class Layer>
constexpr void check_spec(search::layer_spec const& spec, shape const& x) {
  using declared = typename decltype(parameter_ranks<Layer>())::type;
  if (!(spec.x == x))
    throw error(spec.name.text, "the spec says that its input is " + to_string(spec.x) +
                                    ", but it was asked for one of " + to_string(x) + ".");
  int const n = spec.parameters.size();
  if (n > declared::count)
    throw error(spec.name.text,
                "the spec has " + std::to_string(n) +
                    " parameters, but the layer's type declares " +
                    std::to_string(declared::count) +
                    ". Write using parameters = nn::ranks<...>, with the number of dims of each.");
  for (int k = 0; k < n; ++k)
    if (int const rank = spec.parameters[k].extents.rank(); rank != declared::of(k))
      throw error(spec.name.text,
                  std::string("parameter ") + spec.parameters[k].name.text + " is " +
                      to_string(spec.parameters[k].extents) + ", but the layer's type declares " +
                      std::to_string(declared::of(k)) + " dims for it in `parameters`.");
  step::check_rows(spec);
}

}  // namespace detail

/// Appends the part's elements to a problem; returns the extents of its output. What a problem begins
/// with has data for x.
template <class Layer, class Problem>
constexpr shape describe_into(Layer const& layer, Problem& problem, shape const& x) {
  if constexpr (blueprint<Layer>) {
    auto const spec = layer.spec(x);
    detail::check_spec<Layer>(spec, x);
    problem.add(problem.size() == 0 ? without_dx(spec) : spec);
    return spec.y;
  } else {
    return layer.describe_into(problem, x);
  }
}

/// The extents of what a layer makes of an input of extents `x`. Throws ashlar::error if it takes none
/// such.
template <class Layer>
constexpr shape output_extents(Layer const& layer, shape const& x) {
  if constexpr (blueprint<Layer>) return layer.spec(x).y;
  else return layer.output_extents(x);
}

}  // namespace ashlar::nn
