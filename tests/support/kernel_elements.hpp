// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Compares elementwise and column kernels with the host's kernels. The kernels are maps,
// conversions, random elements and dropout, optimizer updates, sums of squares, column sums and
// embeddings. The numbers of elements are close to the size of a thread block and to the number of
// elements in one 16-byte load. Arrays are aligned and unaligned.

#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/device/function.hpp>
#include <ashlar/device/functor.hpp>
#include <ashlar/device/host/dropout.hpp>
#include <ashlar/device/host/embedding.hpp>
#include <ashlar/device/host/map.hpp>
#include <ashlar/device/host/optimizer.hpp>
#include <ashlar/device/host/random.hpp>

#include "support/kernel_values.hpp"

namespace ashlar_test {

inline constexpr std::int64_t run_lengths[] = {0, 1, 3, 4, 7, 8, 9, 64, 1031};

template <class T, class Machine>
void check_maps(Machine& m) {
  using A = accumulation_t<T>;
  using ashlar::device::gelu;
  using ashlar::device::relu;
  using namespace ashlar::cuda;
  for (std::int64_t const n : run_lengths) {
    for (int const skip : {0, 1}) {
      CAPTURE(n);
      auto x = values_of<T>(n, 1), y = values_of<T>(n, 2), positive = x;
      // The number 0.3 is not a bfloat16 value. A kernel must not find that the nearest bfloat16
      // value equals 0.3.
      A const number = A(0.3);
      if (n > 1) x[1] = static_cast<T>(number);
      if (n > 2) x[2] = y[2];
      for (T& v : positive) {
        A const wide_v = static_cast<A>(v);
        v = static_cast<T>(wide_v * wide_v + A(0.25));
      }
      auto const on_x = m.upload(x, skip), on_y = m.upload(y, skip),
                 on_positive = m.upload(positive, skip);
      auto result = m.template make<T>(n, skip);
      auto const one_of = [&](auto const& values, auto const& on_values, auto f) {
        map(m.queue(), f, on_values.data(), n, result.data());
        std::vector<A> expected;
        for (T const v : values) expected.push_back(f(static_cast<A>(v)));
        CHECK(gap(m.download(result), expected) < tolerance<T>());
      };
      auto const one = [&](auto f) { one_of(x, on_x, f); };
      auto const two_of = [&](auto const& left, auto const& on_left, auto const& right,
                              auto const& on_right, auto f) {
        map(m.queue(), f, on_left.data(), on_right.data(), n, result.data());
        std::vector<A> expected;
        for (std::int64_t i = 0; i < n; ++i)
          expected.push_back(
              f(static_cast<A>(left[size_of(i)]), static_cast<A>(right[size_of(i)])));
        CHECK(gap(m.download(result), expected) < tolerance<T>());
      };
      auto const two = [&](auto f) { two_of(x, on_x, y, on_y, f); };
      one(value_of<relu>{});
      one(value_of<gelu>{});
      one(scaled<A>{A(0.5)});
      one(divided<A>{A(3)});
      one(shifted<A>{A(0.25)});
      one(lowered<A>{A(0.25)});
      one(subtracting<A>{A(0.25)});
      one(negated{});
      one(value_of<ashlar::device::exponential>{});
      one(value_of<ashlar::device::hyperbolic_tangent>{});
      one(value_of<ashlar::device::logistic>{});
      one(value_of<ashlar::device::silu>{});
      one(value_of<ashlar::device::error_function>{});
      one(value_of<ashlar::device::magnitude>{});
      one(raised<A>{A(2)});
      one_of(positive, on_positive, value_of<ashlar::device::natural_log>{});
      one_of(positive, on_positive, value_of<ashlar::device::square_root>{});
      one_of(positive, on_positive, value_of<ashlar::device::inverse_square_root>{});
      one_of(positive, on_positive, dividing<A>{A(3)});
      one(bound_back<larger_of, A>{{}, number});
      one(bound_back<smaller_of, A>{{}, number});
      one(bound_back<less_of, A>{{}, number});
      one(bound_front<less_of, A>{{}, number});
      one(bound_back<less_equal_of, A>{{}, number});
      one(bound_front<less_equal_of, A>{{}, number});
      one(bound_back<equal_of, A>{{}, number});
      one(bound_front<equal_of, A>{{}, number});
      two(gradient_of<relu>{});
      two(gradient_of<gelu>{});
      two(gradient_of<ashlar::device::exponential>{});
      two(gradient_of<ashlar::device::hyperbolic_tangent>{});
      two(gradient_of<ashlar::device::logistic>{});
      two(gradient_of<ashlar::device::silu>{});
      two(gradient_of<ashlar::device::error_function>{});
      two(gradient_of<ashlar::device::magnitude>{});
      two(raised_gradient<A>{A(2)});
      two(kept_where<true>{});
      two(kept_where<false>{});
      two(sum_of{});
      two(difference_of{});
      two(product_of{});
      two(scaled_sum<A>{A(-2)});
      two(larger_of{});
      two(smaller_of{});
      two(less_of{});
      two(less_equal_of{});
      two(equal_of{});
      two_of(x, on_x, positive, on_positive, quotient_of{});
      two_of(positive, on_positive, y, on_y, gradient_of<ashlar::device::natural_log>{});
      two_of(positive, on_positive, y, on_y, gradient_of<ashlar::device::square_root>{});
      two_of(positive, on_positive, y, on_y, gradient_of<ashlar::device::inverse_square_root>{});
      fill(m.queue(), static_cast<T>(A(3)), n, result.data());
      CHECK(m.download(result) == std::vector<T>(size_of(n), static_cast<T>(A(3))));
      for (std::int64_t const cols : {1, 3, 8}) {
        if (n % cols != 0) continue;
        auto const bias = values_of<T>(cols, 3);
        auto const on_bias = m.upload(bias, skip);
        auto sum = m.upload(x, skip);
        add_bias(m.queue(), on_bias.data(), n / cols, cols, sum.data());
        std::vector<A> expected;
        for (std::int64_t i = 0; i < n; ++i)
          expected.push_back(static_cast<A>(x[size_of(i)]) +
                             static_cast<A>(bias[size_of(i % cols)]));
        CHECK(gap(m.download(sum), expected) < tolerance<T>());
      }
    }
  }
}

template <class Machine>
void check_conversions(Machine& m) {
  for (std::int64_t const n : run_lengths) {
    for (int const skip : {0, 1}) {
      auto const x = ashlar::test::normals<float>(n, 1);
      auto const on_x = m.upload(x, skip);
      auto narrowed = m.template make<bfloat16>(n, skip);
      ashlar::cuda::convert(m.queue(), on_x.data(), n, narrowed.data());
      CHECK(m.download(narrowed) == values_of<bfloat16>(n, 1));
      auto widened = m.template make<float>(n, skip);
      ashlar::cuda::convert(m.queue(), static_cast<bfloat16 const*>(narrowed.data()), n,
                            widened.data());
      CHECK(m.download(widened) == wide(m.download(narrowed)));
    }
  }
}

template <class T, class Machine>
void check_random(Machine& m) {
  using A = accumulation_t<T>;
  namespace host = ashlar::device::host;
  for (std::int64_t const n : run_lengths) {
    for (std::int64_t const first : {0, 1, 4, 6, 1 << 30}) {
      for (int const skip : {0, static_cast<int>(first % 4)}) {
        CAPTURE(n);
        CAPTURE(first);
        std::vector<T> expected(size_of(n));
        auto made = m.template make<T>(n, skip);
        // The host and the device use the same random words and operations, so uniform values are
        // equal. Normal deviates may differ if a compiler fuses a multiplication and an addition.
        host::fill_uniform<T>(7, 3, first, n, A(0), A(1), expected.data());
        fill_uniform(m.queue(), 7, 3, first, n, A(0), A(1), made.data());
        CHECK(m.download(made) == expected);
        host::fill_uniform<T>(7, 3, first, n, A(1), A(2), expected.data());
        fill_uniform(m.queue(), 7, 3, first, n, A(1), A(2), made.data());
        CHECK(m.download(made) == expected);
        host::fill_normal<T>(7, 3, first, n, A(0), A(1), expected.data());
        fill_normal(m.queue(), 7, 3, first, n, A(0), A(1), made.data());
        CHECK(gap(m.download(made), expected) < 1e-3 * tolerance<T>());
        auto const x = values_of<T>(n, 5);
        auto const on_x = m.upload(x, skip);
        for (double const p : {0.0, 0.25, 1.0 - 0x1p-40}) {
          std::vector<A> kept(size_of(n));
          host::dropout_forward(wide(x).data(), n, p, 7, 4, first, kept.data());
          dropout(m.queue(), on_x.data(), n, p, 7, 4, first, made.data());
          auto const actual = m.download(made);
          CHECK(gap(actual, kept) < tolerance<T>());
          for (std::int64_t i = 0; i < n; ++i)
            CHECK((actual[size_of(i)] == static_cast<T>(A(0))) == (kept[size_of(i)] == A(0)));
        }
      }
    }
  }
  auto made = m.template make<T>(1);
  T const* const x = made.data();
  CHECK_THROWS_AS(dropout(m.queue(), x, 1, 1.0, 7, 4, 0, made.data()), std::invalid_argument);
}

/// Checks optimizer updates. G is the type of the gradient, W the type of the weight. If
/// `with_copy` is true, the update also writes a copy of the weights in bfloat16.
template <class G, class W, class Machine>
void check_updates(Machine& m, bool with_copy) {
  namespace host = ashlar::device::host;
  ashlar::device::adam_w_factors const adam{.lr = 0.1,
                                            .beta1 = 0.8,
                                            .beta2 = 0.9,
                                            .epsilon = 1e-6,
                                            .weight_decay = 0.2,
                                            .correction1 = 0.3,
                                            .correction2 = 0.2,
                                            .gradient_scale = 0.5};
  ashlar::device::sgd_factors const sgd{
      .lr = 0.1, .momentum = 0.9, .weight_decay = 0.2, .gradient_scale = 0.5};
  for (std::int64_t const n : run_lengths) {
    for (int const skip : {0, 1}) {
      CAPTURE(n);
      auto const gradient = values_of<G>(n, 1);
      std::vector<W> wide_gradient;
      for (G const g : gradient) wide_gradient.push_back(static_cast<W>(g));
      auto first = values_of<W>(n, 2), second = values_of<W>(n, 3), weight = values_of<W>(n, 4);
      for (W& v : second) v = v * v;
      auto const on_gradient = m.upload(gradient, skip);
      auto on_first = m.upload(first, skip), on_second = m.upload(second, skip),
           on_weight = m.upload(weight, skip);
      auto on_copy = m.template make<bfloat16>(n, skip);
      bfloat16* const copy = with_copy ? on_copy.data() : nullptr;
      host::adam_w_update(adam, wide_gradient.data(), n, first.data(), second.data(),
                          weight.data());
      adam_w_update(m.queue(), adam, on_gradient.data(), n, on_first.data(), on_second.data(),
                    on_weight.data(), copy);
      CHECK(gap(m.download(on_first), first) < tolerance<W>());
      CHECK(gap(m.download(on_second), second) < tolerance<W>());
      CHECK(gap(m.download(on_weight), weight) < tolerance<W>());
      host::sgd_update(sgd, wide_gradient.data(), n, first.data(), weight.data());
      sgd_update(m.queue(), sgd, on_gradient.data(), n, on_first.data(), on_weight.data(), copy);
      CHECK(gap(m.download(on_weight), weight) < tolerance<W>());
      if (!with_copy) continue;
      std::vector<bfloat16> rounded;
      for (W const w : m.download(on_weight)) rounded.push_back(bfloat16(w));
      CHECK(m.download(on_copy) == rounded);
    }
  }
}

template <class T, class Machine>
void check_sums(Machine& m) {
  using A = accumulation_t<T>;
  for (std::int64_t const n : {0, 1, 7, 1031, 8192, 8193, 20011}) {
    for (int const skip : {0, 1}) {
      CAPTURE(n);
      auto const x = values_of<T>(n, 1);
      auto const on_x = m.upload(x, skip);
      auto workspace = m.template make<double>(ashlar::cuda::sum_workspace);
      auto sum = m.upload(std::vector<double>{0.0});
      ashlar::cuda::add_sum_of_squares(m.queue(), on_x.data(), n, workspace.data(), sum.data());
      double const expected = ashlar::device::host::sum_of_squares(wide(x).data(), n);
      CHECK(gap(m.download(sum), std::vector<double>{expected}) < 1e-12);
    }
  }
  struct shape {
    std::int64_t rows, cols;
  };
  for (auto const& s : {shape{0, 3}, {1, 1}, {5, 0}, {33, 7}, {100, 64}, {7, 1024}}) {
    std::int64_t const rows = s.rows, cols = s.cols;
    for (int const skip : {0, 1}) {
      CAPTURE(rows);
      CAPTURE(cols);
      auto const x = values_of<T>(rows * cols, 2);
      auto const start = ashlar::test::normals<A>(cols, 3);
      std::vector<A> expected = start;
      for (std::int64_t i = 0; i < rows * cols; ++i)
        expected[size_of(i % cols)] += static_cast<A>(x[size_of(i)]);
      auto const on_x = m.upload(x, skip);
      auto on_sum = m.upload(start);
      auto workspace = m.template make<A>(ashlar::cuda::column_sums_workspace(rows, cols, 1));
      add_column_sums(m.queue(), on_x.data(), rows, cols, workspace.data(), on_sum.data());
      CHECK(gap(m.download(on_sum), expected) < tolerance<A>());
    }
  }
}

template <class T, class Machine>
void check_embedding(Machine& m) {
  using A = accumulation_t<T>;
  namespace host = ashlar::device::host;
  for (std::int64_t const tokens : {0, 1, 13, 40}) {
    for (std::int64_t const cols : {1, 5, 8, 24}) {
      for (int const skip : {0, 1}) {
        CAPTURE(tokens);
        CAPTURE(cols);
        // The ids range from 0 to 10. The shard holds rows 3 to 8.
        std::int64_t const first_row = 3, rows = 6, sequence = 7, first_token = 5;
        std::vector<std::int32_t> ids;
        for (std::int64_t t = 0; t < tokens; ++t)
          ids.push_back(static_cast<std::int32_t>(t * t % 11));
        auto const table = values_of<T>(rows * cols, 1), dy = values_of<T>(tokens * cols, 2),
                   positions = values_of<T>(sequence * cols, 3);
        std::vector<A> y(size_of(tokens * cols));
        host::embedding_forward(wide(table).data(), first_row, rows, cols, ids.data(), tokens,
                                y.data());
        auto const on_ids = m.upload(ids);
        auto const on_table = m.upload(table, skip), on_dy = m.upload(dy, skip),
                   on_positions = m.upload(positions, skip);
        auto on_y = m.template make<T>(tokens * cols, skip);
        embedding_forward(m.queue(), on_table.data(), first_row, rows, cols, on_ids.data(), tokens,
                          on_y.data());
        CHECK(wide(m.download(on_y)) == y);
        host::add_positions(wide(positions).data(), sequence, cols, first_token, tokens, y.data());
        add_positions(m.queue(), on_positions.data(), sequence, cols, first_token, tokens,
                      on_y.data());
        CHECK(gap(m.download(on_y), y) < tolerance<T>());

        // The kernels add in the order of the host, so the results are bitwise equal.
        auto dtable = ashlar::test::normals<A>(rows * cols, 4),
             dpositions = ashlar::test::normals<A>(sequence * cols, 5);
        auto on_dtable = m.upload(dtable), on_dpositions = m.upload(dpositions);
        auto workspace = m.template make<std::int32_t>(
            ashlar::cuda::embedding_backward_workspace(rows, tokens));
        host::embedding_backward(wide(dy).data(), ids.data(), tokens, first_row, rows, cols,
                                 dtable.data());
        embedding_backward(m.queue(), on_dy.data(), on_ids.data(), tokens, first_row, rows, cols,
                           workspace.data(), on_dtable.data());
        CHECK(m.download(on_dtable) == dtable);
        host::add_positions_backward(wide(dy).data(), sequence, cols, first_token, tokens,
                                     dpositions.data());
        add_positions_backward(m.queue(), on_dy.data(), sequence, cols, first_token, tokens,
                               on_dpositions.data());
        CHECK(m.download(on_dpositions) == dpositions);
      }
    }
  }
}

}  // namespace ashlar_test
