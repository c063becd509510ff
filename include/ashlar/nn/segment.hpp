// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A part of a net that a plan may recompute (activation checkpointing): step/problem.hpp says what that
// costs and saves. segment(block) is what repeat makes of each copy; a segment within another one counts for
// nothing.
//
//   recomputed   forward                       backward
//   no           keeps what its layers keep    theirs
//   yes          keeps its input alone         forward once more, now keeping all, then theirs
//
// The second forward pass has the first one's input and random numbers, so its values are the same bit by
// bit. The program of the step lists it (step/build.hpp); a placed net has nothing to do with it.

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

  template <class Problem>
  constexpr shape describe_into(Problem& problem, shape const& x) const {
    int const first = problem.size();
    auto const y = nn::describe_into(layer_, problem, x);
    problem.add_segment(first);
    return y;
  }
  constexpr shape output_extents(shape const& x) const { return nn::output_extents(layer_, x); }

  template <class T, int XRank, class Net, class Cursor>
  auto place_part(Net& net, shape const& x, Cursor const& cursor) const {
    return nn::place_part<T, XRank>(layer_, net, x, cursor);
  }

 private:
  Layer layer_;
};

}  // namespace ashlar::nn
