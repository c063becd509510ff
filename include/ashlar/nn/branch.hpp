// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A branch: two nets f and g read the same x, and their outputs are joined:
//
//   branch(f, g, join::add)            f(x) + g(x)
//   branch(f, g, join::multiply)       f(x) · g(x)
//   branch(f, g, join::concat<1>)      f(x), then g(x), along dim 1
//   branch(f, g, formula(..))          a formula of f(x) and g(x) (formula_join.hpp)
//
// In the backward pass, the gradients that f and g make for x are added. In a plan, a branch
// consists of a begin element, the elements of f, a turn element, the elements of g, and an end
// element. A plan chooses the placement at the begin, from which both nets start, and the placement
// at the end, in which the outputs of both nets must be. So x can be redistributed before the
// branch and tensors can be redistributed inside f and g, but a tensor that waits for the other net
// is not redistributed. The turn computes nothing (step/problem.hpp). A net without layers is
// refused: that branch would be a residual or a skip.
//
// A pipeline is not cut inside a branch. A plan recomputes a branch as a whole or not at all, so
// segments inside it are ignored.

#include <utility>

#include <ashlar/nn/join.hpp>
#include <ashlar/nn/place_part.hpp>

namespace ashlar::nn {

/// A net that maps x to the joined outputs of two nets. branch() below makes it.
template <class First, class Second, class Join>
class branching {
  static_assert(!nn::takes_tokens<First>() && !nn::takes_tokens<Second>(),
                "nn::branch: the two nets cannot read ids. Put the embedding before the branch.");

 public:
  static constexpr int elements = element_count<First>() < 0 || element_count<Second>() < 0
                                      ? -1
                                      : element_count<First>() + element_count<Second>() + 3;
  static constexpr int x_rank = nn::input_rank<First>();
  template <int XRank>
  static constexpr int y_rank = Join::template y_rank<output_rank<First, XRank>()>;

  constexpr branching(First first, Second second, Join join)
      : first_(std::move(first)), second_(std::move(second)), join_(std::move(join)) {}

  constexpr int run_time_elements() const {
    return nn::run_time_elements(first_) + nn::run_time_elements(second_) + 3;
  }
  constexpr auto const& first_layer() const { return nn::first_layer(first_); }

  template <class Problem>
  constexpr shape describe_into(Problem& problem, shape const& x) const {
    int const begin = problem.size(), segments = problem.segments;
    search::layer_spec ends;
    ends.name = "branch";
    ends.x = ends.y = x;
    ends.rows = independent_training_rows(x.rank());
    ends.backward_values = 3 * static_cast<double>(x.elements());  // the begin adds two gradients
    problem.add(ends, search::element_kind::branch_begin);
    search::layer_spec between;
    between.name = "branch";
    between.x = nn::describe_into(first_, problem, x);
    between.y = x;
    int const turn = problem.size();
    problem.add(between, search::element_kind::branch_turn);
    problem[begin].partner = turn;
    search::layer_spec end;
    end.name = "branch";
    end.x = nn::describe_into(second_, problem, x);
    if (turn == begin + 1 || problem.size() == turn + 1)
      throw error("nn::branch",
                  "one of the two nets has no layers. Write nn::residual(f) for x + f(x), and "
                  "nn::skip(f) for the concatenation of x and f(x).");
    end.y = joined(between.x, end.x);
    join_.describe(end);
    problem[turn].partner = problem.size();
    problem.add(end, Join::kind, begin);
    for (int i = begin; i < problem.size(); ++i) problem[i].segment = -1;
    problem.segments = segments;
    return end.y;
  }
  constexpr shape output_extents(shape const& x) const {
    return joined(nn::output_extents(first_, x), nn::output_extents(second_, x));
  }

  template <class T, int XRank, class Net, class Cursor>
  void place_part(Net& net, shape const& x, Cursor const& cursor) const {
    constexpr int rank = output_rank<First, XRank>();
    static_assert(rank == output_rank<Second, XRank>(),
                  "nn::branch: the outputs of the two nets have different numbers of dims.");
    auto const inside = cursor.template advance<1>();
    auto const turn = advance_past(first_, inside);
    auto const behind = turn.template advance<1>();
    auto const end = advance_past(second_, behind);
    using at_begin = decltype(cursor.choice());
    auto const at_end = end.choice();
    net.nodes.push_back(std::make_unique<branch_node<T, XRank, at_begin>>("branch"));
    net.inside(0, [&] { nn::place_part<T, XRank>(first_, net, x, inside); });
    net.nodes.push_back(std::make_unique<branch_node<T, XRank, at_begin>>("branch"));
    net.inside(1, [&] { nn::place_part<T, XRank>(second_, net, x, behind); });
    net.nodes.push_back(join_.template node<T, rank>(nn::output_extents(first_, x), at_end));
  }

 private:
  constexpr shape joined(shape const& first, shape const& second) const {
    if (!Join::fits(first, second))
      throw error("nn::branch", "the first net makes " + to_string(first) + " and the second " +
                                    to_string(second) + ", which cannot be joined. " + Join::need);
    return join_.joined(first, second);
  }

  First first_;
  Second second_;
  [[no_unique_address]] Join join_;
};

/// Returns a net that maps x to first(x) and second(x), joined by `join`: nn::join::add, ::multiply
/// or ::concat<Dim>. nn::describe throws ashlar::error if the extents of the two outputs do not fit
/// the join, or if one of the nets has no layers. Communicates nothing.
template <class First, class Second, class Join>
constexpr branching<First, Second, Join> branch(First first, Second second, Join join) {
  static_assert(
      requires { Join::kind; },
      "nn::branch: the third argument says how the outputs are joined: nn::join::add, "
      "nn::join::multiply, nn::join::concat<1>, or a formula of both, for which "
      "ashlar/nn/formula_join.hpp is included.");
  return {std::move(first), std::move(second), std::move(join)};
}

}  // namespace ashlar::nn
