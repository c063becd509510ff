// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Softmax cross-entropy with integer targets, rows x cols logits of which the local columns are
// [first_column, first_column + cols) of the vocabulary. Pieces for a split vocabulary (the caller
// reduces what is marked) and the whole built from them. A target < 0 says: ignore this row.
//
//   row_max (softmax.hpp)        maximum[r]                       reduce by max
//   cross_entropy_exp_sum        sum_c e^(x[r, c] - maximum[r])   reduce by sum
//   cross_entropy_target_logit   x[r, target], 0 if not local     reduce by sum
//   cross_entropy_loss           loss[r] = maximum + log(sum) - target_logit, 0 if ignored
//   cross_entropy_gradient       (e^(x - maximum) / sum - [c = target]) scale, 0 if ignored
//
// Averaging the losses over tokens is the caller's: he chooses `scale` for the gradient to match.

#include <cstdint>
#include <type_traits>

#include <ashlar/config.hpp>
#include <ashlar/device/formula/cross_entropy.hpp>
#include <ashlar/device/host/map.hpp>
#include <ashlar/device/host/reduce.hpp>
#include <ashlar/device/host/softmax.hpp>
#include <ashlar/device/math.hpp>

namespace ashlar::device::host {

/// sum[r] over the local columns; to be summed over the ranks that share a row.
template <class T>
void cross_entropy_exp_sum(T const* logits, T const* maximum, std::int64_t rows, std::int64_t cols,
                           T* sum) {
  for (std::int64_t r = 0; r < rows; ++r) {
    T const* const row = logits + r * cols;
    sum[r] = reduce_sum<T>(
        cols, [row, shift = maximum[r]](std::int64_t c) { return math::exp(row[c] - shift); });
  }
}

/// target_logit[r] where the target's column is here, else 0; to be summed over the ranks of a row.
template <class T>
void cross_entropy_target_logit(T const* logits, std::int32_t const* targets, std::int64_t rows,
                                std::int64_t cols, std::int64_t first_column, T* target_logit) {
  for (std::int64_t r = 0; r < rows; ++r) {
    std::int64_t const c = targets[r] - first_column;
    bool const here = targets[r] >= 0 && c >= 0 && c < cols;
    target_logit[r] = here ? logits[r * cols + c] : T(0);
  }
}

/// loss[r] from maximum, sum and target logit of whole rows.
template <class T>
void cross_entropy_loss(T const* maximum, T const* sum, T const* target_logit,
                        std::int32_t const* targets, std::int64_t rows, T* loss) {
  for (std::int64_t r = 0; r < rows; ++r) {
    loss[r] = cross_entropy_row_loss(maximum[r], sum[r], target_logit[r], targets[r]);
  }
}

/// gradient may be logits.
template <class T>
void cross_entropy_gradient(T const* logits, std::int32_t const* targets, T const* maximum,
                            T const* sum, std::int64_t rows, std::int64_t cols,
                            std::int64_t first_column, std::type_identity_t<T> scale, T* gradient) {
  for (std::int64_t r = 0; r < rows; ++r) {
    T* const out = gradient + r * cols;
    if (targets[r] < 0) {
      fill(T(0), cols, out);
      continue;
    }
    map(logits + r * cols, cols, out, [shift = maximum[r], factor = scale / sum[r]](T x) {
      return cross_entropy_share(x, shift, factor);
    });
    std::int64_t const c = targets[r] - first_column;
    if (c >= 0 && c < cols) out[c] -= scale;
  }
}

/// loss[r] of whole rows and, unless null, gradient (which may be logits) times scale.
template <class T>
void cross_entropy(T const* logits, std::int32_t const* targets, std::int64_t rows,
                   std::int64_t cols, std::type_identity_t<T> scale, T* loss, T* gradient) {
  for (std::int64_t r = 0; r < rows; ++r) {
    T const* const row = logits + r * cols;
    T maximum;
    T sum;
    T target_logit;
    row_max(row, 1, cols, &maximum);
    cross_entropy_exp_sum(row, &maximum, 1, cols, &sum);
    cross_entropy_target_logit(row, targets + r, 1, cols, 0, &target_logit);
    cross_entropy_loss(&maximum, &sum, &target_logit, targets + r, 1, loss + r);
    if (gradient != nullptr) {
      cross_entropy_gradient(row, targets + r, &maximum, &sum, 1, cols, 0, scale,
                             gradient + r * cols);
    }
  }
}

}  // namespace ashlar::device::host
