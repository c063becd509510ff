// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A layer of a placed net. The executor keeps the tensors of a step in slots. The node calls the
// layer's passes with tensors from slots and stores their results in slots. The node owns the
// layer's parameters.
//
// The template arguments of a node are
//
// - the type of the layer,
// - the element type,
// - the number of dims of the input,
// - the type of the layer's choice, which is its part of the plan (choice.hpp).
//
// With a run-time plan, these arguments are equal for all copies of a layer in a repeat. So the
// node is compiled only once.

#include <string>

#include <ashlar/nn/layer.hpp>
#include <ashlar/nn/node_base.hpp>

namespace ashlar::nn {

/// Numbers the random streams of parameters and layers in the order of the net. So random values
/// depend on the net and the seed, but never on the plan.
struct stream_counter {
  std::uint64_t seed = 0;
  std::uint64_t next = 0;
};

/// Tells which parameters an element reads from other elements. `first` points to the parameter
/// that an earlier element has in common with this one (tied.hpp), or is null if there is none.
/// This parameter has the number `index` in this element. If the net is placed a second time
/// (generator.hpp), `all_of` points to the same element of the first placement, from which this
/// element reads all its parameters; otherwise `all_of` is null.
template <class Processor>
struct tied_parameter {
  parameter<Processor> const* first = nullptr;
  int index = 0;
  element_node<Processor>* all_of = nullptr;
};

namespace detail {

template <class Layer, int XRank>
constexpr auto statistic_ranks() {
  if constexpr (requires { typename Layer::template statistics<XRank>; })
    return std::type_identity<typename Layer::template statistics<XRank>>();
  else return std::type_identity<ranks<>>();
}

template <class Layer, class T, int XRank, class At>
using types_of = layer_types<T, XRank, output_rank<Layer, XRank>(),
                             std::conditional_t<nn::takes_tokens<Layer>(), std::int32_t, T>,
                             typename decltype(parameter_ranks<Layer>())::type,
                             typename decltype(statistic_ranks<Layer, XRank>())::type, At>;

template <class... Kept>
struct kept_tuple final : kept_values {
  explicit kept_tuple(std::tuple<Kept...> v) : values(std::move(v)) {}
  std::tuple<Kept...> values;
};

/// Returns the object that runs the passes of a layer for an input of extents `x`: what the layer's
/// passes(x) makes, or the layer itself.
template <class Layer>
auto passes_of(Layer const& layer, shape const& x) {
  if constexpr (requires { layer.passes(x); }) return layer.passes(x);
  else return layer;
}

/// Returns the result of a forward pass as a `made` (call.hpp). A pass that keeps no values for the
/// backward pass returns y alone.
template <class Y>
auto as_made(Y y) {
  if constexpr (requires { y.kept; }) return y;
  else return made<Y>(std::move(y));
}

}  // namespace detail

template <class Layer, class T, int XRank, class At>
class layer_node final : public layer_node_base<typename At::processor_type> {
  using types = detail::types_of<Layer, T, XRank, At>;
  using processor = typename At::processor_type;
  using base = layer_node_base<processor>;
  using base::mesh_;
  using base::spec_;
  using base::stream_;
  using common = layer_call<types>;
  using forward_type = forward_call<types>;
  static constexpr int parts = types::statistics + 1;
  static constexpr bool is_loss = loss_layer<Layer>;

  static_assert(
      processor::is_host || requires { requires Layer::runs_on_devices; },
      "nn::place: this layer computes on the host only. Place the net on an ashlar::mesh, "
      "or write its passes with the processor's operations and define runs_on_devices "
      "(nn/layer.hpp).");

  using passes_type = decltype(detail::passes_of(std::declval<Layer const&>(), shape{}));
  static constexpr bool has_forward() {
    if constexpr (parts > 1)
      return requires(passes_type const& passes, forward_type const& c) {
        passes.template forward<parts - 1>(c);
      };
    else return requires(passes_type const& passes, forward_type const& c) { passes.forward(c); };
  }
  /// Runs the last part of the forward pass, which makes y. Only the forward pass of a layer with
  /// statistics has several parts (nn/layer.hpp).
  static auto last_part(passes_type const& passes, forward_type const& c) {
    static_assert(
        has_forward(),
        "nn: the passes of a layer are const functions of a call: forward(call) const and "
        "backward(call) const, or its halves. forward returns the values that backward needs "
        "as nn::made(y, kept...): see nn/layer.hpp.");
    if constexpr (parts > 1) return detail::as_made(passes.template forward<parts - 1>(c));
    else return detail::as_made(passes.forward(c));
  }
  using made_type = decltype(last_part(std::declval<passes_type const&>(),
                                       std::declval<forward_type const&>()));
  using kept_type = decltype(made_type::kept);
  using backward_type = backward_call<types, kept_type>;
  template <class... Kept>
  static detail::kept_tuple<Kept...> holder_of(std::tuple<Kept...> const&);
  using holder = decltype(holder_of(std::declval<kept_type const&>()));

