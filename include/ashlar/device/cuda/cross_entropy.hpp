// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Softmax cross-entropy with integer targets, on a CUDA stream. Rows with a target < 0 are ignored.
// T is float, double or bfloat16. Losses and sums are of type accumulation_t<T>.
//
// The caller runs separate phases, since the columns (the vocabulary) may be split over ranks. The
// first two phases are row_max and row_exp_sum (softmax.hpp). The other phases are functions of
// this file. kernel/cross_entropy.hpp lists all phases.

#include <cstdint>
#include <type_traits>

#include <cuda_runtime_api.h>

#include <ashlar/device/formula/cross_entropy.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

/// Computes target_logit[r], the logit of the target of row r, or 0 if the target is negative or if
/// its column belongs to another rank. The first column of `logits` is column first_column of the
/// complete row.
template <class T>
void cross_entropy_target_logit(cudaStream_t stream, T const* logits, std::int32_t const* targets,
                                std::int64_t rows, std::int64_t cols, std::int64_t first_column,
                                accumulation_t<T>* target_logit);

/// Computes expected_logit[r], the sum of q[c] logits[r, c] over the columns c of this rank, or 0
/// if the target of row r is negative. `q` has the probabilities of the classes under label
/// smoothing. The first column of `logits` is column first_column of the complete row.
template <class T>
void cross_entropy_expected_logit(
    cudaStream_t stream, T const* logits, std::int32_t const* targets, std::int64_t rows,
    std::int64_t cols, std::int64_t first_column,
    std::type_identity_t<device::target_distribution<accumulation_t<T>>> q,
    accumulation_t<T>* expected_logit);

/// Computes loss[r] = maximum[r] + log(sum[r]) - target_logit[r], or 0 if the target is negative.
/// `maximum`, `sum` and `target_logit` must be the values of complete rows.
template <class A>
void cross_entropy_loss(cudaStream_t stream, A const* maximum, A const* sum, A const* target_logit,
                        std::int32_t const* targets, std::int64_t rows, A* loss);

/// Computes `scale` times the gradient of the losses with respect to this rank's columns of the
/// logits. `maximum` and `sum` must be the values of complete rows. `gradient` may be `logits`. `q`
/// has the probabilities of the classes under label smoothing. By default, the target has
/// probability 1.
template <class T>
void cross_entropy_gradient(
    cudaStream_t stream, T const* logits, std::int32_t const* targets,
    accumulation_t<T> const* maximum, accumulation_t<T> const* sum, std::int64_t rows,
    std::int64_t cols, std::int64_t first_column, std::type_identity_t<accumulation_t<T>> scale,
    T* gradient, std::type_identity_t<device::target_distribution<accumulation_t<T>>> q = {});

}  // namespace ashlar::cuda
