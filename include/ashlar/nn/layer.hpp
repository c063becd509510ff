// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The contract of a layer: its extents, its rules and its arithmetic. A layer object has no
// placement, no parameters and no state of a pass. So one object can be used with every plan, in
// every copy of a repeat and for every micro-batch.
//
//   layer_spec spec(shape x) const    describes the layer to the search (step/layer_spec.hpp)
//   auto forward(call) const          returns y, or nn::made(y, kept...) (call.hpp)
//   auto backward(call) const         returns dx and adds to the parameters' gradients
//
// A layer may also have these members:
//
//   using parameters = nn::ranks<2, 1>       the number of dims of each parameter
//   initial_values initial(int k) const      how parameter k is initialized
//   auto passes(shape x) const               returns an object that has the passes in place of the
//                                            layer. Each placed layer has one such object, so
//                                            everything that depends only on the extents of x is
//                                            computed once (formula.hpp).
//   void weight_gradient(call) const         adds to the parameters' gradients only
//   auto input_gradient(call) const          returns dx only
//   static constexpr int streams             how many random streams it draws from
//   static constexpr bool takes_tokens       first layer of a net: whether its input is token ids
//   static constexpr int x_rank              first layer of a net: the number of dims of its input
//   void check(span of values) const         first layer of a net: throws for invalid input
//   static constexpr bool takes_rows         its input is a routed tensor (tensor/routed.hpp)
//   static constexpr bool runs_on_devices    its passes call only operations of the processor
//   template <int XRank>
//   static constexpr int y_rank              the number of dims of its output; default: XRank
//   template <int XRank>
//   using statistics = nn::ranks<…>          the number of dims of each statistic. A statistic is a
//                                            tensor that the plan redistributes between two parts
//                                            of the forward pass, such as the row maxima of a
//                                            softmax.
//
// A layer that names a context in its spec (layer_spec::context, [batch, length, width]) reads this
// part of the batch by call.context<3>(). The context has no gradient.
//
// layer_spec::backward states which backward passes a layer has:
//
//   whole            backward
//   separable        backward and weight_gradient
//   halves           weight_gradient and input_gradient
//   gradients_only   weight_gradient
//
// A layer whose window slides along a split dim has a halo (layer_spec::halo). Its x then contains
// all elements that the rank's windows cover, and make_dx() makes dx with the same box (call.hpp).
//
// The forward pass of a layer with statistics consists of parts: template <int Part> forward(call)
// returns statistic number Part, and the last part returns y.
//
// A layer that sets runs_on_devices and calls only operations of the processor (unqualified calls
// of the functions in device/host/operations.hpp) runs on the host and on GPUs. A layer that loops
// over shards itself runs on the host only. T is the element type of x, of y and of the parameters
// as the layer reads them. The type accumulation_t<T> is used for gradients of parameters, for
// statistics, and for kept values that exist once per row, such as means. A loss is a layer, too
// (loss.hpp).

#include <array>
#include <span>

#include <ashlar/nn/call.hpp>
#include <ashlar/nn/loss.hpp>
#include <ashlar/step/check_rows.hpp>
#include <ashlar/step/problem.hpp>

