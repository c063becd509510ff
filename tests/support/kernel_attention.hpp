// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Compares attention, forward and backward, with the host's computation in double from the same
// inputs. The sequence lengths are close to the sizes of one and of two tiles. The cases include
// causal and full attention, several heads, head dimensions that tensor cores support, and others
// that they do not support.

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/device/host/attention.hpp>
#include <ashlar/device/host/attention_backward.hpp>

#include "support/kernel_values.hpp"

namespace ashlar_test {

inline std::vector<ashlar::device::attention_extents> attention_cases() {
  return {{0, 5, 2, 8, true},    {2, 0, 2, 8, true},     {1, 1, 1, 1, true},
          {2, 5, 3, 8, false},   {1, 64, 1, 16, true},   {1, 65, 2, 5, true},
          {1, 33, 1, 64, false}, {1, 70, 1, 64, false},  {2, 32, 2, 72, true},
          {1, 129, 1, 16, true}, {1, 130, 2, 40, false}, {1, 200, 1, 128, true},
          {1, 67, 1, 96, false}, {1, 257, 1, 8, true}};
}

template <class V>
std::vector<double> in_double(std::vector<V> const& values) {
  std::vector<double> result;
  for (V const v : values) result.push_back(static_cast<double>(static_cast<accumulation_t<V>>(v)));
  return result;
}

/// Returns the largest difference |actual - expected| / (1 + |expected|).
template <class V>
double double_gap(std::vector<V> const& actual, std::vector<double> const& expected) {
  return ashlar::test::distance(in_double(actual), expected);
}

/// Checks all cases. `long_heads` adds a case with head_dim 130, which the kernels in double do not
/// support.
template <class T, class Machine>
void check_attention(Machine& m, bool long_heads) {
  using A = accumulation_t<T>;
  namespace host = ashlar::device::host;
  auto cases = attention_cases();
  if (long_heads) cases.push_back({1, 35, 1, 130, true});
  for (auto const& e : cases) {
    CAPTURE(e.sequence);
    CAPTURE(e.head_dim);
    CAPTURE(e.causal);
    std::int64_t const rows = e.batch * e.sequence * e.heads;
    auto const qkv = values_of<T>(rows * 3 * e.head_dim, 1),
               dout = values_of<T>(rows * e.head_dim, 2);
    std::vector<double> out(size_of(rows * e.head_dim)), log_sum_exp(size_of(rows)),
        dqkv(size_of(rows * 3 * e.head_dim)),
        workspace(
            size_of(host::attention_backward_workspace(e) + host::attention_forward_workspace(e)));
    host::attention_forward(in_double(qkv).data(), e, workspace.data(), out.data(),
                            log_sum_exp.data());

    auto const on_qkv = m.upload(qkv), on_dout = m.upload(dout);
    auto on_out = m.template make<T>(rows * e.head_dim);
    auto on_log_sum_exp = m.template make<A>(rows);
    attention_forward(m.queue(), on_qkv.data(), e, on_out.data(), on_log_sum_exp.data());
    CHECK(double_gap(m.download(on_out), out) < tolerance<T>());
    CHECK(double_gap(m.download(on_log_sum_exp), log_sum_exp) < tolerance<A>());

    // The device's backward pass reads the output of its forward pass, which is rounded to T. The
    // reference reads the same rounded values.
    auto const rounded = in_double(m.download(on_out));
    host::attention_backward(in_double(dout).data(), in_double(qkv).data(), rounded.data(),
                             log_sum_exp.data(), e, workspace.data(), dqkv.data());
    auto on_workspace = m.template make<A>(ashlar::cuda::attention_backward_workspace(e));
    auto on_dqkv = m.template make<T>(rows * 3 * e.head_dim);
    attention_backward(
        m.queue(), on_dout.data(), on_qkv.data(), static_cast<T const*>(on_out.data()),
        static_cast<A const*>(on_log_sum_exp.data()), e, on_workspace.data(), on_dqkv.data());
    CHECK(double_gap(m.download(on_dqkv), dqkv) < 2 * tolerance<T>());
    auto again = m.template make<T>(rows * 3 * e.head_dim);
    attention_backward(
        m.queue(), on_dout.data(), on_qkv.data(), static_cast<T const*>(on_out.data()),
        static_cast<A const*>(on_log_sum_exp.data()), e, on_workspace.data(), again.data());
    CHECK(m.download(again) == m.download(on_dqkv));  // deterministic: bitwise equal
  }
  auto const qkv = m.template make<T>(3 * 300);
  auto out = m.template make<T>(300);
  auto sums = m.template make<A>(1);
  CHECK_THROWS_WITH_AS(
      attention_forward(m.queue(), qkv.data(), {1, 1, 1, 300, true}, out.data(), sums.data()),
      doctest::Contains("head_dim 300"), ashlar::error);
}

}  // namespace ashlar_test
