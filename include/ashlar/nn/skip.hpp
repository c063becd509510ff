// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A skip concatenates x and f(x) along one dim, as the long connections of a U-Net do:
//
//   skip(f)       along dim 1: the channels of images, or the features of rows
//   skip<2>(f)    along dim 2, such as the features of token sequences
//
// Only the extent of this dim may differ between x and f(x). In a plan, a skip consists of a begin
// element, the elements of f and an end element, as a residual does (residual.hpp). Both ends have
// the same placements. At both ends, no mesh axis splits the dim that is concatenated, so the end
// only copies within each rank. In the backward pass, the end cuts dy into the gradients of both
// branches, and the begin adds the gradients of x from both branches. The skipped value and its
// gradient are never redistributed.

#include <ashlar/nn/branch_node.hpp>
#include <ashlar/nn/branched_net.hpp>
#include <ashlar/nn/join.hpp>

namespace ashlar::nn {

/// A net that maps x to the concatenation of x and inner(x) along dim Dim. skip() below makes it.
template <int Dim, class Inner>
class skipping : public branched_net<Inner> {
  static_assert(
      Dim >= 1,
      "nn::skip<Dim>(inner): dim 0 counts the samples of a batch, which no layer may "
      "concatenate. Take the dim of the channels or features, such as nn::skip<1>(inner).");

 public:
  constexpr explicit skipping(Inner inner) : branched_net<Inner>(std::move(inner)) {}

  template <class Problem>
  constexpr shape describe_into(Problem& problem, shape const& x) const {
    search::layer_spec ends;
    ends.name = "skip";
    ends.x = ends.y = x;
    for (auto const& row : independent_training_rows(x.rank()))
      if (!splits(row)) ends.rows.push_back(row);
    // The begin adds the gradients of both branches.
    ends.backward_values = 3 * static_cast<double>(x.elements());
    int const begin = problem.size();
    problem.add(ends, search::element_kind::residual_begin);
    ends.x = nn::describe_into(this->inner_, problem, x);
    ends.y = joined(x, ends.x);
    problem[begin].partner = problem.size();
    // The end copies every element of its result, and of its gradient.
    ends.forward_values = ends.backward_values = 2 * static_cast<double>(ends.y.elements());
    problem.add(ends, search::element_kind::residual_end, begin);
    return ends.y;
  }
  constexpr shape output_extents(shape const& x) const {
    return joined(x, nn::output_extents(this->inner_, x));
  }

  template <class T, int XRank, class Net, class Cursor>
  void place_part(Net& net, shape const& x, Cursor const& cursor) const {
    static_assert(Dim < XRank, "nn::skip<Dim>(inner): the tensors have no dim Dim. Dims count from "
                               "0, such as 1 for the features of rows.");
    using at = decltype(cursor.choice());
    net.nodes.push_back(std::make_unique<branch_node<T, XRank, at>>("skip"));
    nn::place_part<T, XRank>(this->inner_, net, x, cursor.template advance<1>());
    net.nodes.push_back(std::make_unique<concatenation_node<T, XRank, Dim, at>>("skip", x[Dim]));
  }

 private:
  static constexpr bool splits(training_row const& row) {
    for (auto const* role : {&row.x, &row.y, &row.dy, &row.dx})
      if (role->is_split() && role->dim == Dim) return true;
    return false;
  }

  static constexpr shape joined(shape const& x, shape const& y) {
    if (!join::concatenation<Dim>::fits(x, y))
      throw error("nn::skip", "the inner net changes the extents " + to_string(x) + " to " +
                                  to_string(y) + ", so its output cannot be concatenated with x " +
                                  "along dim " + std::to_string(Dim) +
                                  ". It may change the extent of this dim only.");
    return join::concatenation<Dim>::joined(x, y);
  }
};

/// Returns a net that maps x to the concatenation of x and inner(x) along dim Dim. Only the extent
/// of this dim may differ between x and inner(x); nn::describe throws ashlar::error if another
/// extent differs. Requires Dim to be 1 or more, since dim 0 counts samples. Communicates nothing.
template <int Dim = 1, class Inner>
constexpr skipping<Dim, Inner> skip(Inner inner) {
  return skipping<Dim, Inner>(std::move(inner));
}

}  // namespace ashlar::nn
