// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Softmax cross-entropy of each row of the logits x, with a target class (a column) per row. A row
// with a negative target is ignored: the loss and the gradient of the row are 0.
//
// The caller calls the functions in the order of this list. If the columns are split over ranks,
// each rank has the columns [first_column, first_column + cols). After each of the first three
// functions, the caller then all-reduces the result of the function over these ranks:
//
//   function                     result                                    all-reduce by
//   row_max (softmax.hpp)        maximum = max_c x[c]                      max
//   cross_entropy_exp_sum        sum = sum_c e^(x[c] - maximum)            sum
//   cross_entropy_target_logit   x[target], 0 if the column is not local   sum
//     or, with label smoothing, cross_entropy_expected_logit
//   cross_entropy_loss           maximum + log(sum) - x[target]
//   cross_entropy_gradient       scale e^(x[c] - maximum) / sum, minus `scale` if c = target
//
// With label smoothing, a row has a probability q[c] for each column c instead of one target
// (formula/cross_entropy.hpp).
//
// If the caller averages the losses of n rows, it passes scale = 1 / n.

#include <cstdint>
#include <type_traits>

#include <ashlar/config.hpp>
#include <ashlar/device/formula/cross_entropy.hpp>
#include <ashlar/device/host/map.hpp>
#include <ashlar/device/host/reduce.hpp>
#include <ashlar/device/host/softmax.hpp>
#include <ashlar/device/math.hpp>

namespace ashlar::device::host {

/// Computes sum[r], the sum of e^(x - maximum[r]) over the columns of this rank in row r.
/// maximum[r] must be the maximum of the complete row.
template <class T>
void cross_entropy_exp_sum(T const* logits, T const* maximum, std::int64_t rows, std::int64_t cols,
                           T* sum) {
  for (std::int64_t r = 0; r < rows; ++r) {
    T const* const row = logits + r * cols;
    sum[r] = reduce_sum<T>(
        cols, [row, shift = maximum[r]](std::int64_t c) { return math::exp(row[c] - shift); });
  }
}

/// Sets target_logit[r] to the logit of the target of row r. Sets target_logit[r] to 0 if the row
/// is ignored (negative target) or if the target's column belongs to another rank.
template <class T>
void cross_entropy_target_logit(T const* logits, std::int32_t const* targets, std::int64_t rows,
                                std::int64_t cols, std::int64_t first_column, T* target_logit) {
  for (std::int64_t r = 0; r < rows; ++r) {
    std::int64_t const c = targets[r] - first_column;
    bool const here = targets[r] >= 0 && c >= 0 && c < cols;
    target_logit[r] = here ? logits[r * cols + c] : T(0);
  }
}

/// Sets expected_logit[r] to the sum of q[c] x[c] over the columns c of this rank in row r, where
/// `q` has the probabilities of the classes under label smoothing. Sets expected_logit[r] to 0 if
/// the row is ignored.
template <class T>
void cross_entropy_expected_logit(T const* logits, std::int32_t const* targets, std::int64_t rows,
                                  std::int64_t cols, std::int64_t first_column,
                                  std::type_identity_t<target_distribution<T>> q,
                                  T* expected_logit) {
  cross_entropy_target_logit(logits, targets, rows, cols, first_column, expected_logit);
  for (std::int64_t r = 0; r < rows; ++r) {
    T const* const row = logits + r * cols;
    if (targets[r] >= 0)
      expected_logit[r] = q.own * expected_logit[r] +
                          q.each * reduce_sum<T>(cols, [row](std::int64_t c) { return row[c]; });
  }
}

/// Computes loss[r] = maximum[r] + log(sum[r]) - target_logit[r], or 0 if the target of row r is
/// negative. `maximum`, `sum` and `target_logit` must be the values of complete rows.
template <class T>
void cross_entropy_loss(T const* maximum, T const* sum, T const* target_logit,
                        std::int32_t const* targets, std::int64_t rows, T* loss) {
  for (std::int64_t r = 0; r < rows; ++r) {
    loss[r] = cross_entropy_row_loss(maximum[r], sum[r], target_logit[r], targets[r]);
  }
}

/// Computes `scale` times the gradient of the losses with respect to this rank's columns of the
/// logits. `maximum` and `sum` must be the values of complete rows. `gradient` may be `logits`. `q`
/// has the probabilities of the classes under label smoothing. By default, the target has
/// probability 1.
template <class T>
void cross_entropy_gradient(T const* logits, std::int32_t const* targets, T const* maximum,
                            T const* sum, std::int64_t rows, std::int64_t cols,
                            std::int64_t first_column, std::type_identity_t<T> scale, T* gradient,
                            std::type_identity_t<target_distribution<T>> q = {}) {
  T const own = scale * q.own, each = scale * q.each;
  for (std::int64_t r = 0; r < rows; ++r) {
    T* const out = gradient + r * cols;
    if (targets[r] < 0) {
      fill(T(0), cols, out);
      continue;
    }
    map(logits + r * cols, cols, out, [each, shift = maximum[r], factor = scale / sum[r]](T x) {
      return cross_entropy_share(x, shift, factor) - each;
    });
    std::int64_t const c = targets[r] - first_column;
    if (c >= 0 && c < cols) out[c] -= own;
  }
}

}  // namespace ashlar::device::host
