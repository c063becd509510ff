// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Repeats a net several times in sequence.
//
//   repeat(n, block)    n copies with their own parameters; each copy may be placed differently. n
//                       is a run-time number, so the plan must be a run-time value.
//   repeat<N>(block)    the same as chain(block, …, block). Typed plans need this form.
//
// Every copy is a segment: a plan may recompute it in the backward pass (segment.hpp). The
// activations between copies are released as soon as the next copy has read them. Only the values
// that layers keep for the backward pass stay in memory.

#include <cstdint>
#include <string>
#include <utility>

#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/segment.hpp>

namespace ashlar::nn {

/// The largest number of elements of a repeated net. Searching the plan of a net of this length
/// takes seconds.
inline constexpr std::int64_t most_elements = std::int64_t(1) << 17;

/// n copies of a layer whose output has the same extents as its input.
template <class Layer>
class repeated {
 public:
  static constexpr int elements = -1;
  static constexpr bool takes_tokens = nn::takes_tokens<Layer>();
  static constexpr int x_rank = nn::input_rank<Layer>();
  template <int XRank>
  static constexpr int y_rank = XRank;

  constexpr repeated(int n, Layer layer) : n_(n), layer_(std::move(layer)) {
    if (n < 1) throw error("nn::repeat", "the number of repetitions must be 1 or more.");
    std::int64_t const each = nn::run_time_elements(layer_);
    if (n * each > most_elements)
      throw error("nn::repeat", std::to_string(n) + " copies of a net of " + std::to_string(each) +
                                    " elements are too many. A net has at most " +
                                    std::to_string(most_elements) + " elements.");
  }

  constexpr int run_time_elements() const { return n_ * nn::run_time_elements(layer_); }
  constexpr auto const& first_layer() const { return nn::first_layer(layer_); }

  template <class Problem>
  constexpr shape describe_into(Problem& problem, shape const& x) const {
    if (!(nn::output_extents(layer_, x) == x))
      throw error("nn::repeat", "the repeated net changes the extents " + to_string(x) + " to " +
                                    to_string(nn::output_extents(layer_, x)) + ".");
    for (int i = 0; i < n_; ++i) nn::describe_into(layer_, problem, x);
    return x;
  }
  constexpr shape output_extents(shape const& x) const { return x; }

  template <class T, int XRank, class Net, class Cursor>
  void place_part(Net& net, shape const& x, Cursor cursor) const {
    static_assert(!Cursor::is_static,
                  "nn::place: repeat(n, block) has a run-time n. A typed model needs the form "
                  "repeat<n>(block).");
    static_assert(output_rank<Layer, XRank>() == XRank,
                  "nn::repeat: the repeated net changes the number of dims.");
    for (int i = 0; i < n_; ++i) {
      net.inside(static_cast<std::size_t>(i),
                 [&] { nn::place_part<T, XRank>(layer_, net, x, cursor); });
      cursor = advance_past(layer_, cursor);
    }
  }

 private:
  int n_;
  Layer layer_;
};

/// Returns n copies of a net in sequence.
template <class Layer>
constexpr repeated<segment<Layer>> repeat(int n, Layer layer) {
  return {n, segment(std::move(layer))};
}

/// Returns N copies of a net as a chain, whose length is known at compile time.
template <int N, class Layer>
constexpr auto repeat(Layer const& layer) {
  return []<std::size_t... Index>(segment<Layer> const& l, std::index_sequence<Index...>) {
    return chain((static_cast<void>(Index), l)...);
  }(segment(layer), std::make_index_sequence<static_cast<std::size_t>(N)>{});
}

}  // namespace ashlar::nn
