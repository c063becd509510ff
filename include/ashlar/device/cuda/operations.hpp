// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The operations that operators, layers and optimizers call, for a CUDA device. Every processor
// offers functions with the same names and arguments: device/host/operations.hpp has the functions
// for the host. Callers write no namespace. Argument-dependent lookup on the first argument, the
// processor, selects the overload.
//
// A processor converts to its stream. So the following functions, which take a stream and need no
// workspace, can be called with a processor directly:
//
//   softmax_forward, softmax_backward, row_max, row_exp_sum, cross_entropy_target_logit,
//   cross_entropy_expected_logit, cross_entropy_loss, cross_entropy_gradient,
//   layer_norm_forward, embedding_forward, add_positions, add_positions_backward, dropout,
//   index_of_extremum, select_elements
//
// This file defines or includes the other operations. The left column names their users:
//
//   every net         map, gemm, gemm_batched_strided, linear_forward, add_column_sums, convert,
//                     reduce_dim, cumulative_sum
//   single layers     layer_norm_backward, attention_forward, attention_backward,
//                     embedding_backward
//   training steps    add_sum, add_sum_of_squares, adam_w_update, sgd_update
//   profiles          range
//
// T is the type of stored values. A = accumulation_t<T> is the type of parameter gradients, of
// sums, and of statistics of rows such as a mean. `memory` provides workspaces in the order of the
// stream. No function in this file waits for the device.

#include <cstdint>
#include <type_traits>

#include <ashlar/device/cuda/along_dim.hpp>
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
#include <ashlar/device/cuda/select.hpp>
#include <ashlar/device/cuda/softmax.hpp>
#include <ashlar/device/cuda/sum.hpp>
#include <ashlar/device/cuda/update.hpp>
#include <ashlar/support/buffer.hpp>

#define ASHLAR_SAYS_MAP_ON_DEVICE                                                                  \
  "map: a device has no kernel for this function; a lambda runs on the host only. Use an object "  \
  "of device/functor.hpp, or write a kernel for yours (device/cuda/launch/map_function.cuh)."

