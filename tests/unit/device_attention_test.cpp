// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/device/host/attention.hpp>
#include <ashlar/device/host/attention_backward.hpp>

#include "device_reference.hpp"

namespace host = ashlar::device::host;
using namespace ashlar::test;

namespace {

struct result {
  std::vector<double> out;
  std::vector<double> log_sum_exp;
};

/// Computes attention one query at a time, without blocks.
template <class T>
result reference(std::vector<T> const& qkv, host::attention_extents const& e, double scale) {
  result made{std::vector<double>(size_of(e.batch * e.sequence * e.heads * e.head_dim)),
              std::vector<double>(size_of(e.batch * e.heads * e.sequence))};
  auto const at = [&](std::int64_t b, std::int64_t s, std::int64_t h, int part, std::int64_t d) {
    return static_cast<double>(
        qkv[size_of((((b * e.sequence + s) * e.heads + h) * 3 + part) * e.head_dim + d)]);
  };
  for (std::int64_t b = 0; b < e.batch; ++b) {
    for (std::int64_t h = 0; h < e.heads; ++h) {
      for (std::int64_t i = 0; i < e.sequence; ++i) {
        std::vector<double> p(size_of(e.causal ? i + 1 : e.sequence));
        double sum = 0;
        for (std::int64_t j = 0; j < std::ssize(p); ++j) {
          double score = 0;
          for (std::int64_t d = 0; d < e.head_dim; ++d)
            score += at(b, i, h, 0, d) * at(b, j, h, 1, d);
          p[size_of(j)] = std::exp(scale * score);
          sum += p[size_of(j)];
        }
        made.log_sum_exp[size_of((b * e.heads + h) * e.sequence + i)] = std::log(sum);
        for (std::int64_t d = 0; d < e.head_dim; ++d) {
          double value = 0;
          for (std::int64_t j = 0; j < std::ssize(p); ++j)
            value += p[size_of(j)] / sum * at(b, j, h, 2, d);
          made.out[size_of(((b * e.sequence + i) * e.heads + h) * e.head_dim + d)] = value;
        }
      }
    }
  }
  return made;
}

template <class T>
struct run {
  std::vector<T> workspace;
  std::vector<T> out;
  std::vector<T> log_sum_exp;
};

template <class T>
run<T> forward(std::vector<T> const& qkv, host::attention_extents const& e,
               std::optional<double> scale = std::nullopt) {
  run<T> made{std::vector<T>(size_of(host::attention_forward_workspace(e))),
              std::vector<T>(size_of(e.batch * e.sequence * e.heads * e.head_dim)),
              std::vector<T>(size_of(e.batch * e.heads * e.sequence))};
  host::attention_forward(qkv.data(), e, made.workspace.data(), made.out.data(),
                          made.log_sum_exp.data(), scale);
  return made;
}

std::int64_t packed(host::attention_extents const& e) {
  return e.batch * e.sequence * e.heads * 3 * e.head_dim;
}

}  // namespace

TEST_CASE_TEMPLATE("attention_equals_the_query_by_query_loop", T, float, double) {
  double const tolerance = sizeof(T) == 4 ? 1e-5 : 1e-13;
  for (auto const& e : {host::attention_extents{2, 5, 3, 4},
                        {1, 1, 1, 1},
                        {1, 64, 2, 8},
                        {2, 65, 1, 7},
                        {1, 200, 2, 16},
                        {0, 5, 1, 4},
                        {2, 0, 1, 4},
                        {2, 5, 0, 4},
                        {2, 5, 3, 4, false},
                        {1, 1, 1, 1, false},
                        {2, 65, 1, 7, false},
                        {1, 200, 2, 16, false}}) {
    CAPTURE(e.sequence);
    CAPTURE(e.causal);
    auto const qkv = normals<T>(packed(e), 1);
    auto const expected = reference(qkv, e, 1 / std::sqrt(static_cast<double>(e.head_dim)));
    auto const made = forward(qkv, e);
    CHECK(distance(std::vector<double>(made.out.begin(), made.out.end()), expected.out) <
          tolerance);
    CHECK(distance(std::vector<double>(made.log_sum_exp.begin(), made.log_sum_exp.end()),
                   expected.log_sum_exp) < tolerance);
  }
}

TEST_CASE("attention_accepts_another_scale_and_large_scores") {
  host::attention_extents const e{1, 70, 1, 4};
  auto qkv = normals<double>(packed(e), 1);
  CHECK(distance(forward(qkv, e, 0.1).out, reference(qkv, e, 0.1).out) < 1e-13);
  for (double& value : qkv) value *= 40;
  for (double value : forward(qkv, e).out) CHECK(std::isfinite(value));
}

TEST_CASE("attention_gradient_equals_finite_differences_over_several_blocks") {
  for (auto const& e : {host::attention_extents{2, 3, 2, 4},
                        {1, 66, 1, 3},
                        {1, 130, 1, 1},
                        {1, 64, 1, 2},
                        {2, 3, 2, 4, false},
                        {1, 66, 1, 3, false},
                        {1, 130, 1, 1, false}}) {
    CAPTURE(e.sequence);
    auto qkv = normals<double>(packed(e), 1);
    auto const made = forward(qkv, e);
    auto const dout = normals<double>(static_cast<std::int64_t>(made.out.size()), 2);
    std::vector<double> workspace(size_of(host::attention_backward_workspace(e)));
    std::vector<double> dqkv(qkv.size(), 7.0);  // the backward pass must overwrite this
    host::attention_backward(dout.data(), qkv.data(), made.out.data(), made.log_sum_exp.data(), e,
                             workspace.data(), dqkv.data());
    auto const expected = numeric_gradient(qkv, [&] { return dot(forward(qkv, e).out, dout); });
    CHECK(distance(dqkv, expected) < 1e-8);
  }
}

TEST_CASE("attention_backward_of_an_empty_tensor_does_nothing") {
  double const* const none = nullptr;
  double* const nowhere = nullptr;
  for (auto const& e : {host::attention_extents{0, 5, 1, 4}, {2, 0, 1, 4}, {2, 5, 0, 4}}) {
    host::attention_backward(none, none, none, none, e, nowhere, nowhere);
  }
}
