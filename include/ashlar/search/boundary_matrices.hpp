// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the cost of the boundary between two neighbours of a chain for every pair of their
// choices, as a matrix. This cost is the time to move the activation forward and its gradient back
// (boundary_times in cost.hpp). It is computed for the extents that the tensor has at the boundary
// (boundary_extents in step/problem.hpp). A neighbour may view the same tensor with other extents:
// for example, attention views features as heads.
//
// A matrix is computed at its first use. Two boundaries share a matrix if three things are equal:
// the classes of their neighbours (sets of equal elements, chain_model.hpp), the extents, and the
// number of moves per step. A matrix is dropped when the choices of one of its classes change.

#include <vector>

#include <ashlar/search/choice_class.hpp>
#include <ashlar/search/cost.hpp>
#include <ashlar/support/scratch.hpp>

namespace ashlar::search {

/// Returns the weights of the moves between two neighbours as a matrix. It has a row per choice of
/// the left element and a column per choice of the right element. `times` says how often a step
/// performs these moves.
template <int N, tabulated_move_prices Paths>
constexpr scratch<double> boundary_weights(choice_class const& left, choice_class const& right,
                                           shape const& extents, basic_problem<N> const& net,
                                           boundary_times const& times, Paths& paths) {
  int const n = left.size(), k = right.size();
  int const table = paths.table(extents, net.element_size);
  // A state is the number of a placement in the price tables. The numbers depend on how many dims
  // the tensor has, but not on its extents. So the states stored in a class are valid here, unless
  // the boundary has more or fewer dims than the tensors of the class.
  auto const states = [&](choice_class const& c, scratch<int> const& own, int rank,
                          placement layer_choice::*which) {
    if (rank == extents.rank()) return own;
    scratch<int> list(own.size());
    for (int j = 0; j < c.size(); ++j)
      list.data()[j] = paths.state(table, c.choices.data()[j].*which);
    return list;
  };
  int const y_rank = left.y_extents.rank(), x_rank = right.x_extents.rank();
  auto const y = states(left, left.y, y_rank, &layer_choice::y);
  auto const dy = states(left, left.dy, y_rank, &layer_choice::dy);
  auto const x = states(right, right.x, x_rank, &layer_choice::x);
  auto const dx = states(right, right.dx, x_rank, &layer_choice::dx);
  scratch<double const*> from_dx(dx.size());
  double const** const back = from_dx.data();
  for (int b = 0; b < k; ++b) back[b] = paths.weight_from(table, dx.data()[b]);
  scratch<double> matrix(static_cast<std::size_t>(n) * static_cast<std::size_t>(k));
  double* out = matrix.data();
  int const* const sx = x.data();
  for (int a = 0; a < n; ++a) {
    double const* const forth = paths.weight_from(table, y.data()[a]);
    int const target = dy.data()[a];
    for (int b = 0; b < k; ++b) *out++ = times(forth[sx[b]], back[b][target]);
  }
  return matrix;
}

struct boundary_matrix {
  int left, right;  ///< indices of the classes of the two neighbours
  boundary_times times;
  shape extents;
  scratch<double> weight;  ///< [choice of the left element][choice of the right element]
  scratch<double> transposed{};

  /// Returns the transposed matrix, [choice of the right element][choice of the left element]. `n`
  /// and `k` are the numbers of choices of the left and the right element.
  constexpr double const* from_right(int n, int k) {
    if (transposed.size() == 0) {
      transposed = scratch<double>(weight.size());
      double* out = transposed.data();
      double const* const straight = weight.data();
      for (int b = 0; b < k; ++b)
        for (int a = 0; a < n; ++a) *out++ = straight[a * k + b];
    }
    return transposed.data();
  }
};

class boundary_matrices {
 public:
  /// Returns the matrix for two classes (sets of equal elements). If the matrix is not known yet,
  /// `make()` computes its weights. Each call invalidates the references that earlier calls
  /// returned, but not pointers to weights.
  template <class Make>
  constexpr boundary_matrix& find(int left, int right, boundary_times const& times,
                                  shape const& extents, Make const& make) {
    for (boundary_matrix& it : known_)
      if (it.left == left && it.right == right && it.times == times && it.extents == extents)
        return it;
    known_.push_back({left, right, times, extents, make()});
    return known_.back();
  }

  /// Drops the matrices of class k (a set of equal elements), because the choices of the class have
  /// changed.
  constexpr void forget(int k) {
    std::erase_if(known_, [k](auto const& it) { return it.left == k || it.right == k; });
  }

 private:
  std::vector<boundary_matrix> known_;
};

}  // namespace ashlar::search