namespace ashlar::cuda {

/// Computes y[i] = f(x[i]) for 0 <= i < n. f computes in accumulation_t<T>, and the result is
/// rounded to T once. y may be x.
template <class F, class T>
void map(processor const& on, F const& f, T const* x, std::int64_t n, T* y) {
  static_assert(has_map_kernel<F>, ASHLAR_SAYS_MAP_ON_DEVICE);
  if constexpr (has_map_kernel<F>) map(on.stream, f, x, n, y);
}
/// Computes y[i] = f(a[i], b[i]) for 0 <= i < n. f computes in accumulation_t<T>, and the result is
/// rounded to T once. y may be a or b.
template <class F, class T>
void map(processor const& on, F const& f, T const* a, T const* b, std::int64_t n, T* y) {
  static_assert(has_map_kernel<F>, ASHLAR_SAYS_MAP_ON_DEVICE);
  if constexpr (has_map_kernel<F>) map(on.stream, f, a, b, n, y);
}

/// Converts n elements to another type, rounded to nearest: y[i] = x[i].
template <class From, class To>
void convert(processor const& on, From const* x, std::int64_t n, To* y) {
  if constexpr (std::is_same_v<From, To>) copy_elements(on, x, n, y);
  else convert(on.stream, x, n, y);
}

/// Computes C = alpha op(A) op(B) + beta C, where op transposes a matrix or does nothing, with the
/// arguments of gemm.hpp. C has type T or accumulation_t<T>.
template <class T, class C>
void gemm(processor const& on, bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n,
          std::int64_t k, std::type_identity_t<accumulation_t<T>> alpha, T const* a,
          std::int64_t lda, T const* b, std::int64_t ldb,
          std::type_identity_t<accumulation_t<T>> beta, C* c, std::int64_t ldc) {
  on.products->gemm(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
/// Computes `batch` matrix products C = alpha op(A) op(B) + beta C, where op transposes a matrix or
/// does nothing. Product i has the operands a + i * stride_a and b + i * stride_b and the result c
/// + i * stride_c.
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

/// Computes y = x w + bias, where x is m x k and w is k x n. The bias has n elements and is added
/// to each row of y. `bias` may be null.
template <class T>
void linear_forward(processor const& on, std::int64_t m, std::int64_t n, std::int64_t k, T const* x,
                    T const* w, std::type_identity_t<T> const* bias, T* y) {
  on.products->linear(m, n, k, x, w, bias, y);
}
/// Adds the sum of each column of x [rows, cols] to sum [cols].
template <class Memory, class T>
void add_column_sums(processor const& on, Memory& memory, T const* x, std::int64_t rows,
                     std::int64_t cols, accumulation_t<T>* sum) {
  buffer<accumulation_t<T>> const workspace(memory, column_sums_workspace(rows, cols, 1));
  add_column_sums(on.stream, x, rows, cols, workspace.data(), sum);
}

/// Reduces the middle dim of x [outer, extent, inner]: y[o, i] is the reduction of x[o, k, i] over
/// k. Computes in accumulation_t<T> and rounds once.
template <class Memory, class T>
void reduce_dim(processor const& on, Memory&, reduction op, T const* x, std::int64_t outer,
                std::int64_t extent, std::int64_t inner, T* y) {
  reduce_dim(on.stream, op, x, outer, extent, inner, y);
}

/// Writes the cumulative sums of each line of x [outer, extent, inner] to y (along_dim.hpp).
template <class Memory, class T>
void cumulative_sum(processor const& on, Memory&, T const* x, std::int64_t outer,
                    std::int64_t extent, std::int64_t inner, bool from_end, T* y) {
  cumulative_sum(on.stream, x, outer, extent, inner, from_end, y);
}

/// Computes dx, the gradient of the input x of a layer norm. Adds the gradients of gamma and beta
/// to dgamma and dbeta.
template <class Memory, class T>
void layer_norm_backward(processor const& on, Memory& memory, T const* dy, T const* x,
                         accumulation_t<T> const* mean, accumulation_t<T> const* rstd,
                         T const* gamma, std::int64_t rows, std::int64_t cols, T* dx,
                         accumulation_t<T>* dgamma, accumulation_t<T>* dbeta) {
  buffer<accumulation_t<T>> const workspace(memory, layer_norm_backward_workspace(rows, cols));
  layer_norm_backward(on.stream, dy, x, mean, rstd, gamma, rows, cols, workspace.data(), dx, dgamma,
                      dbeta);
}

/// Computes the output and log_sum_exp of multi-head attention from q, k and v
/// (attention_extents.hpp).
template <class Memory, class T>
void attention_forward(processor const& on, Memory&, T const* qkv,
                       device::attention_extents const& e, T* out, accumulation_t<T>* log_sum_exp) {
  attention_forward(on.stream, qkv, e, out, log_sum_exp);
}
/// Computes dqkv, the gradient of qkv, from dout, the gradient of out. `qkv` is the input of the
/// forward pass. `out` and `log_sum_exp` are the outputs of the forward pass.
template <class Memory, class T>
void attention_backward(processor const& on, Memory& memory, T const* dout, T const* qkv,
                        T const* out, accumulation_t<T> const* log_sum_exp,
                        device::attention_extents const& e, T* dqkv) {
  buffer<accumulation_t<T>> const workspace(memory, attention_backward_workspace(e));
  attention_backward(on.stream, dout, qkv, out, log_sum_exp, e, workspace.data(), dqkv);
}

/// Adds the gradients of an embedding: dtable[ids[t] - first_row] += dy[t] for each token t, in
/// order. Ids outside [first_row, first_row + rows) belong to other ranks and are ignored.
template <class Memory, class T>
void embedding_backward(processor const& on, Memory& memory, T const* dy, std::int32_t const* ids,
                        std::int64_t tokens, std::int64_t first_row, std::int64_t rows,
                        std::int64_t cols, accumulation_t<T>* dtable) {
  buffer<std::int32_t> const workspace(memory, embedding_backward_workspace(rows, tokens));
  embedding_backward(on.stream, dy, ids, tokens, first_row, rows, cols, workspace.data(), dtable);
}

/// Adds the sum of the n elements of x to *total, in device memory. The sum is computed in double.
template <class Memory, class A>
void add_sum(processor const& on, Memory& memory, A const* x, std::int64_t n, double* total) {
  buffer<double> const workspace(memory, sum_workspace);
  add_sum(on.stream, x, n, workspace.data(), total);
}
/// Adds the sum of the squares of the n elements of x to *total, in device memory. The sum is
/// computed in double.
template <class Memory, class T>
void add_sum_of_squares(processor const& on, Memory& memory, T const* x, std::int64_t n,
                        double* total) {
  buffer<double> const workspace(memory, sum_workspace);
  add_sum_of_squares(on.stream, x, n, workspace.data(), total);
}

/// Updates n weights and their first and second moments by AdamW. Unless `copy` is null, also
/// writes the new weights to `copy`, rounded to T.
template <class A, class T>
void adam_w_update(processor const& on, device::adam_w_factors const& factors, A const* gradient,
                   std::int64_t n, A* first, A* second, A* weight, T* copy) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    adam_w_update(on.stream, factors, gradient, n, first, second, weight, copy);
  } else {
    adam_w_update(on.stream, factors, gradient, n, first, second, weight, nullptr);
    if (copy != nullptr) convert(on, static_cast<A const*>(weight), n, copy);
  }
}
/// Updates n weights and their velocities by SGD with momentum. Unless `copy` is null, also writes
/// the new weights to `copy`, rounded to T.
template <class A, class T>
void sgd_update(processor const& on, device::sgd_factors const& factors, A const* gradient,
                std::int64_t n, A* velocity, A* weight, T* copy) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    sgd_update(on.stream, factors, gradient, n, velocity, weight, copy);
  } else {
    sgd_update(on.stream, factors, gradient, n, velocity, weight, nullptr);
    if (copy != nullptr) convert(on, static_cast<A const*>(weight), n, copy);
  }
}

}  // namespace ashlar::cuda
