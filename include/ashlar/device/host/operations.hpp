// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The kernels that operators, layers and optimizers call, for the host. Every processor provides
// functions with the same names and arguments: device/cuda/operations.hpp has the functions for a
// device. Callers write no namespace, because the type of the first argument selects the processor.
// Most of these functions only call the kernel of the same name in another file of this folder.
//
// T is the type in which values are stored. A = accumulation_t<T> is the type of parameter
// gradients, of sums, and of statistics of rows such as a mean. `memory` provides workspaces for
// the duration of a call.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <ashlar/device/elements_or_number.hpp>
#include <ashlar/device/host/along_dim.hpp>
#include <ashlar/device/host/attention_backward.hpp>
#include <ashlar/device/host/between_blocks.hpp>
#include <ashlar/device/host/combine.hpp>
#include <ashlar/device/host/combine_rows.hpp>
#include <ashlar/device/host/convert.hpp>
#include <ashlar/device/host/cross_entropy.hpp>
#include <ashlar/device/host/dropout.hpp>
#include <ashlar/device/host/elements.hpp>
#include <ashlar/device/host/embedding.hpp>
#include <ashlar/device/host/layer_norm.hpp>
#include <ashlar/device/host/layer_norm_backward.hpp>
#include <ashlar/device/host/optimizer.hpp>
#include <ashlar/device/host/range.hpp>
#include <ashlar/device/host/reduce.hpp>
#include <ashlar/placement/identity.hpp>
#include <ashlar/support/buffer.hpp>

