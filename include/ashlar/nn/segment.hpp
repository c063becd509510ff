// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A part of a net whose forward pass a plan may recompute in the backward pass (activation
// checkpointing). nn::repeat makes a segment of each copy of its net. Segments inside another
// segment have no effect. step/problem.hpp describes the costs and savings.
//
//   recomputed   forward pass                     backward pass
//   no           keeps what its layers keep       the backward passes of its layers
//   yes          keeps only its input             a second forward pass, which keeps what the
//                                                 layers keep, then their backward passes
//
// The second forward pass has the same input and random numbers as the first one. So its values are
// the same bit by bit. The recomputation is part of the step's program (step/build.hpp), so placing
// a segment is the same as placing its layer.

#include <ashlar/nn/place_part.hpp>

namespace ashlar::nn {

template <class Layer>
class segment {
 public:
  static constexpr int elements = element_count<Layer>();
  static constexpr bool takes_tokens = nn::takes_tokens<Layer>();
  static constexpr int x_rank = nn::input_rank<Layer>();
  template <int XRank>
  static constexpr int y_rank = output_rank<Layer, XRank>();

  constexpr explicit segment(Layer layer) : layer_(std::move(layer)) {}

  constexpr int run_time_elements() const { return nn::run_time_elements(layer_); }
  constexpr auto const& first_layer() const { return nn::first_layer(layer_); }

  template <class Problem>
  constexpr shape describe_into(Problem& problem, shape const& x) const {
    int const first = problem.size();
    auto const y = nn::describe_into(layer_, problem, x);
    problem.add_segment(first);
    return y;
  }
  constexpr shape output_extents(shape const& x) const { return nn::output_extents(layer_, x); }

  template <class T, int XRank, class Net, class Cursor>
  void place_part(Net& net, shape const& x, Cursor const& cursor) const {
    nn::place_part<T, XRank>(layer_, net, x, cursor);
  }

 private:
  Layer layer_;
};

}  // namespace ashlar::nn