 public:
  layer_node(Layer const& layer, int element, basic_mesh<processor> const& m, shape const& x,
             At const& at, stream_counter& streams, std::string const& path = {},
             tied_parameter<processor> const& tied = {})
      : base(m, layer.spec(x), as_value(at.x()), as_value(at.dx())),
        passes_(detail::passes_of(layer, x)), at_(at) {
    detail::check_statistics(spec_, types::statistics);
    if constexpr (!processor::is_host && requires { passes_.require_kernels(""); })
      passes_.require_kernels(spec_.name.text);
    if (tied.all_of != nullptr) this->share_parameters(*tied.all_of);
    else make_parameters(layer, element, streams, path, tied);
    if constexpr (requires { Layer::streams; }) {
      stream_ = streams.next;
      streams.next += Layer::streams;
    }
  }

  void compute(step::action const& a, execution<processor>& on) override {
    static_assert(has_backward() || has_halves() || has_weight_gradient(),
                  "nn: this layer has no backward pass that is a const function of a call: "
                  "backward(call) const, or its halves input_gradient(call) const and "
                  "weight_gradient(call) const (nn/layer.hpp).");
    switch (a.kind) {
      case step::action_kind::forward:
      case step::action_kind::recompute: return forward(a, on);
      case step::action_kind::backward:
        if constexpr (has_backward())
          return put_dx(a, on, [&](auto const& c) { return passes_.backward(c); });
        break;
      case step::action_kind::input_gradient:
        if constexpr (has_halves())
          return put_dx(a, on, [&](auto const& c) { return passes_.input_gradient(c); });
        break;
      case step::action_kind::weight_gradient:
        if constexpr (has_weight_gradient())
          return backward(a, on, false, [&](auto const& c) { passes_.weight_gradient(c); });
        break;
      default: break;
    }
    this->refuse_pass(a.kind);
  }

  // The next functions tell which passes the layer has. A layer need not have all of them
  // (nn/layer.hpp).
  static constexpr bool has_backward() {
    return requires(passes_type const& passes, backward_type const& c) { passes.backward(c); };
  }
  static constexpr bool has_halves() {
    return requires(passes_type const& passes, backward_type const& c) {
      passes.input_gradient(c);
    };
  }
  static constexpr bool has_weight_gradient() {
    return requires(passes_type const& passes, backward_type const& c) {
      passes.weight_gradient(c);
    };
  }

 private:
  void make_parameters([[maybe_unused]] Layer const& layer, [[maybe_unused]] int element,
                       [[maybe_unused]] stream_counter& streams,
                       [[maybe_unused]] std::string const& path,
                       [[maybe_unused]] tied_parameter<processor> const& tied) {
    if constexpr (types::parameters > 0) {
      static_assert(
          requires(Layer const& l, int k) {
            { l.initial(k) } -> std::convertible_to<initial_values>;
          }, "nn: a layer with parameters must define their initial values: nn::initial_values "
             "initial(int k) const, such as nn::all_equal(1) (nn/layer.hpp).");
      for (int k = 0; k < spec_.parameters.size(); ++k) {
        if (tied.first != nullptr && tied.index == k) {
          this->parameters_.emplace_back(spec_.parameters[k].name, path, element, *tied.first,
                                         mesh_, at_.parameter_at(k).grad);
          continue;
        }
        initial_values const initial = layer.initial(k);
        std::uint64_t const stream = initial.is_random() ? streams.next++ : 0;
        this->parameters_.push_back(make_parameter<T>(spec_.parameters[k], element, mesh_,
                                                      at_.parameter_at(k), initial, streams.seed,
                                                      stream, path));
      }
    }
  }

  void forward(step::action const& a, execution<processor>& on) {
    auto const read = this->forward_operands(a, on, is_loss);
    auto const x = read.x->template as<typename types::input>();
    forward_type const call(common(mesh_, at_, spec_, read.parameters), x, on.pass, stream_,
                            read.statistics, &read.batch, &read.context);
    if (a.part + 1 < parts) return make_statistic(a, on, call);
    auto result = last_part(passes_, call);
    if constexpr (!is_loss) on.set(a.makes[0], result.y);
    if (on.saves && a.makes.size() > 1)
      on.values[static_cast<std::size_t>(a.makes[1])].kept = std::make_unique<holder>(
          std::move(result.kept));
  }

  void make_statistic(step::action const& a, execution<processor>& on, forward_type const& call) {
    [&]<std::size_t... Part>(std::index_sequence<Part...>) {
      ((static_cast<int>(Part) == a.part
            ? on.set(a.makes[0], passes_.template forward<static_cast<int>(Part)>(call))
            : void()),
       ...);
    }(std::make_index_sequence<std::size_t(parts - 1)>{});
  }

  template <class Pass>
  void backward(step::action const& a, execution<processor>& on, bool reads_parameters,
                Pass const& pass) {
    typename types::output_gradient dy;
    auto const read = this->backward_operands(a, on, is_loss, reads_parameters);
    if constexpr (!is_loss) dy = read.dy->template as<typename types::output_gradient>();
    backward_type const call(common(mesh_, at_, spec_, read.parameters), dy,
                             static_cast<holder&>(*read.kept).values, this->parameters_,
                             this->dx_with_halo());
    pass(call);
  }
  template <class Pass>
  void put_dx(step::action const& a, execution<processor>& on, Pass const& pass) {
    backward(a, on, true, [&](auto const& c) { on.set(a.makes[0], pass(c)); });
  }

  passes_type passes_;
  At at_;
};

}  // namespace ashlar::nn
