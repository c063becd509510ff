// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Layers one after the other, and the same net several times.
//
//   chain(a, b, c)      a, then b, then c
//   repeat(n, block)    n copies with their own parameters; each copy may be placed differently.
//                       n is a run-time number, so the plan is one, too
//   repeat<N>(block)    the same as chain(block, …, block): typed plans need this form
//
// Every copy is a segment: a plan may recompute it. What a layer made is released as soon as the
// next one has used it, but for what they keep.

#include <tuple>
#include <utility>
#include <vector>

#include <ashlar/nn/segment.hpp>

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

template <class Placed>
class placed_repeat {
 public:
  explicit placed_repeat(std::vector<Placed> copies) : copies_(std::move(copies)) {}

  template <distributed X>
  auto forward(X x, pass const& p) {
    auto y = copies_.front().forward(std::move(x), p);
    for (std::size_t i = 1; i < copies_.size(); ++i) y = copies_[i].forward(std::move(y), p);
    return y;
  }
  template <distributed DY>
  auto backward(DY dy) {
    auto dx = copies_.back().backward(std::move(dy));
    for (std::size_t i = copies_.size() - 1; i-- > 0;) dx = copies_[i].backward(std::move(dx));
    return dx;
  }
  template <distributed DY>
  void backward_first(DY dy) {
    for (std::size_t i = copies_.size() - 1; i > 0; --i) dy = copies_[i].backward(std::move(dy));
    nn::backward_first(copies_.front(), std::move(dy));
  }
  template <class Values>
  void check_input(Values values) const {
    copies_.front().check_input(values);
  }
  template <class F>
  void for_each_parameter(F f) {
    for (auto& copy : copies_) copy.for_each_parameter(f);
  }

 private:
  std::vector<Placed> copies_;
};

/// n copies of a layer whose output has the extents of its input.
template <class Layer>
class repeated {
 public:
  static constexpr int elements = -1;
  static constexpr bool takes_tokens = nn::takes_tokens<Layer>();
  static constexpr int x_rank = nn::input_rank<Layer>();
  template <int XRank>
  static constexpr int y_rank = XRank;

  constexpr repeated(int n, Layer layer) : n_(n), layer_(std::move(layer)) {
    if (n < 1) throw error("nn::repeat", "a net is repeated 1 time or more.");
  }

  constexpr int run_time_elements() const { return n_ * nn::run_time_elements(layer_); }

  template <class Problem>
  constexpr shape describe_into(Problem& problem, shape const& x) const {
    if (!(nn::output_extents(layer_, x) == x))
      throw error("nn::repeat", "the repeated net changes the extents " + to_string(x) + " to " +
                                    to_string(nn::output_extents(layer_, x)) + ".");
    for (int i = 0; i < n_; ++i) nn::describe_into(layer_, problem, x);
    return x;
  }
  constexpr shape output_extents(shape const& x) const { return x; }

  template <class T, int XRank, class Mesh, class Cursor>
  auto place_part(Mesh const& m, shape const& x, Cursor cursor, stream_counter& streams) const {
    static_assert(!Cursor::is_static,
                  "nn::place: repeat(n, block) has a run-time n. A typed model needs the form "
                  "repeat<n>(block).");
    static_assert(Layer::template y_rank<XRank> == XRank,
                  "nn::repeat: the repeated net changes the number of dims.");
    using placed = decltype(nn::place_part<T, XRank>(layer_, m, x, cursor, streams));
    std::vector<placed> copies;
    for (int i = 0; i < n_; ++i) {
      copies.push_back(nn::place_part<T, XRank>(layer_, m, x, cursor, streams));
      cursor = cursor.advance(nn::run_time_elements(layer_));
    }
    return placed_repeat<placed>(std::move(copies));
  }

 private:
  int n_;
  Layer layer_;
};

/// n copies of a net, one after the other.
template <class Layer>
constexpr repeated<segment<Layer>> repeat(int n, Layer layer) {
  return {n, segment(std::move(layer))};
}

/// N copies of a net, as a chain whose length the compiler knows.
template <int N, class Layer>
constexpr auto repeat(Layer const& layer) {
  return []<std::size_t... I>(segment<Layer> const& l, std::index_sequence<I...>) {
    return chain((static_cast<void>(I), l)...);
  }
  (segment(layer), std::make_index_sequence<static_cast<std::size_t>(N)>{});
}

}  // namespace ashlar::nn
