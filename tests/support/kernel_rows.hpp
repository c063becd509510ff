// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Compares the row kernels (softmax, cross-entropy and layer norm) with the host's kernels. The
// phases of the cross-entropy get whole rows, and rows that are sharded over ranks. The lengths of
// rows are close to four sizes: of a warp, of a 16-byte load, of a thread block, and of the part of
// a row that threads hold in registers. Rows are aligned and unaligned. In some cases, results
// overwrite the input.

#include <algorithm>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/device/host/cross_entropy.hpp>
#include <ashlar/device/host/layer_norm.hpp>
#include <ashlar/device/host/layer_norm_backward.hpp>
#include <ashlar/device/host/softmax.hpp>

#include "support/kernel_values.hpp"

namespace ashlar_test {

struct row_shape {
  std::int64_t rows, cols;
  int skip;  // offset of the first element from an address aligned to 16 bytes
};

inline constexpr row_shape row_shapes[] = {
    {0, 8, 0},    {1, 1, 0},    {3, 7, 0},    {2, 32, 0},   {2, 32, 1},   {5, 33, 0},
    {3, 64, 0},   {2, 257, 0},  {2, 520, 0},  {1, 2064, 0}, {40, 16, 0},  {2, 1000, 3},
    {2, 4096, 0}, {2, 8200, 0}, {3, 8203, 0}, {9, 9, 0},    {11, 1040, 0}};

template <class T, class Machine>
void check_softmax(Machine& m) {
  using A = accumulation_t<T>;
  namespace host = ashlar::device::host;
  for (row_shape const& shape : row_shapes) {
    std::int64_t const rows = shape.rows, cols = shape.cols;
    int const skip = shape.skip;
    CAPTURE(rows);
    CAPTURE(cols);
    auto const n = rows * cols;
    auto x = values_of<T>(n, 1);
    for (T& v : x) v = static_cast<T>(A(100) + A(8) * static_cast<A>(v));
    auto const dy = values_of<T>(n, 2);
    auto const wide_x = wide(x);
    std::vector<A> y(size_of(n)), dx(size_of(n)), maximum(size_of(rows)), sum(size_of(rows));
    host::softmax_forward(wide_x.data(), rows, cols, y.data());

    auto const on_x = m.upload(x, skip);
    auto on_y = m.template make<T>(n, skip);
    softmax_forward(m.queue(), on_x.data(), rows, cols, on_y.data());
    CHECK(gap(m.download(on_y), y) < tolerance<T>());
    auto in_place = m.upload(x, skip);
    softmax_forward(m.queue(), static_cast<T const*>(in_place.data()), rows, cols, in_place.data());
    CHECK(m.download(in_place) == m.download(on_y));

    // The device's backward pass reads the y of the device's forward pass, which is rounded to T.
    // The reference reads the same rounded values.
    auto const rounded = wide(m.download(on_y));
    host::softmax_backward(wide(dy).data(), rounded.data(), rows, cols, dx.data());
    auto on_dy = m.upload(dy, skip);
    softmax_backward(m.queue(), static_cast<T const*>(on_dy.data()),
                     static_cast<T const*>(on_y.data()), rows, cols, on_dy.data());
    CHECK(gap(m.download(on_dy), dx) < tolerance<T>());

    auto on_maximum = m.template make<A>(rows), on_sum = m.template make<A>(rows);
    row_max(m.queue(), on_x.data(), rows, cols, on_maximum.data());
    host::row_max(wide_x.data(), rows, cols, maximum.data());
    CHECK(m.download(on_maximum) == maximum);
    A const* const peaks = on_maximum.data();
    row_exp_sum(m.queue(), on_x.data(), peaks, rows, cols, on_sum.data());
    host::cross_entropy_exp_sum(wide_x.data(), maximum.data(), rows, cols, sum.data());
    CHECK(gap(m.download(on_sum), sum) < 4 * tolerance<A>());
  }
}

/// Compares the mean logits and the gradients under label smoothing with those of the host. The
/// shard has `cols` of 2 * `cols` columns and begins at column 0, `cols` or -`cols` / 2. In the
/// last case, some targets are beyond the end of the shard.
template <class T, class Machine>
void check_smoothing(Machine& m, std::vector<T> const& x, std::vector<std::int32_t> const& targets,
                     row_shape const& shape) {
  using A = accumulation_t<T>;
  namespace host = ashlar::device::host;
  std::int64_t const rows = shape.rows, cols = shape.cols, n = rows * cols, first = cols / 2;
  auto const wide_x = wide(x);
  auto const q = ashlar::device::smoothed_target<A>(0.2, 2 * cols);
  std::vector<A> expected(size_of(rows)), maximum(size_of(rows)), sum(size_of(rows)),
      gradient(size_of(n));
  host::row_max(wide_x.data(), rows, cols, maximum.data());
  host::cross_entropy_exp_sum(wide_x.data(), maximum.data(), rows, cols, sum.data());
  auto const on_targets = m.upload(targets);
  auto const on_maximum = m.upload(maximum), on_sum = m.upload(sum);
  for (std::int64_t const begin : {std::int64_t(0), -first, cols}) {
    host::cross_entropy_expected_logit(wide_x.data(), targets.data(), rows, cols, begin, q,
                                       expected.data());
    host::cross_entropy_gradient(wide_x.data(), targets.data(), maximum.data(), sum.data(), rows,
                                 cols, begin, A(0.5), gradient.data(), q);
    auto on_x = m.upload(x, shape.skip);
    auto on_expected = m.template make<A>(rows);
    T const* const logits = on_x.data();
    cross_entropy_expected_logit(m.queue(), logits, on_targets.data(), rows, cols, begin, q,
                                 on_expected.data());
    CHECK(gap(m.download(on_expected), expected) < tolerance<A>());
    cross_entropy_gradient(
        m.queue(), logits, on_targets.data(), static_cast<A const*>(on_maximum.data()),
        static_cast<A const*>(on_sum.data()), rows, cols, begin, A(0.5), on_x.data(), q);
    CHECK(gap(m.download(on_x), gradient) < tolerance<T>());
  }
}

template <class T, class Machine>
void check_cross_entropy(Machine& m) {
  using A = accumulation_t<T>;
  namespace host = ashlar::device::host;
  for (row_shape const& shape : row_shapes) {
    std::int64_t const rows = shape.rows, cols = shape.cols;
    int const skip = shape.skip;
    CAPTURE(rows);
    CAPTURE(cols);
    auto const n = rows * cols;
    auto const x = values_of<T>(n, 3);
    auto const wide_x = wide(x);
    std::vector<std::int32_t> targets(size_of(rows));
    for (std::int64_t r = 0; r < rows; ++r)
      targets[size_of(r)] = r % 5 == 4 ? -1 : static_cast<std::int32_t>((r * 7 + cols - 1) % cols);
    std::vector<A> maximum(size_of(rows)), sum(size_of(rows)), target_logit(size_of(rows)),
        loss(size_of(rows)), gradient(size_of(n));
    host::row_max(wide_x.data(), rows, cols, maximum.data());
    host::cross_entropy_exp_sum(wide_x.data(), maximum.data(), rows, cols, sum.data());
    host::cross_entropy_target_logit(wide_x.data(), targets.data(), rows, cols, 0,
                                     target_logit.data());
    host::cross_entropy_loss(maximum.data(), sum.data(), target_logit.data(), targets.data(), rows,
                             loss.data());
    host::cross_entropy_gradient(wide_x.data(), targets.data(), maximum.data(), sum.data(), rows,
                                 cols, 0, A(0.5), gradient.data());

    auto on_x = m.upload(x, skip);
    T const* const logits = on_x.data();
    auto const on_targets = m.upload(targets);
    auto on_loss = m.template make<A>(rows);

    // Splits the vocabulary into two shards. The sums over both shards must equal the sums over the
    // full vocabulary.
    std::int64_t const first = cols / 2;
    auto on_maximum = m.template make<A>(rows), on_sum = m.template make<A>(rows);
    row_max(m.queue(), logits, rows, cols, on_maximum.data());
    A const* const peaks = on_maximum.data();
    row_exp_sum(m.queue(), logits, peaks, rows, cols, on_sum.data());
    A const* const sums = on_sum.data();
    std::vector<A> logit(size_of(rows));
    for (bool const second : {false, true}) {
      std::int64_t const begin = second ? first : 0, width = second ? cols - first : first;
      std::vector<T> part;
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = begin; c < begin + width; ++c)
          part.push_back(x[size_of(r * cols + c)]);
      auto on_part = m.upload(part);
      T const* const shard = on_part.data();
      auto on_logit = m.template make<A>(rows);
      cross_entropy_target_logit(m.queue(), shard, on_targets.data(), rows, width, begin,
                                 on_logit.data());
      auto const part_logit = m.download(on_logit);
      for (std::int64_t r = 0; r < rows; ++r) logit[size_of(r)] += part_logit[size_of(r)];
      cross_entropy_gradient(m.queue(), shard, on_targets.data(), peaks, sums, rows, width, begin,
                             A(0.5), on_part.data());
      std::vector<A> expected;
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = begin; c < begin + width; ++c)
          expected.push_back(gradient[size_of(r * cols + c)]);
      CHECK(gap(m.download(on_part), expected) < tolerance<T>());
    }
    check_smoothing<T>(m, x, targets, shape);
    auto const on_whole_logit = m.upload(logit);
    cross_entropy_loss(m.queue(), peaks, sums, on_whole_logit.data(), on_targets.data(), rows,
                       on_loss.data());
    CHECK(gap(m.download(on_loss), loss) < tolerance<A>());

