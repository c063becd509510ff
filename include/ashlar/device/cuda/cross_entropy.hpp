// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Softmax cross-entropy with integer targets, on a stream: in one call for complete rows, and in
// phases for a vocabulary that is split over ranks (kernel/cross_entropy.hpp; row_max and
// row_exp_sum are in softmax.hpp). Rows with a target < 0 are ignored. Losses and sums are of type
// accumulation_t<T>; T is float, double or bfloat16.

#include <cstdint>
#include <type_traits>

#include <cuda_runtime_api.h>

#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

/// Computes loss[r] of complete rows. Unless `gradient` is null, also stores the gradient of the
/// loss times `scale` in it; `gradient` may be `logits`.
template <class T>
void cross_entropy(cudaStream_t stream, T const* logits, std::int32_t const* targets,
                   std::int64_t rows, std::int64_t cols,
                   std::type_identity_t<accumulation_t<T>> scale, accumulation_t<T>* loss,
                   T* gradient);

/// Computes target_logit[r] = logits[r, targets[r] - first_column], or 0 if that column is not on
/// this rank.
template <class T>
void cross_entropy_target_logit(cudaStream_t stream, T const* logits, std::int32_t const* targets,
                                std::int64_t rows, std::int64_t cols, std::int64_t first_column,
                                accumulation_t<T>* target_logit);

/// Computes loss[r] = maximum[r] + log(sum[r]) - target_logit[r], or 0 if the row is ignored.
template <class A>
void cross_entropy_loss(cudaStream_t stream, A const* maximum, A const* sum, A const* target_logit,
                        std::int32_t const* targets, std::int64_t rows, A* loss);

/// Computes the gradient of the loss with respect to the local columns of the logits, times
/// `scale`; `gradient` may be `logits`.
template <class T>
void cross_entropy_gradient(cudaStream_t stream, T const* logits, std::int32_t const* targets,
                            accumulation_t<T> const* maximum, accumulation_t<T> const* sum,
                            std::int64_t rows, std::int64_t cols, std::int64_t first_column,
                            std::type_identity_t<accumulation_t<T>> scale, T* gradient);

}  // namespace ashlar::cuda
