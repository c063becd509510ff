// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The operations of a CUDA device that operators, layers and optimizers call: the functions on
// streams, with the names and arguments that every processor offers (device/host/operations.hpp has
// the host's). They are called without a namespace: argument-dependent lookup on the first
// argument, the processor, selects the overload. A processor converts to its stream, so the
// functions on streams that need no workspace can be called with a processor directly (a name with
// a leading underscore continues the name before it):
//
//   softmax_forward row_max row_exp_sum cross_entropy_target_logit _loss _gradient
//   layer_norm_forward   embedding_forward   add_positions _backward   dropout
//
// This file defines the others. The first column says what uses them:
//
//   every net         map gemm gemm_batched_strided linear_forward add_column_sums convert
//                     reduce_dim
//   single layers     layer_norm_backward   attention_forward _backward   embedding_backward
//   training steps    add_sum add_sum_of_squares adam_w_update sgd_update
//   profiles          range
//
// T is the type of stored values. A = accumulation_t<T> is the type of parameter gradients, sums
// and values that exist once per row. `memory` provides workspaces in the order of the stream. No
// function here waits for the device.

#include <cstdint>
#include <type_traits>

#include <ashlar/device/cuda/attention.hpp>
#include <ashlar/device/cuda/columns.hpp>
#include <ashlar/device/cuda/cross_entropy.hpp>
#include <ashlar/device/cuda/elements.hpp>
#include <ashlar/device/cuda/embedding.hpp>
#include <ashlar/device/cuda/gemm.hpp>
#include <ashlar/device/cuda/layer_norm.hpp>
#include <ashlar/device/cuda/nvtx.hpp>
#include <ashlar/device/cuda/processor.hpp>
#include <ashlar/device/cuda/reduce_dim.hpp>
#include <ashlar/device/cuda/softmax.hpp>
#include <ashlar/device/cuda/sum.hpp>
#include <ashlar/device/cuda/update.hpp>
#include <ashlar/support/buffer.hpp>

#define ASHLAR_SAYS_MAP_ON_DEVICE                                                                  \
  "map: a device has no kernel for this function; a lambda runs on the host only. Use an object "  \
  "of device/functor.hpp, or write a kernel for yours (device/cuda/launch/map_function.cuh)."