    cross_entropy_gradient(m.queue(), logits, on_targets.data(), peaks, sums, rows, cols, 0, A(0.5),
                           on_x.data());
    CHECK(gap(m.download(on_x), gradient) < tolerance<T>());
  }
}

template <class T, class Machine>
void check_layer_norm(Machine& m) {
  using A = accumulation_t<T>;
  namespace host = ashlar::device::host;
  for (row_shape const& shape : row_shapes) {
    std::int64_t const rows = shape.rows, cols = shape.cols;
    int const skip = shape.skip;
    CAPTURE(rows);
    CAPTURE(cols);
    auto const n = rows * cols;
    auto const x = values_of<T>(n, 4), gamma = values_of<T>(cols, 5), beta = values_of<T>(cols, 6),
               dy = values_of<T>(n, 7);
    std::vector<A> y(size_of(n)), mean(size_of(rows)), rstd(size_of(rows)), dx(size_of(n));
    auto dgamma = ashlar::test::normals<A>(cols, 8), dbeta = ashlar::test::normals<A>(cols, 9);
    auto const on_x = m.upload(x, skip), on_gamma = m.upload(gamma, skip),
               on_beta = m.upload(beta, skip), on_dy = m.upload(dy, skip);
    auto on_y = m.template make<T>(n, skip), on_dx = m.template make<T>(n, skip);
    auto on_mean = m.template make<A>(rows), on_rstd = m.template make<A>(rows);
    auto on_dgamma = m.upload(dgamma), on_dbeta = m.upload(dbeta);
    auto workspace = m.template make<A>(ashlar::cuda::layer_norm_backward_workspace(rows, cols));

    // The epsilon of 1e-2 makes the standard deviation at least 0.1. With a smaller epsilon, rows
    // of one column would divide by almost zero.
    host::layer_norm_forward(wide(x).data(), wide(gamma).data(), wide(beta).data(), rows, cols,
                             A(1e-2), y.data(), mean.data(), rstd.data());
    layer_norm_forward(m.queue(), on_x.data(), on_gamma.data(), on_beta.data(), rows, cols, A(1e-2),
                       on_y.data(), on_mean.data(), on_rstd.data());
    CHECK(gap(m.download(on_y), y) < tolerance<T>());
    CHECK(gap(m.download(on_mean), mean) < tolerance<A>());
    CHECK(gap(m.download(on_rstd), rstd) < tolerance<A>());

    A const* const means = on_mean.data();
    A const* const rstds = on_rstd.data();
    host::layer_norm_backward(wide(dy).data(), wide(x).data(), mean.data(), rstd.data(),
                              wide(gamma).data(), rows, cols, dx.data(), dgamma.data(),
                              dbeta.data());
    layer_norm_backward(m.queue(), on_dy.data(), on_x.data(), means, rstds, on_gamma.data(), rows,
                        cols, workspace.data(), on_dx.data(), on_dgamma.data(), on_dbeta.data());
    double const enough = 8 * tolerance<A>();  // errors are multiplied by rstd <= 10
    CHECK(gap(m.download(on_dx), dx) < std::max(enough, tolerance<T>()));
    CHECK(gap(m.download(on_dgamma), dgamma) < enough);
    CHECK(gap(m.download(on_dbeta), dbeta) < enough);
  }
}

}  // namespace ashlar_test
