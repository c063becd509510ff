// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What a layer is, in two halves.
//
// A blueprint knows extents and rules but no placement:
//
//   static constexpr int y_rank<XRank>       dims of its output
//   layer_spec spec(shape x)                 what the search needs (step/layer_spec.hpp)
//   layer_spec spec_without_dx(shape x)      optional: the same of a backward pass that makes no dx
//   auto place<T, XRank>(mesh, x, at, streams)   the placed half, for one element of a plan
//
// A placed layer holds parameters and what it keeps between the passes. `at` is its choice
// (nn/choice.hpp):
//
//   forward(x, pass)            x lies as at.x(); returns y as at.y(); keeps what backward needs if
//                               pass.saves(), until then
//   backward(dy)                dy lies as at.dy(); returns dx as at.dx(); adds to parameters' pending()
//   backward_without_dx(dy)     optional, with spec_without_dx: adds to pending() alone. It is called
//                               where nobody needs dx: the first element of a net has data for x
//   for_each_parameter(f)
//   check(span of values)       optional: of the net's first layer, refuses an input on the host
//
// What a layer computes on follows from its mesh: `at` has the processor_type, and input_of<T, Rank,
// At> and parameter_of<T, Rank, K, At> are on it. A layer that calls the processor's operations
// (device/host/operations.hpp, without their namespace), takes any basic_mesh in place() and keeps vectors
// between the passes as `kept` (kept.hpp) runs on the host and on devices; one that loops over shards
// takes an ashlar::mesh and runs on the host. T is the type of x and y and of parameters in use, gradients of
// parameters and what is kept of rows are accumulation_t<T>.
//
// leaf adds what is the same for all: entering from wherever the neighbour left the tensor. The
// order of redistributions is that of step/schedule.hpp.

#include <ashlar/nn/choice.hpp>
#include <ashlar/nn/parameter.hpp>
#include <ashlar/nn/pass.hpp>
#include <ashlar/nn/pass_names.hpp>
#include <ashlar/step/problem.hpp>

namespace ashlar::nn {

/// A layer that is one element of the plan.
template <class Layer>
concept blueprint = requires(Layer const& layer, shape const& x) {
  { layer.spec(x) } -> std::same_as<search::layer_spec>;
};

/// A placed layer together with its choice: redistributes what comes in, then calls the layer; in a
/// profile both are one range.
template <class Placed, class At>
class leaf {
  using names = pass_names<typename At::processor_type>;

 public:
  leaf(Placed placed, At const& at, names const& called)
      : placed_(std::move(placed)), at_(at), names_(called) {}

  template <distributed X>
  auto forward(X const& x, pass const& p) {
    [[maybe_unused]] auto const scope = range(x.mesh().processor(), names_.forward());
    return placed_.forward(redistribute(x, at_.x()), p);
  }
  template <distributed DY>
  auto backward(DY const& dy) {
    [[maybe_unused]] auto const scope = range(dy.mesh().processor(), names_.backward());
    return placed_.backward(redistribute(dy, at_.dy()));
  }
  /// The same of the first element of a net, whose dx nobody needs.
  template <distributed DY>
  void backward_first(DY const& dy) {
    [[maybe_unused]] auto const scope = range(dy.mesh().processor(), names_.backward());
    auto const there = redistribute(dy, at_.dy());
    if constexpr (requires { placed_.backward_without_dx(there); })
      placed_.backward_without_dx(there);
    else placed_.backward(there);
  }
  /// Refuses values that the net's input must not have, if this layer is its first.
  template <class Values>
  void check_input(Values values) const {
    if constexpr (requires { placed_.check(values); }) placed_.check(values);
  }
  template <class F>
  void for_each_parameter(F f) {
    placed_.for_each_parameter(f);
  }

 private:
  Placed placed_;
  At at_;
  [[no_unique_address]] names names_;
};

// How chains and composites treat any part: a leaf blueprint here, a composite by its members.

/// How many elements of a plan a layer is; negative if only the run time knows.
template <class Layer>
constexpr int element_count() {
  if constexpr (blueprint<Layer>) {
    return 1;
  } else {
    constexpr bool composite = requires { Layer::elements; };
    static_assert(composite,
                  "nn: this type is no layer. A layer has spec(shape) const, returning a "
                  "search::layer_spec, y_rank<XRank>, and place<T, XRank>(...): see nn/layer.hpp.");
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

/// Appends the part's elements to a problem; returns the extents of its output. What a problem begins
/// with has data for x.
template <class Layer, class Problem>
constexpr shape describe_into(Layer const& layer, Problem& problem, shape const& x) {
  if constexpr (blueprint<Layer>) {
    auto const spec = layer.spec(x);
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

/// The backward pass of a whole net, or of the part that it begins with: a part that does not know how
/// to leave dx out makes it in vain.
template <class Part, distributed DY>
void backward_first(Part& part, DY dy) {
  if constexpr (requires { part.backward_first(dy); }) part.backward_first(std::move(dy));
  else part.backward(std::move(dy));
}

namespace detail {
/// What a layer that was refused is placed as, so that its sentence is the only error.
struct no_layer {};
}  // namespace detail

/// Places any part of a net on a mesh, `cursor` standing at its first element of the plan.
template <class T, int XRank, class Layer, class Cursor, class Processor>
auto place_part(Layer const& layer, basic_mesh<Processor> const& m, shape const& x,
                Cursor const& cursor, stream_counter& streams) {
  if constexpr (blueprint<Layer>) {
    auto const at = cursor.choice();
    constexpr bool computes_there = Processor::is_host || requires {
      layer.template place<T, XRank>(m, x, at, streams);
    };
    static_assert(computes_there,
                  "nn::place: this layer computes on the host only. Place the net on an "
                  "ashlar::mesh, or give the layer a place() for any basic_mesh (nn/layer.hpp).");
    if constexpr (computes_there)
      return leaf(layer.template place<T, XRank>(m, x, at, streams), at,
                  pass_names<Processor>(cursor.index, layer, x));
    else return detail::no_layer{};
  } else {
    return layer.template place_part<T, XRank>(m, x, cursor, streams);
  }
}

}  // namespace ashlar::nn