namespace ashlar::cuda {

/// Computes y[i] = f(x[i]) for 0 <= i < n, where f works in accumulation_t<T> and the result is
/// rounded once; y may be x.
template <class F, class T>
void map(processor const& on, F const& f, T const* x, std::int64_t n, T* y) {
  static_assert(has_map_kernel<F>, ASHLAR_SAYS_MAP_ON_DEVICE);
  if constexpr (has_map_kernel<F>) map(on.stream, f, x, n, y);
}
/// Computes y[i] = f(a[i], b[i]) for 0 <= i < n; y may be a or b.
template <class F, class T>
void map(processor const& on, F const& f, T const* a, T const* b, std::int64_t n, T* y) {
  static_assert(has_map_kernel<F>, ASHLAR_SAYS_MAP_ON_DEVICE);
  if constexpr (has_map_kernel<F>) map(on.stream, f, a, b, n, y);
}

/// Copies y[i] = x[i], rounded to nearest.
template <class From, class To>
void convert(processor const& on, From const* x, std::int64_t n, To* y) {
  if constexpr (std::is_same_v<From, To>) copy_elements(on, x, n, y);
  else convert(on.stream, x, n, y);
}

/// Computes C = alpha op(A) op(B) + beta C. C has type T or accumulation_t<T> (gemm.hpp).
template <class T, class C>
void gemm(processor const& on, bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n,
          std::int64_t k, std::type_identity_t<accumulation_t<T>> alpha, T const* a,
          std::int64_t lda, T const* b, std::int64_t ldb,
          std::type_identity_t<accumulation_t<T>> beta, C* c, std::int64_t ldc) {
  on.products->gemm(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
/// Computes a gemm for each i in [0, batch), on a + i * stride_a, b + i * stride_b and
/// c + i * stride_c.
template <class T, class C>
void gemm_batched_strided(processor const& on, bool transpose_a, bool transpose_b,
                          std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
                          std::type_identity_t<accumulation_t<T>> alpha, T const* a,
                          std::int64_t lda, std::int64_t stride_a, T const* b, std::int64_t ldb,
                          std::int64_t stride_b, std::type_identity_t<accumulation_t<T>> beta, C* c,
                          std::int64_t ldc, std::int64_t stride_c) {
  on.products->gemm_batched_strided(transpose_a, transpose_b, batch, m, n, k, alpha, a, lda,
                                    stride_a, b, ldb, stride_b, beta, c, ldc, stride_c);
}

/// Computes y = x w + bias, where x is m x k and w is k x n; bias may be null.
template <class T>
void linear_forward(processor const& on, std::int64_t m, std::int64_t n, std::int64_t k, T const* x,
                    T const* w, std::type_identity_t<T> const* bias, T* y) {
  on.products->linear(m, n, k, x, w, bias, y);
}
/// Adds the sum of x[r, c] over r to sum[c].
template <class Memory, class T>
void add_column_sums(processor const& on, Memory& memory, T const* x, std::int64_t rows,
                     std::int64_t cols, accumulation_t<T>* sum) {
  buffer<accumulation_t<T>> const workspace(memory, column_sums_workspace(rows, cols, 1));
  add_column_sums(on.stream, x, rows, cols, workspace.data(), sum);
}

/// Computes y[o, i] = op over k of x[o, k, i], in accumulation_t<T>, rounded once.
template <class Memory, class T>
void reduce_dim(processor const& on, Memory&, reduction op, T const* x, std::int64_t outer,
                std::int64_t extent, std::int64_t inner, T* y) {
  reduce_dim(on.stream, op, x, outer, extent, inner, y);
}

/// Computes dx, and adds the gradients of gamma and beta to dgamma and dbeta.
template <class Memory, class T>
void layer_norm_backward(processor const& on, Memory& memory, T const* dy, T const* x,
                         accumulation_t<T> const* mean, accumulation_t<T> const* rstd,
                         T const* gamma, std::int64_t rows, std::int64_t cols, T* dx,
                         accumulation_t<T>* dgamma, accumulation_t<T>* dbeta) {
  buffer<accumulation_t<T>> const workspace(memory, layer_norm_backward_workspace(rows, cols));
  layer_norm_backward(on.stream, dy, x, mean, rstd, gamma, rows, cols, workspace.data(), dx, dgamma,
                      dbeta);
}

/// Computes out and log_sum_exp from qkv (shapes: attention_extents.hpp).
template <class Memory, class T>
void attention_forward(processor const& on, Memory&, T const* qkv,
                       device::attention_extents const& e, T* out, accumulation_t<T>* log_sum_exp) {
  attention_forward(on.stream, qkv, e, out, log_sum_exp);
}
/// Computes dqkv from dout and the inputs and outputs of the forward pass.
template <class Memory, class T>
void attention_backward(processor const& on, Memory& memory, T const* dout, T const* qkv,
                        T const* out, accumulation_t<T> const* log_sum_exp,
                        device::attention_extents const& e, T* dqkv) {
  buffer<accumulation_t<T>> const workspace(memory, attention_backward_workspace(e));
  attention_backward(on.stream, dout, qkv, out, log_sum_exp, e, workspace.data(), dqkv);
}

/// Computes dtable[ids[t] - first_row] += dy[t], in the order of the tokens.
template <class Memory, class T>
void embedding_backward(processor const& on, Memory& memory, T const* dy, std::int32_t const* ids,
                        std::int64_t tokens, std::int64_t first_row, std::int64_t rows,
                        std::int64_t cols, accumulation_t<T>* dtable) {
  buffer<std::int32_t> const workspace(memory, embedding_backward_workspace(rows, tokens));
  embedding_backward(on.stream, dy, ids, tokens, first_row, rows, cols, workspace.data(), dtable);
}

/// Adds the sum of x to *total, in double.
template <class Memory, class A>
void add_sum(processor const& on, Memory& memory, A const* x, std::int64_t n, double* total) {
  buffer<double> const workspace(memory, sum_workspace);
  add_sum(on.stream, x, n, workspace.data(), total);
}
/// Adds the sum of the squares of x to *total, in double.
template <class Memory, class T>
void add_sum_of_squares(processor const& on, Memory& memory, T const* x, std::int64_t n,
                        double* total) {
  buffer<double> const workspace(memory, sum_workspace);
  add_sum_of_squares(on.stream, x, n, workspace.data(), total);
}

/// Updates the weight and its first and second moments. Unless `copy` is null, also stores the
/// rounded weight in it.
template <class A>
void adam_w_update(processor const& on, device::adam_w_factors const& factors, A const* gradient,
                   std::int64_t n, A* first, A* second, A* weight, bfloat16* copy) {
  adam_w_update(on.stream, factors, gradient, n, first, second, weight, copy);
}
/// Updates the weight and its velocity. Unless `copy` is null, also stores the rounded weight in
/// it.
template <class A>
void sgd_update(processor const& on, device::sgd_factors const& factors, A const* gradient,
                std::int64_t n, A* velocity, A* weight, bfloat16* copy) {
  sgd_update(on.stream, factors, gradient, n, velocity, weight, copy);
}

}  // namespace ashlar::cuda
