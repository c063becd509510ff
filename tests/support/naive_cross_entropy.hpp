// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The parts of softmax cross-entropy as plain loops over indices, like the operators of
// naive_kernels.hpp.

#include <support/naive_kernels.hpp>

namespace ashlar_test {

/// Calls visit(row, at) for each row of logits [.., classes]. `row` is the index without the class.
/// `at(k)` returns the index of the row's logit of class k.
template <class Visit>
void for_each_row(dense const& x, Visit visit) {
  index rows = x.extents;
  rows.pop_back();
  for_each_index(rows, [&](index const& row) {
    visit(row, [&](int k) {
      index i = row;
      i.push_back(k);
      return i;
    });
  });
}

inline auto logits_and_targets(int rank) {
  return [=](extent_source& extents) {
    index rows = dims(extents, rank - 1), e = rows;
    e.push_back(extents(1));
    return std::vector{random_integers(extents.random, e, -3, 3),
                       random_integers(extents.random, rows, 0, e.back() - 1)};
  };
}

inline index rows_of_logits(dense const& x) { return {x.extents.begin(), x.extents.end() - 1}; }

/// Returns the cross-entropy loss, summed over rows: log(sum of exp(logit)) - target's logit.
inline operation cross_entropy(int rank) {
  return {logits_and_targets(rank),
          [](pieces const& x) -> std::optional<dense> {
            if (x[1].extents != rows_of_logits(x[0])) return {};
            dense loss(index{});
            bool fits = true;
            for_each_row(x[0], [&](index const& row, auto at) {
              int const target = static_cast<int>(x[1](row));
              if (target < 0 || target >= x[0].extents.back()) return void(fits = false);
              double sum = 0;
              for (int k = 0; k < x[0].extents.back(); ++k) sum += std::exp(x[0](at(k)));
              loss.values[0] += std::log(sum) - x[0](at(target));
            });
            if (!fits) return {};
            return loss;
          },
          1e-9};
}

/// Returns the operation that computes the gradient of the logits from (logits, targets, gradient
/// of the loss).
inline operation cross_entropy_gradient(int rank) {
  return {[=](extent_source& extents) {
            auto operands = logits_and_targets(rank)(extents);
            operands.push_back(random_integers(extents.random, {}, 1, 3));
            return operands;
          },
          [](pieces const& x) -> std::optional<dense> {
            if (x[1].extents != rows_of_logits(x[0])) return {};
            dense gradient(x[0].extents);
            for_each_row(x[0], [&](index const& row, auto at) {
              double sum = 0;
              for (int k = 0; k < x[0].extents.back(); ++k) sum += std::exp(x[0](at(k)));
              for (int k = 0; k < x[0].extents.back(); ++k)
                gradient(at(k)) = x[2].values[0] * (std::exp(x[0](at(k))) / sum - (k == x[1](row)));
            });
            return gradient;
          },
          1e-9};
}

/// Computes, for each row, the sum of exp(logit - maximum of the row).
inline operation shifted_exponentials(int rank) {
  return {[=](extent_source& extents) {
            auto operands = logits_and_targets(rank)(extents);
            operands[1] = reduced_over(operands[0], rank - 1, reduction::max);
            return operands;
          },
          [](pieces const& x) -> std::optional<dense> {
            if (x[1].extents != rows_of_logits(x[0])) return {};
            dense sum(rows_of_logits(x[0]));
            for_each_row(x[0], [&](index const& row, auto at) {
              for (int k = 0; k < x[0].extents.back(); ++k)
                sum(row) += std::exp(x[0](at(k)) - x[1](row));
            });
            return sum;
          },
          1e-9};
}

/// Picks each row's target logit, or zero if the shard of the logits lacks the target's class.
/// `rank` is the number of dims of the logits.
inline operation target_logits(int rank) {
  return {logits_and_targets(rank), [](pieces const& x) -> std::optional<dense> {
            if (x[1].extents != rows_of_logits(x[0])) return {};
            dense result(rows_of_logits(x[0]));
            for_each_row(x[0], [&](index const& row, auto at) {
              int const k = static_cast<int>(x[1](row)) - x.begin[0].back();
              if (k >= 0 && k < x[0].extents.back()) result(row) = x[0](at(k));
            });
            return result;
          }};
}

}  // namespace ashlar_test
