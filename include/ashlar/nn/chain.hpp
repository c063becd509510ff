// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A sequence of layers: chain(a, b, c) applies a, then b, then c. repeat.hpp repeats a net.

#include <tuple>
#include <utility>

#include <ashlar/nn/place_part.hpp>

namespace ashlar::nn {

namespace detail {

/// Returns the number of dims of the output of a sequence of layers whose input has XRank dims.
template <int XRank>
constexpr int rank_through() {
  return XRank;
}
template <int XRank, class Layer, class... Rest>
constexpr int rank_through() {
  return rank_through<output_rank<Layer, XRank>(), Rest...>();
}

/// The properties of a chain that its first or its last layer determines alone. The first layer
/// determines the kind of the chain's input and the input's number of dims. The last layer
/// determines the loss.
template <class... Layers>
struct ends_of {
  using first = std::tuple_element_t<0, std::tuple<Layers...>>;
  using last = std::tuple_element_t<sizeof...(Layers) - 1, std::tuple<Layers...>>;
  static constexpr bool takes_tokens = nn::takes_tokens<first>();
  static constexpr int x_rank = nn::input_rank<first>();
  using loss = typename loss_of<last>::type;
};
template <>
struct ends_of<> {
  static constexpr bool takes_tokens = false;
  static constexpr int x_rank = 2;
  using loss = void;
};

}  // namespace detail

/// A sequence of layers, in which the output of each layer is the input of the next one. It
/// communicates between two layers if they need the activations or gradients at different
/// placements.
template <class... Layers>
class chain {
  using ends = detail::ends_of<Layers...>;

 public:
  /// The number of elements of the chain in a plan, or -1 if it is known only at run time. An
  /// element of a plan is a layer or one end of a residual, a skip or a branch.
  static constexpr int elements = ((element_count<Layers>() < 0) || ...)
                                      ? -1
                                      : (element_count<Layers>() + ... + 0);

  /// Says whether the input consists of token ids.
  static constexpr bool takes_tokens = ends::takes_tokens;
  static constexpr int x_rank = ends::x_rank;
  /// The type of the loss at the end of the chain, or void if there is none.
  using loss = typename ends::loss;

  constexpr explicit chain(Layers... layers) : layers_(std::move(layers)...) {}

  template <int XRank>
  static constexpr int y_rank = detail::rank_through<XRank, Layers...>();

  constexpr int run_time_elements() const {
    return std::apply([](auto const&... layer) { return (nn::run_time_elements(layer) + ... + 0); },
                      layers_);
  }

  template <class Problem>
  constexpr shape describe_into(Problem& problem, shape x) const {
    std::apply([&](auto const&... layer) { ((x = nn::describe_into(layer, problem, x)), ...); },
               layers_);
    return x;
  }
  constexpr shape output_extents(shape x) const {
    std::apply([&](auto const&... layer) { ((x = nn::output_extents(layer, x)), ...); }, layers_);
    return x;
  }

  template <class T, int XRank, class Net, class Cursor>
  void place_part(Net& net, shape const& x, Cursor const& cursor) const {
    place_from<T, XRank, 0>(net, x, cursor);
  }
  /// Returns the first layer of the chain. An empty chain returns itself.
  constexpr auto const& first_layer() const {
    if constexpr (sizeof...(Layers) == 0) return *this;
    else return nn::first_layer(std::get<0>(layers_));
  }

 private:
  template <class T, int XRank, std::size_t Index, class Net, class Cursor>
  void place_from(Net& net, shape const& x, Cursor const& cursor) const {
    if constexpr (Index < sizeof...(Layers)) {
      auto const& layer = std::get<Index>(layers_);
      using layer_type = std::tuple_element_t<Index, std::tuple<Layers...>>;
      net.inside(Index, [&] { nn::place_part<T, XRank>(layer, net, x, cursor); });
      place_from<T, output_rank<layer_type, XRank>(), Index + 1>(net, nn::output_extents(layer, x),
                                                                 advance_past(layer, cursor));
    }
  }

  std::tuple<Layers...> layers_;
};

}  // namespace ashlar::nn
