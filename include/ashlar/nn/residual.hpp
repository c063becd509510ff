// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A residual, y = x + f(x). In a plan it consists of a begin element, the elements of f and an end
// element. The end adds x and f(x), so they must have the same placement. In the backward pass the
// begin adds the gradients of both branches, so these must have the same placement, too. Therefore
// the plan gives the begin and the end the same placements (step/problem.hpp). The skipped value
// and its gradient are never redistributed.

#include <ashlar/nn/branch_node.hpp>
#include <ashlar/nn/branched_net.hpp>

namespace ashlar::nn {

/// A net that maps x to x + inner(x). The inner net must not change the extents.
template <class Inner>
class residual : public branched_net<Inner> {
 public:
  constexpr explicit residual(Inner inner) : branched_net<Inner>(std::move(inner)) {}

  template <class Problem>
  constexpr shape describe_into(Problem& problem, shape const& x) const {
    search::layer_spec sum;
    sum.name = "residual";
    sum.x = sum.y = x;
    sum.rows = independent_training_rows(x.rank());
    double const added = 3 * static_cast<double>(x.elements());
    // The begin adds the gradients of both branches.
    sum.backward_values = added;
    int const begin = problem.size();
    problem.add(sum, search::element_kind::residual_begin);
    auto const y = nn::describe_into(this->inner_, problem, x);
    if (!(y == x))
      throw error("nn::residual", "the inner net changes the extents " + to_string(x) + " to " +
                                      to_string(y) + ", so its output cannot be added to x.");
    problem[begin].partner = problem.size();
    sum.backward_values = 0;
    sum.forward_values = added;
    problem.add(sum, search::element_kind::residual_end, begin);
    return x;
  }
  constexpr shape output_extents(shape const& x) const { return x; }

  template <class T, int XRank, class Net, class Cursor>
  void place_part(Net& net, shape const& x, Cursor const& cursor) const {
    using node = branch_node<T, XRank, decltype(cursor.choice())>;
    net.nodes.push_back(std::make_unique<node>("residual"));
    nn::place_part<T, XRank>(this->inner_, net, x, cursor.template advance<1>());
    net.nodes.push_back(std::make_unique<node>("residual"));
  }
};

}  // namespace ashlar::nn
