// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Multi-head attention of queries to the keys and values of a context, on the host. The number of
// queries and the number of the context's tokens may differ. There is no mask. The arrays are
// contiguous and row-major:
//
//   q, out            [batch, queries, heads, head_dim]
//   keys_values       [batch, keys, heads, 2, head_dim]
//   log_sum_exp       [batch, heads, queries]
//
// Each head is computed by the functions for a head of self-attention (attention.hpp,
// attention_backward.hpp).

#include <algorithm>
#include <cstdint>

#include <ashlar/device/host/attention.hpp>
#include <ashlar/device/host/attention_backward.hpp>

namespace ashlar::device::host {

struct context_extents {
  std::int64_t batch;
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t heads;
  std::int64_t head_dim;

  constexpr std::int64_t elements_of_keys_values() const {
    return batch * keys * heads * 2 * head_dim;
  }
};

namespace detail {

constexpr head_extents head_of(context_extents const& e) { return {e.queries, e.keys, e.head_dim}; }

/// Calls visit(pair, q, kv) for each head of each element of the batch. `pair` counts the heads of
/// all elements. q and kv are the indices of the head's first elements in the arrays of queries and
/// of keys and values. Before each head, calls between_blocks(), so that transfers progress.
template <class Visit>
void for_each_head(context_extents const& e, Visit visit) {
  std::int64_t const d = e.head_dim;
  for (std::int64_t pair = 0; pair < e.batch * e.heads; ++pair) {
    between_blocks();
    std::int64_t const b = pair / e.heads, h = pair % e.heads;
    visit(pair, (b * e.queries * e.heads + h) * d, (b * e.keys * e.heads + h) * 2 * d);
  }
}

}  // namespace detail

/// Returns the number of elements of the workspace that context_attention_forward needs.
constexpr std::int64_t context_forward_workspace(context_extents const& e) {
  return detail::forward_workspace(detail::head_of(e));
}
/// Returns the number of elements of the workspace that context_attention_backward needs.
constexpr std::int64_t context_backward_workspace(context_extents const& e) {
  return detail::backward_workspace(detail::head_of(e));
}

/// Computes out and log_sum_exp. Expects at least one key.
template <class T>
void context_attention_forward(T const* q, T const* keys_values, context_extents const& e,
                               T* workspace, T* out, T* log_sum_exp) {
  std::int64_t const d = e.head_dim, step = e.heads * d;
  detail::for_each_head(e, [&](std::int64_t pair, std::int64_t at, std::int64_t kv) {
    T const* const k = keys_values + kv;
    detail::attention_of_head<T>({q + at, step}, {k, 2 * step}, {k + d, 2 * step},
                                 detail::head_of(e), detail::attention_scale<T>(d), workspace,
                                 {out + at, step}, log_sum_exp + pair * e.queries);
  });
}

/// Computes the gradients dq and dkeys_values. `dout` is the gradient of `out`. `out` and
/// `log_sum_exp` are the results of the forward pass.
template <class T>
void context_attention_backward(T const* dout, T const* q, T const* keys_values, T const* out,
                                T const* log_sum_exp, context_extents const& e, T* workspace, T* dq,
                                T* dkeys_values) {
  if (e.queries == 0) {
    std::fill_n(dkeys_values, e.elements_of_keys_values(), T(0));
    return;
  }
  std::int64_t const d = e.head_dim, step = e.heads * d;
  detail::for_each_head(e, [&](std::int64_t pair, std::int64_t at, std::int64_t kv) {
    T const* const k = keys_values + kv;
    T* const dk = dkeys_values + kv;
    detail::attention_gradient_of_head<T>(
        {dout + at, step}, {q + at, step}, {k, 2 * step}, {k + d, 2 * step}, {out + at, step},
        log_sum_exp + pair * e.queries, detail::head_of(e), detail::attention_scale<T>(d),
        workspace, {dq + at, step}, {dk, 2 * step}, {dk + d, 2 * step});
  });
}

}  // namespace ashlar::device::host
