// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// y = x + f(x). Both addends, and the gradients of both, must lie alike: the plan has one choice for
// the pair of elements around f (step/problem.hpp). The skipped branch itself moves nothing.

#include <ashlar/nn/layer.hpp>
#include <ashlar/tensor/elementwise.hpp>

namespace ashlar::nn {

template <class Inner, class At>
class placed_residual {
 public:
  placed_residual(Inner inner, At const& at) : inner_(std::move(inner)), at_(at) {}

  template <distributed X>
  auto forward(X const& x, pass const& p) {
    auto const skipped = redistribute(x, at_.x());
    return skipped + redistribute(inner_.forward(skipped, p), at_.y());
  }
  template <distributed DY>
  auto backward(DY const& dy) {
    auto const skipped = redistribute(dy, at_.dy());
    return skipped + redistribute(inner_.backward(skipped), at_.dx());
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
  Inner inner_;
  At at_;
};

/// x -> x + inner(x), of the same extents.
template <class Inner>
class residual {
 public:
  static constexpr int elements = element_count<Inner>() < 0 ? -1 : element_count<Inner>() + 2;
  static constexpr bool takes_tokens = nn::takes_tokens<Inner>();
  static constexpr int x_rank = nn::input_rank<Inner>();
  template <int XRank>
  static constexpr int y_rank = XRank;

  constexpr explicit residual(Inner inner) : inner_(std::move(inner)) {}

  constexpr int run_time_elements() const { return nn::run_time_elements(inner_) + 2; }

  template <class Problem>
  constexpr shape describe_into(Problem& problem, shape const& x) const {
    search::layer_spec sum;
    sum.name = "residual";
    sum.x = sum.y = x;
    sum.rows = independent_training_rows(x.rank());
    double const added = 3 * static_cast<double>(x.elements());
    sum.saved_values = static_cast<double>(x.elements());  // the skipped branch is held
    sum.backward_values = added;  // the gradients of both branches are added where they begin
    int const begin = problem.size();
    problem.add(sum, search::element_kind::residual_begin);
    auto const y = nn::describe_into(inner_, problem, x);
    if (!(y == x))
      throw error("nn::residual", "the net inside changes the extents " + to_string(x) + " to " +
                                      to_string(y) + ", so its output cannot be added to x.");
    problem[begin].partner = problem.size();
    sum.saved_values = sum.backward_values = 0;
    sum.forward_values = added;
    problem.add(sum, search::element_kind::residual_end, begin);
    return x;
  }
  constexpr shape output_extents(shape const& x) const { return x; }

  template <class T, int XRank, class Mesh, class Cursor>
  auto place_part(Mesh const& m, shape const& x, Cursor const& cursor,
                  stream_counter& streams) const {
    auto const at = cursor.choice();
    return placed_residual(
        nn::place_part<T, XRank>(inner_, m, x, cursor.template advance<1>(), streams), at);
  }

 private:
  Inner inner_;
};

}  // namespace ashlar::nn
