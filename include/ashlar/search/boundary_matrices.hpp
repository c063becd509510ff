// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The matrices of boundary_weights.hpp that were asked for: one per pair of classes (chain_model.hpp),
// extents of the boundary and times that a step crosses it, kept until a class changes.

#include <vector>

#include <ashlar/search/cost.hpp>
#include <ashlar/support/scratch.hpp>

namespace ashlar::search {

struct boundary_matrix {
  int left, right;  ///< classes
  boundary_times times;
  shape extents;
  scratch<double> weight;  ///< [choice of the left][choice of the right]
  scratch<double> transposed{};

  /// [choice of the right][choice of the left], for n choices of the left and k of the right.
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
  /// The one of these classes; `make()` gives its weights if it is not known. Others are elsewhere after
  /// the next call; their weights stay where they are.
  template <class Make>
  constexpr boundary_matrix& find(int left, int right, boundary_times const& times,
                                  shape const& extents, Make const& make) {
    for (boundary_matrix& it : known_)
      if (it.left == left && it.right == right && it.times == times && it.extents == extents)
        return it;
    known_.push_back({left, right, times, extents, make()});
    return known_.back();
  }

  /// The choices of a class have changed.
  constexpr void forget(int k) {
    std::erase_if(known_, [k](auto const& it) { return it.left == k || it.right == k; });
  }

 private:
  std::vector<boundary_matrix> known_;
};

}  // namespace ashlar::search
