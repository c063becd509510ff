// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Softmax cross-entropy with integer targets. The logits are rows x cols; the local columns are
// [first_column, first_column + cols) of the vocabulary. The functions listed below also work with
// a vocabulary that is split over ranks: the caller reduces their results over these ranks as
// stated in the list. `cross_entropy` combines the functions for complete rows. A row with a target
// < 0 is ignored.
//
//   row_max (softmax.hpp)        maximum[r]                       reduce by max
//   cross_entropy_exp_sum        sum_c e^(x[r, c] - maximum[r])   reduce by sum
//   cross_entropy_target_logit   x[r, target], 0 if not local     reduce by sum
//   cross_entropy_loss           loss[r] = maximum + log(sum) - target_logit, 0 if ignored
//   cross_entropy_gradient       (e^(x - maximum) / sum - [c = target]) scale, 0 if ignored
//
// The caller averages the losses over tokens, and chooses the gradient's `scale` to match.

#include <cstdint>
#include <type_traits>

#include <ashlar/config.hpp>
#include <ashlar/device/formula/cross_entropy.hpp>
#include <ashlar/device/host/map.hpp>
#include <ashlar/device/host/reduce.hpp>
#include <ashlar/device/host/softmax.hpp>
#include <ashlar/device/math.hpp>

namespace ashlar::device::host {

/// Computes sum[r] over the local columns. The caller sums it over the ranks that share a row.
template <class T>
void cross_entropy_exp_sum(T const* logits, T const* maximum, std::int64_t rows, std::int64_t cols,
                           T* sum) {
  for (std::int64_t r = 0; r < rows; ++r) {
    T const* const row = logits + r * cols;
    sum[r] = reduce_sum<T>(
        cols, [row, shift = maximum[r]](std::int64_t c) { return math::exp(row[c] - shift); });
  }
}

/// Computes target_logit[r], or 0 if the target's column is not local. The caller sums it over the
/// ranks that share a row.
template <class T>
void cross_entropy_target_logit(T const* logits, std::int32_t const* targets, std::int64_t rows,
                                std::int64_t cols, std::int64_t first_column, T* target_logit) {
  for (std::int64_t r = 0; r < rows; ++r) {
    std::int64_t const c = targets[r] - first_column;
    bool const here = targets[r] >= 0 && c >= 0 && c < cols;
    target_logit[r] = here ? logits[r * cols + c] : T(0);
  }
}

/// Computes loss[r] from the maximum, sum and target logit of complete rows.
template <class T>
void cross_entropy_loss(T const* maximum, T const* sum, T const* target_logit,
                        std::int32_t const* targets, std::int64_t rows, T* loss) {
  for (std::int64_t r = 0; r < rows; ++r) {
    loss[r] = cross_entropy_row_loss(maximum[r], sum[r], target_logit[r], targets[r]);
  }
}

/// Computes the gradient in the local columns. `gradient` may be `logits`.
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

/// Computes loss[r] for complete rows. Unless `gradient` is null, also computes the gradient times
/// scale; it may be `logits`.
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