namespace ashlar::device::host {

/// Computes y[i] = f(x[i]) for 0 <= i < n. f computes in accumulation_t<T>, and the result is
/// rounded to T once. y may be x.
template <class F, class T>
void map(processor const&, F const& f, T const* x, std::int64_t n, T* y) {
  if constexpr (std::is_same_v<T, accumulation_t<T>>) map(x, n, y, f);
  else map(x, n, y, rounding<T>(f));
}
/// Computes y[i] = f(a[i], b[i]) for 0 <= i < n. f computes in accumulation_t<T>, and the result is
/// rounded to T once. y may be a or b.
template <class F, class T>
void map(processor const&, F const& f, T const* a, T const* b, std::int64_t n, T* y) {
  if constexpr (std::is_same_v<T, accumulation_t<T>>) map(a, b, n, y, f);
  else map(a, b, n, y, rounding<T>(f));
}

/// Converts n elements to another type: y[i] = x[i]. If To is a floating-point type, rounds to
/// nearest.
template <class From, class To>
void convert(processor const&, From const* x, std::int64_t n, To* y) {
  if constexpr (std::is_same_v<From, To>) std::copy_n(x, n, y);
  else if constexpr (std::is_same_v<To, accumulation_t<From>>) widen(x, n, y);
  else if constexpr (std::is_same_v<From, accumulation_t<To>>) narrow(x, n, y);
  else std::transform(x, x + n, y, [](From value) { return static_cast<To>(value); });
}

/// Computes z[i] = x[i] where mask[i] is not 0, and z[i] = y[i] elsewhere, for 0 <= i < n.
template <class M, class T>
void select_elements(processor const&, M const* mask, elements_or_number<T> const& x,
                     elements_or_number<T> const& y, std::int64_t n, T* z) {
  for (std::int64_t i = 0; i < n; ++i) z[i] = mask[i] != static_cast<M>(0) ? x[i] : y[i];
}

/// Computes C = alpha op(A) op(B) + beta C, where op transposes a matrix or does nothing
/// (gemm.hpp), in parts of block_rows rows of C. Calls between_blocks() between two parts, so that
/// transfers progress.
template <class T>
void gemm(processor const&, bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n,
          std::int64_t k, std::type_identity_t<accumulation_t<T>> alpha, T const* a,
          std::int64_t lda, T const* b, std::int64_t ldb,
          std::type_identity_t<accumulation_t<T>> beta, T* c, std::int64_t ldc) {
  std::int64_t row = 0;
  for (; m - row > block_rows; row += block_rows) {
    gemm(transpose_a, transpose_b, block_rows, n, k, alpha, a + row * (transpose_a ? 1 : lda), lda,
         b, ldb, beta, c + row * ldc, ldc);
    between_blocks();
  }
  gemm(transpose_a, transpose_b, m - row, n, k, alpha, a + row * (transpose_a ? 1 : lda), lda, b,
       ldb, beta, c + row * ldc, ldc);
}
/// Computes `batch` matrix products C = alpha op(A) op(B) + beta C, where op transposes a matrix or
/// does nothing (gemm.hpp). Product i has the operands a + i * stride_a and b + i * stride_b and
/// the result c + i * stride_c.
template <class T>
void gemm_batched_strided(processor const&, bool transpose_a, bool transpose_b, std::int64_t batch,
                          std::int64_t m, std::int64_t n, std::int64_t k,
                          std::type_identity_t<accumulation_t<T>> alpha, T const* a,
                          std::int64_t lda, std::int64_t stride_a, T const* b, std::int64_t ldb,
                          std::int64_t stride_b, std::type_identity_t<accumulation_t<T>> beta, T* c,
                          std::int64_t ldc, std::int64_t stride_c) {
  gemm_batched_strided<T>(transpose_a, transpose_b, batch, m, n, k, alpha, a, lda, stride_a, b, ldb,
                          stride_b, beta, c, ldc, stride_c);
}

/// Computes y = x w + bias, where x is m x k and w is k x n. The bias has n elements and is added
/// to each row of y. `bias` may be null.
template <class T>
void linear_forward(processor const& on, std::int64_t m, std::int64_t n, std::int64_t k, T const* x,
                    T const* w, std::type_identity_t<T> const* bias, T* y) {
  if (bias != nullptr)
    for (std::int64_t i = 0; i < m; ++i) std::copy_n(bias, n, y + i * n);
  gemm(on, false, false, m, n, k, 1, x, k, w, n, bias != nullptr ? 1 : 0, y, n);
}
/// Adds the sum of each column of x [rows, cols] to sum [cols] (combine_rows.hpp).
template <class Memory, class T>
void add_column_sums(processor const&, Memory&, T const* x, std::int64_t rows, std::int64_t cols,
                     T* sum) {
  combine_rows<reduction::sum>(x, rows, cols, sum);
}

/// Reduces the middle dim of x [outer, extent, inner]: y[o, i] is the reduction of x[o, k, i] over
/// k. Reduces in accumulation_t<T> and rounds once. If `inner` is 1, the elements are combined in
/// the order of reduce.hpp, otherwise in that of combine_rows.hpp.
template <class Memory, class T>
void reduce_dim(processor const&, Memory& memory, reduction op, T const* x, std::int64_t outer,
                std::int64_t extent, std::int64_t inner, T* y) {
  using A = accumulation_t<T>;
  auto const into = [&]<reduction Op>(std::integral_constant<reduction, Op>, A* target) {
    if (inner == 1) {  // the elements to combine are contiguous
      *target = detail::reduce_lanes<A>(
          extent, identity_of<A>(Op), [=](std::int64_t k) { return static_cast<A>(x[k]); },
          [](A a, A b) { return combine<Op>(a, b); });
      x += extent;
      return;
    }
    std::fill_n(target, inner, identity_of<A>(Op));
    combine_rows<Op>(x, extent, inner, target);
    x += extent * inner;
  };
  auto const reduce_into = [&](A* target) {
    using enum reduction;
    switch (op) {
      case sum: return into(std::integral_constant<reduction, sum>{}, target);
      case max: return into(std::integral_constant<reduction, max>{}, target);
      case min: return into(std::integral_constant<reduction, min>{}, target);
    }
  };
  if constexpr (std::is_same_v<T, A>) {
    for (std::int64_t o = 0; o < outer; ++o) reduce_into(y + o * inner);
  } else {
    buffer<A> const sums(memory, inner);
    for (std::int64_t o = 0; o < outer; ++o) {
      reduce_into(sums.data());
      narrow(static_cast<A const*>(sums.data()), inner, y + o * inner);
    }
  }
}

/// Writes to y [outer, inner] the index of the first largest (`op` is max) or smallest (`op` is
/// min) element of each line of x [outer, extent, inner] (along_dim.hpp).
template <class T>
void index_of_extremum(processor const&, reduction op, T const* x, std::int64_t outer,
                       std::int64_t extent, std::int64_t inner, std::int32_t* y) {
  if (op == reduction::max) index_of_extremum<reduction::max>(x, outer, extent, inner, y);
  else index_of_extremum<reduction::min>(x, outer, extent, inner, y);
}
/// Writes the cumulative sums of each line of x [outer, extent, inner] to y (along_dim.hpp). The
/// sums begin with the first element of the line, or with the last one if `from_end`. y may be x.
template <class Memory, class T>
void cumulative_sum(processor const&, Memory& memory, T const* x, std::int64_t outer,
                    std::int64_t extent, std::int64_t inner, bool from_end, T* y) {
  if (inner == 1) {  // needs no workspace
    accumulation_t<T> sum;
    return cumulative_sum(x, outer, extent, 1, from_end, &sum, y);
  }
  buffer<accumulation_t<T>> const sums(memory, inner);
  cumulative_sum(x, outer, extent, inner, from_end, sums.data(), y);
}

/// Computes y = softmax of each row of x.
template <class T>
void softmax_forward(processor const&, T const* x, std::int64_t rows, std::int64_t cols, T* y) {
  softmax_forward(x, rows, cols, y);
}
/// Computes dx from dy and the result y of softmax_forward, for rows that are not split over ranks.
template <class T>
void softmax_backward(processor const&, T const* dy, T const* y, std::int64_t rows,
                      std::int64_t cols, T* dx) {
  softmax_backward(dy, y, rows, cols, dx);
}
/// Computes maximum[r], the maximum of row r over the columns of this rank, or -inf if this rank
/// has no columns.
template <class T>
void row_max(processor const&, T const* x, std::int64_t rows, std::int64_t cols, T* maximum) {
  row_max(x, rows, cols, maximum);
}
/// Computes sum[r], the sum of e^(x[r, c] - maximum[r]) over the columns c of this rank.
template <class T>
void row_exp_sum(processor const&, T const* x, T const* maximum, std::int64_t rows,
                 std::int64_t cols, T* sum) {
  cross_entropy_exp_sum(x, maximum, rows, cols, sum);
}
/// Computes out[r], the logit of the target of row r, or 0 if the target's column belongs to
/// another rank. The first column of x is column first_column of the complete row.
template <class T>
void cross_entropy_target_logit(processor const&, T const* x, std::int32_t const* targets,
                                std::int64_t rows, std::int64_t cols, std::int64_t first_column,
                                T* out) {
  cross_entropy_target_logit(x, targets, rows, cols, first_column, out);
}
/// Computes out[r], the sum of q[c] x[r, c] over the columns c of this rank, or 0 if the target of
/// row r is negative. `q` has the probabilities of the classes under label smoothing.
template <class T>
void cross_entropy_expected_logit(processor const&, T const* x, std::int32_t const* targets,
                                  std::int64_t rows, std::int64_t cols, std::int64_t first_column,
                                  std::type_identity_t<target_distribution<T>> q, T* out) {
  cross_entropy_expected_logit(x, targets, rows, cols, first_column, q, out);
}
/// Computes loss[r] = maximum[r] + log(sum[r]) - target_logit[r], or 0 if the target is negative.
/// `maximum`, `sum` and `target_logit` must be the values of complete rows.
template <class A>
void cross_entropy_loss(processor const&, A const* maximum, A const* sum, A const* target_logit,
                        std::int32_t const* targets, std::int64_t rows, A* loss) {
  cross_entropy_loss(maximum, sum, target_logit, targets, rows, loss);
}
/// Computes dx, which is `scale` times the gradient of the losses with respect to this rank's
/// columns of x. `maximum` and `sum` must be the values of complete rows. `q` has the probabilities
/// of the classes under label smoothing. By default, the target has probability 1.
template <class T>
void cross_entropy_gradient(processor const&, T const* x, std::int32_t const* targets,
                            T const* maximum, T const* sum, std::int64_t rows, std::int64_t cols,
                            std::int64_t first_column, std::type_identity_t<T> scale, T* dx,
                            std::type_identity_t<target_distribution<T>> q = {}) {
  cross_entropy_gradient(x, targets, maximum, sum, rows, cols, first_column, scale, dx, q);
}

/// Computes the layer norm y of each row of x, and the mean and the reciprocal standard deviation
/// of each row.
template <class T>
void layer_norm_forward(processor const&, T const* x, T const* gamma, T const* beta,
                        std::int64_t rows, std::int64_t cols, std::type_identity_t<T> epsilon, T* y,
                        T* mean, T* rstd) {
  layer_norm_forward(x, gamma, beta, rows, cols, epsilon, y, mean, rstd);
}
/// Computes dx, the gradient of the input x of a layer norm. Adds the gradients of gamma and beta
/// to dgamma and dbeta.
template <class Memory, class T>
void layer_norm_backward(processor const&, Memory&, T const* dy, T const* x, T const* mean,
                         T const* rstd, T const* gamma, std::int64_t rows, std::int64_t cols, T* dx,
                         T* dgamma, T* dbeta) {
  layer_norm_backward(dy, x, mean, rstd, gamma, rows, cols, dx, dgamma, dbeta);
}

/// Computes the output and log_sum_exp of multi-head attention from q, k and v
/// (attention_extents.hpp).
template <class Memory, class T>
void attention_forward(processor const&, Memory& memory, T const* qkv, attention_extents const& e,
                       T* out, T* log_sum_exp) {
  buffer<T> const workspace(memory, attention_forward_workspace(e));
  attention_forward(qkv, e, workspace.data(), out, log_sum_exp);
}
/// Computes dqkv, the gradient of qkv, from dout, the gradient of out. `qkv` is the input of the
/// forward pass. `out` and `log_sum_exp` are the outputs of the forward pass.
template <class Memory, class T>
void attention_backward(processor const&, Memory& memory, T const* dout, T const* qkv, T const* out,
                        T const* log_sum_exp, attention_extents const& e, T* dqkv) {
  buffer<T> const workspace(memory, attention_backward_workspace(e));
  attention_backward(dout, qkv, out, log_sum_exp, e, workspace.data(), dqkv);
}

/// Looks up rows of an embedding table: y[t] = table[ids[t] - first_row]. Ids outside [first_row,
/// first_row + rows) belong to other ranks and give zeros.
template <class T>
void embedding_forward(processor const&, T const* table, std::int64_t first_row, std::int64_t rows,
                       std::int64_t cols, std::int32_t const* ids, std::int64_t tokens, T* y) {
  embedding_forward(table, first_row, rows, cols, ids, tokens, y);
}
/// Adds the gradients of an embedding: dtable[ids[t] - first_row] += dy[t] for each token t, in
/// order. Ids outside [first_row, first_row + rows) belong to other ranks and are ignored.
template <class Memory, class T>
void embedding_backward(processor const&, Memory&, T const* dy, std::int32_t const* ids,
                        std::int64_t tokens, std::int64_t first_row, std::int64_t rows,
                        std::int64_t cols, T* dtable) {
  embedding_backward(dy, ids, tokens, first_row, rows, cols, dtable);
}
/// Adds to each token's row of y the embedding of its position: y[t] += positions[(first_token + t)
/// % sequence].
template <class T>
void add_positions(processor const&, T const* positions, std::int64_t sequence, std::int64_t cols,
                   std::int64_t first_token, std::int64_t tokens, T* y) {
  add_positions(positions, sequence, cols, first_token, tokens, y);
}
/// Adds the gradients of position embeddings: dpositions[(first_token + t) % sequence] += dy[t].
template <class T>
void add_positions_backward(processor const&, T const* dy, std::int64_t sequence, std::int64_t cols,
                            std::int64_t first_token, std::int64_t tokens, T* dpositions) {
  add_positions_backward(dy, sequence, cols, first_token, tokens, dpositions);
}

/// Computes y = dropout of x, where elements are dropped with probability p (dropout.hpp). Element
/// i has the global index first + i, and `number` selects the sequence of random numbers. y may be
/// x.
template <class T>
void dropout(processor const&, T const* x, std::int64_t count, double p, std::uint64_t seed,
             std::uint64_t number, std::int64_t first, T* y) {
  dropout_forward(x, count, p, seed, number, first, y);
}

/// Adds the sum of the n elements of x to *total. The sum is computed in double from left to right.
template <class Memory, class A>
void add_sum(processor const&, Memory&, A const* x, std::int64_t n, double* total) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  *total += sum;
}
/// Adds the sum of the squares of the n elements of x to *total. The sum is computed in double.
template <class Memory, class T>
void add_sum_of_squares(processor const&, Memory&, T const* x, std::int64_t n, double* total) {
  *total += sum_of_squares(x, n);
}

/// Updates n weights and their first and second moments by AdamW. Unless `copy` is null, also
/// writes the new weights to `copy`, rounded to T.
template <class A, class T>
void adam_w_update(processor const& on, adam_w_factors const& factors, A const* gradient,
                   std::int64_t n, A* first, A* second, A* weight, T* copy) {
  adam_w_update(factors, gradient, n, first, second, weight);
  if (copy != nullptr) convert(on, static_cast<A const*>(weight), n, copy);
}
/// Updates n weights and their velocities by SGD with momentum. Unless `copy` is null, also writes
/// the new weights to `copy`, rounded to T.
template <class A, class T>
void sgd_update(processor const& on, sgd_factors const& factors, A const* gradient, std::int64_t n,
                A* velocity, A* weight, T* copy) {
  sgd_update(factors, gradient, n, velocity, weight);
  if (copy != nullptr) convert(on, static_cast<A const*>(weight), n, copy);
}

}  // namespace ashlar::device::host
