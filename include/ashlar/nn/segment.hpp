// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A part of a net that a plan may recompute: step/problem.hpp says what that costs and saves.
//
//   segment(block)      as repeat makes of each copy; a segment within another counts for nothing
//
//   recomputed   forward                      backward
//   no           keeps what its layers keep   theirs
//   yes          keeps x alone                forward once more, now keeping all, then theirs
//
// The second forward pass has the first one's x and pass, so its values are the same bit by bit,
// dropout included. A layer that keeps something although pass::saves() says no is right all the
// same; it only needs more memory.

#include <ashlar/nn/layer.hpp>

namespace ashlar::nn {

template <class Inner, class X, class XAt>
class placed_segment {
 public:
  placed_segment(Inner inner, XAt const& x, bool recomputed)
      : inner_(std::move(inner)), x_at_(x), recomputed_(recomputed) {}

  template <distributed Input>
  auto forward(Input x, pass p) {
    if (recomputed_ && p.saves()) {
      x_ = redistribute(x, x_at_);
      pass_ = p;
      p.keep = false;
      return inner_.forward(x_, p);
    }
    return inner_.forward(std::move(x), p);
  }
  template <distributed DY>
  auto backward(DY dy) {
    make_again();
    return inner_.backward(std::move(dy));
  }
  template <distributed DY>
  void backward_first(DY dy) {
    make_again();
    nn::backward_first(inner_, std::move(dy));
  }
  template <class Values>
  void check_input(Values values) const {
    inner_.check_input(values);
  }
  template <class F>
  void for_each_parameter(F f) {
    inner_.for_each_parameter(f);
  }

 private:
  void make_again() {
    if (!recomputed_) return;
    inner_.forward(x_, pass_);
    x_ = {};
  }

  Inner inner_;
  XAt x_at_;
  bool recomputed_;
  X x_;
  pass pass_;
};

template <class Layer>
class segment {
 public:
  static constexpr int elements = element_count<Layer>();
  static constexpr bool takes_tokens = nn::takes_tokens<Layer>();
  static constexpr int x_rank = nn::input_rank<Layer>();
  template <int XRank>
  static constexpr int y_rank = Layer::template y_rank<XRank>;

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

  template <class T, int XRank, class Mesh, class Cursor>
  auto place_part(Mesh const& m, shape const& x, Cursor const& cursor,
                  stream_counter& streams) const {
    if constexpr (elements == 0) {
      return nn::place_part<T, XRank>(layer_, m, x, cursor, streams);
    } else {
      using input = std::conditional_t<takes_tokens, std::int32_t, T>;
      auto at = cursor.choice().x();
      bool const outermost = !streams.in_segment;
      bool const recomputed = outermost && streams.segments < cursor.recomputed();
      streams.segments += outermost;
      streams.in_segment = true;
      auto inner = nn::place_part<T, XRank>(layer_, m, x, cursor, streams);
      streams.in_segment = !outermost;
      return placed_segment<decltype(inner),
                            tensor_for<input, XRank, decltype(at), typename Mesh::processor_type>,
                            decltype(at)>(std::move(inner), at, recomputed);
    }
  }

 private:
  Layer layer_;
};

}  // namespace ashlar::nn