namespace ashlar::nn {

/// Holds for a single layer, which is one element of the plan. Does not hold for a composite of
/// several layers, such as a chain.
template <class Layer>
concept blueprint = requires(Layer const& layer, shape const& x) {
  { layer.spec(x) } -> std::same_as<search::layer_spec>;
};

// The following functions have one interface for all parts of a net. A part is a single layer
// (concept blueprint) or a composite of several parts, such as a chain. For a single layer, these
// functions do the work themselves. For a composite, they use its members.

/// Returns the number of elements of a layer or composite in a plan, or a negative number if it is
/// known only at run time. An element of a plan is a layer or one end of a residual, a skip or a
/// branch.
template <class Layer>
constexpr int element_count() {
  if constexpr (blueprint<Layer>) {
    return 1;
  } else {
    constexpr bool composite = requires { Layer::elements; };
    static_assert(
        composite,
        "nn: this type is not a layer. A layer has spec(shape) const, returning a "
        "search::layer_spec, forward(call) const and backward(call) const: see nn/layer.hpp.");
    if constexpr (composite) return Layer::elements;
    else return 0;
  }
}

/// Returns the number of elements of a layer or composite in a plan. Unlike element_count, this
/// function also works if the number is known only at run time.
template <class Layer>
constexpr int run_time_elements(Layer const& layer) {
  if constexpr (blueprint<Layer>) return 1;
  else return layer.run_time_elements();
}

/// Returns the first single layer of a part of a net. This layer reads the input of the part.
template <class Layer>
constexpr auto const& first_layer(Layer const& layer) {
  if constexpr (blueprint<Layer>) return layer;
  else return layer.first_layer();
}

/// Returns the number of dims of the output of a layer or composite whose input has XRank dims.
template <class Layer, int XRank>
constexpr int output_rank() {
  if constexpr (requires { Layer::template y_rank<XRank>; }) return Layer::template y_rank<XRank>;
  else return XRank;
}

/// Returns whether a net's input consists of token ids rather than numbers. The net's first layer
/// declares this.
template <class Layer>
constexpr bool takes_tokens() {
  if constexpr (requires { Layer::takes_tokens; }) return Layer::takes_tokens;
  else return false;
}

/// Returns the number of dims of a net's input. The net's first layer may state this number. The
/// default is 2, for [rows, features] or [batch, seq].
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

constexpr void check_spec_here(search::layer_spec const& spec, shape const& x,
                               std::span<int const> declared) {
  if (!(spec.x == x))
    throw error(spec.name.text, "the spec says that its input is " + to_string(spec.x) +
                                    ", but it was created for an input of " + to_string(x) + ".");
  auto const n = static_cast<std::size_t>(spec.parameters.size());
  if (n > declared.size())
    throw error(spec.name.text,
                "the spec has " + std::to_string(n) +
                    " parameters, but the layer's type declares " +
                    std::to_string(declared.size()) +
                    ". Write using parameters = nn::ranks<...>, with the number of dims of each.");
  for (int k = 0; k < spec.parameters.size(); ++k)
    if (int const rank = declared[static_cast<std::size_t>(k)];
        rank != spec.parameters[k].extents.rank())
      throw error(spec.name.text, std::string("parameter ") + spec.parameters[k].name.text +
                                      " is " + to_string(spec.parameters[k].extents) +
                                      ", but the layer's type declares " + std::to_string(rank) +
                                      " dims for it in `parameters`.");
  step::check_rows(spec);
}

ASHLAR_INLINE void check_spec_at_run_time(search::layer_spec const& spec, shape const& x,
                                          std::span<int const> declared);
#if ASHLAR_DEFINES(NN)
ASHLAR_INLINE void check_spec_at_run_time(search::layer_spec const& spec, shape const& x,
                                          std::span<int const> declared) {
  check_spec_here(spec, x, declared);
}
#endif

/// Throws ashlar::error if a layer's spec for an input of extents `x` cannot be right. Compares the
/// input of the spec with `x`, and the parameters of the spec with the parameters that the layer's
/// type declares. Also checks the signature rows of the spec.
template <class Layer>
constexpr void check_spec(search::layer_spec const& spec, shape const& x) {
  if constexpr (!requires { Layer::takes_rows; })
    if (x.is_routed()) search::refuse_rows(spec.name.text);
  using declared = typename decltype(parameter_ranks<Layer>())::type;
  auto const ranks = declared::all();
  ASHLAR_RETURN(check_spec_here(spec, x, ranks), check_spec_at_run_time(spec, x, ranks));
}

/// Throws ashlar::error if a layer's type does not declare as many statistics as its spec has. What
/// the type declares depends on the number of dims of x, so a layer is checked when it is placed
/// (node.hpp).
ASHLAR_INLINE void check_statistics(search::layer_spec const& spec, int declared);
#if ASHLAR_DEFINES(NN)
ASHLAR_INLINE void check_statistics(search::layer_spec const& spec, int declared) {
  if (spec.statistics.size() != declared)
    throw error(spec.name.text,
                "the spec has " + std::to_string(spec.statistics.size()) +
                    " statistics, but the layer's type declares " + std::to_string(declared) +
                    ". Write template <int XRank> using statistics = nn::ranks<...>, with the "
                    "number of dims of each.");
}
#endif

/// Returns the layer's spec for an input of extents `input`. If spec() throws in a constant
/// expression, the compiler does not show the text of the error, but shows the arguments of this
/// call. This function takes its arguments by value, because a compiler shows only the names of
/// references.
template <class Layer>
constexpr search::layer_spec spec_for(Layer const layer, shape const input) {
  return layer.spec(input);
}

}  // namespace detail

/// Appends the elements of a part of a net to a problem and returns the extents of the part's
/// output. The first element of a problem reads the input data, which need no gradient. So the spec
/// of this element leaves out dx if the layer permits this.
template <class Layer, class Problem>
constexpr shape describe_into(Layer const& layer, Problem& problem, shape const& x) {
  if constexpr (blueprint<Layer>) {
    auto const spec = detail::spec_for(layer, x);
    detail::check_spec<Layer>(spec, x);
    problem.add(problem.size() == 0 ? without_dx(spec) : spec);
    return spec.y;
  } else {
    return layer.describe_into(problem, x);
  }
}

/// Returns the extents of a layer's output for an input of extents `x`. Throws ashlar::error if the
/// layer does not accept such an input.
template <class Layer>
constexpr shape output_extents(Layer const& layer, shape const& x) {
  if constexpr (blueprint<Layer>) return layer.spec(x).y;
  else return layer.output_extents(x);
}

}  // namespace ashlar::nn
