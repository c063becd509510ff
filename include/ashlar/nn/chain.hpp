// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Layers one after the other: chain(a, b, c) is a, then b, then c. The same net several times: repeat.hpp.
//
// What a layer made is released as soon as the next one has used it, but for what they keep.

#include <tuple>
#include <utility>

#include <ashlar/nn/layer.hpp>

namespace ashlar::nn {

template <class... Parts>
class placed_chain {
 public:
  explicit placed_chain(std::tuple<Parts...> parts) : parts_(std::move(parts)) {}

  template <distributed X>
  auto forward(X x, pass const& p) {
    return forward_from<0>(std::move(x), p);
  }
  template <distributed DY>
  auto backward(DY dy) {
    return backward_from<static_cast<int>(sizeof...(Parts)) - 1>(std::move(dy));
  }
  template <distributed DY>
  void backward_first(DY dy) {
    constexpr int last = static_cast<int>(sizeof...(Parts)) - 1;
    if constexpr (last >= 0)
      nn::backward_first(std::get<0>(parts_), backward_from<last, 1>(std::move(dy)));
  }
  template <class Values>
  void check_input(Values values) const {
    if constexpr (sizeof...(Parts) > 0) std::get<0>(parts_).check_input(values);
  }
  template <class F>
  void for_each_parameter(F f) {
    std::apply([&](auto&... part) { (part.for_each_parameter(f), ...); }, parts_);
  }

 private:
  template <int I, class X>
  auto forward_from(X x, pass const& p) {
    if constexpr (I == static_cast<int>(sizeof...(Parts))) {
      return x;
    } else {
      auto y = std::get<I>(parts_).forward(std::move(x), p);
      x = {};
      return forward_from<I + 1>(std::move(y), p);
    }
  }
  template <int I, int First = 0, class DY>
  auto backward_from(DY dy) {
    if constexpr (I < First) {
      return dy;
    } else {
      auto dx = std::get<I>(parts_).backward(std::move(dy));
      dy = {};
      return backward_from<I - 1, First>(std::move(dx));
    }
  }

  std::tuple<Parts...> parts_;
};

namespace detail {

/// Dims of what comes out of layers one after the other.
template <int XRank>
constexpr int rank_through() {
  return XRank;
}
template <int XRank, class Layer, class... Rest>
constexpr int rank_through() {
  return rank_through<Layer::template y_rank<XRank>, Rest...>();
}

template <class... Layers>
constexpr bool first_takes_tokens() {
  if constexpr (sizeof...(Layers) == 0) return false;
  else return nn::takes_tokens<std::tuple_element_t<0, std::tuple<Layers...>>>();
}

template <class... Layers>
constexpr int first_input_rank() {
  if constexpr (sizeof...(Layers) == 0) return 2;
  else return nn::input_rank<std::tuple_element_t<0, std::tuple<Layers...>>>();
}

}  // namespace detail

/// The first layer's input -> the last one's output. Communicates what lies between two layers that are
/// placed differently.
template <class... Layers>
class chain {
 public:
  /// Elements of the plan; -1 if known at run time only.
  static constexpr int elements = ((element_count<Layers>() < 0) || ...)
                                      ? -1
                                      : (element_count<Layers>() + ... + 0);

  /// Whether the input is token ids.
  static constexpr bool takes_tokens = detail::first_takes_tokens<Layers...>();
  static constexpr int x_rank = detail::first_input_rank<Layers...>();

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

  template <class T, int XRank, class Mesh, class Cursor>
  auto place_part(Mesh const& m, shape const& x, Cursor const& cursor,
                  stream_counter& streams) const {
    return place_from<T, XRank, 0>(m, x, cursor, streams, std::tuple<>{});
  }

 private:
  template <class T, int XRank, int I, class Mesh, class Cursor, class... Placed>
  auto place_from(Mesh const& m, shape const& x, Cursor const& cursor, stream_counter& streams,
                  std::tuple<Placed...> done) const {
    if constexpr (I == static_cast<int>(sizeof...(Layers))) {
      return placed_chain<Placed...>(std::move(done));
    } else {
      auto const& layer = std::get<I>(layers_);
      using layer_type = std::tuple_element_t<I, std::tuple<Layers...>>;
      auto parts = std::tuple_cat(
          std::move(done), std::make_tuple(nn::place_part<T, XRank>(layer, m, x, cursor, streams)));
      auto const next = [&] {
        if constexpr (Cursor::is_static)
          return cursor.template advance<element_count<layer_type>()>();
        else return cursor.advance(nn::run_time_elements(layer));
      }();
      return place_from<T, layer_type::template y_rank<XRank>, I + 1>(
          m, nn::output_extents(layer, x), next, streams, std::move(parts));
    }
  }

  std::tuple<Layers...> layers_;
};

}  // namespace ashlar::nn
