// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares attention to a context with its definition, and its gradients with finite differences.

#include <doctest/doctest.h>

#include <ashlar/device/host/context_attention.hpp>

#include "device_reference.hpp"

namespace host = ashlar::device::host;
using namespace ashlar::test;

namespace {

using values = std::vector<double>;

/// Computes attention to a context one query at a time.
values reference(values const& q, values const& kv, host::context_extents const& e) {
  values out(q.size());
  std::int64_t const d = e.head_dim;
  for (std::int64_t b = 0; b < e.batch; ++b)
    for (std::int64_t i = 0; i < e.queries; ++i)
      for (std::int64_t h = 0; h < e.heads; ++h) {
        double const* const row = q.data() + ((b * e.queries + i) * e.heads + h) * d;
        auto const token = [&](std::int64_t j) {
          return kv.data() + ((b * e.keys + j) * e.heads + h) * 2 * d;
        };
        double sum = 0;
        values p;
        for (std::int64_t j = 0; j < e.keys; ++j) {
          double score = 0;
          for (std::int64_t c = 0; c < d; ++c) score += row[c] * token(j)[c];
          p.push_back(std::exp(score / std::sqrt(static_cast<double>(d))));
          sum += p.back();
        }
        for (std::int64_t j = 0; j < e.keys; ++j)
          for (std::int64_t c = 0; c < d; ++c)
            out[size_of(((b * e.queries + i) * e.heads + h) * d + c)] += p[size_of(j)] / sum *
                                                                         token(j)[d + c];
      }
  return out;
}

void check(host::context_extents const& e) {
  CAPTURE(e.queries);
  CAPTURE(e.keys);
  auto q = normals<double>(e.batch * e.queries * e.heads * e.head_dim, 1);
  auto kv = normals<double>(e.elements_of_keys_values(), 2);
  auto const dout = normals<double>(static_cast<std::int64_t>(q.size()), 3);
  values out(q.size(), 9), dq(q.size(), 9), dkv(kv.size(), 9);
  values log_sum_exp(size_of(e.batch * e.heads * e.queries));
  values workspace(
      size_of(std::max(host::context_forward_workspace(e), host::context_backward_workspace(e))));
  host::context_attention_forward(q.data(), kv.data(), e, workspace.data(), out.data(),
                                  log_sum_exp.data());
  CHECK(distance(out, reference(q, kv, e)) < 1e-12);
  host::context_attention_backward(dout.data(), q.data(), kv.data(), out.data(), log_sum_exp.data(),
                                   e, workspace.data(), dq.data(), dkv.data());
  auto const value = [&] { return dot(reference(q, kv, e), dout); };
  CHECK(distance(dq, numeric_gradient(q, value)) < 1e-7);
  CHECK(distance(dkv, numeric_gradient(kv, value)) < 1e-7);
}

}  // namespace

TEST_CASE("context_attention_equals_its_definition_and_its_gradients_finite_differences") {
  check({2, 5, 3, 2, 4});
  check({1, 70, 4, 1, 3});  // these queries need two blocks
  check({2, 3, 7, 3, 1});
  check({1, 1, 1, 1, 2});
  check({2, 0, 3, 2, 4});  // without queries, the gradients of keys and values are zero
  check({0, 5, 3, 2, 4});
  check({2, 5, 3, 0, 4});
}
