// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Grouped-query attention on the host: several query heads have one key head and one value head in
// common. With one query head per group it is multi-head attention. All arrays are contiguous and
// row-major:
//
//   qkv          [batch, sequence, groups, queries + 2, head_dim]
//   out          [batch, sequence, groups, queries, head_dim]
//   log_sum_exp  [batch, groups, queries, sequence]
//
// In qkv, the query heads of a group are followed by the key head and the value head of the group.
// So a mesh axis that splits the groups keeps each query head on the same rank as its key and value
// heads. `groups` is the number of groups on this rank. Queries and keys may be rotated by their
// positions (rotary.hpp).
//
// Each query head is computed as in attention.hpp and attention_backward.hpp. The gradients of keys
// and values are summed over the query heads of the group, in ascending order of the heads. The
// source of the grouping is Ainslie et al., "GQA: Training Generalized Multi-Query Transformer
// Models", 2023.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/host/attention.hpp>
#include <ashlar/device/host/attention_backward.hpp>
#include <ashlar/device/host/between_blocks.hpp>
#include <ashlar/device/host/rotary.hpp>

namespace ashlar::device::host {

struct grouped_extents {
  std::int64_t batch;
  std::int64_t sequence;
  std::int64_t groups;   ///< the number of groups on this rank, each with one key head
  std::int64_t queries;  ///< query heads of a group
  std::int64_t head_dim;
  bool causal = true;      ///< a token attends only to itself and to earlier tokens
  rotary_angles angles{};  ///< the rotary angles of queries and keys

  constexpr bool rotary() const { return angles.base > 0; }
  /// Returns the distance between two consecutive tokens in qkv, in elements.
  constexpr std::int64_t token() const { return groups * (queries + 2) * head_dim; }
  /// Returns the distance between two consecutive tokens in out, in elements.
  constexpr std::int64_t out_token() const { return groups * queries * head_dim; }
  /// Returns the total number of elements of the rotary table and of the rotated queries and keys
  /// of one group, or 0 without rotary positions.
  constexpr std::int64_t turned_elements() const {
    return rotary() ? sequence * head_dim * (queries + 2) : 0;
  }
};

namespace detail {

constexpr head_extents head_of(grouped_extents const& e) {
  return {e.sequence, e.sequence, e.head_dim, e.causal};
}

/// Tells the kernels of a head where the queries, keys and values of one group are. If queries and
/// keys are rotated, the rotated copies are in the workspace.
template <class T>
class group_rows {
 public:
  /// If e.rotary(), computes the rotary table. The workspace has e.turned_elements() elements.
  /// `first` is the position of the first token.
  group_rows(grouped_extents const& e, T* workspace, std::int64_t first = 0)
      : e_(e), table_(workspace), copy_(workspace + e.sequence * e.head_dim) {
    if (e.rotary()) rotary_table(e.sequence, e.head_dim, e.angles, table_, first);
  }
  /// Selects the group whose first query is at `qkv`. If e.rotary(), rotates the queries and keys
  /// of the group by their positions.
  void take(T const* qkv) {
    qkv_ = qkv;
    if (!e_.rotary()) return;
    for (std::int64_t i = 0; i < e_.sequence; ++i)
      for (std::int64_t head = 0; head <= e_.queries; ++head)
        rotate(table_ + i * e_.head_dim, e_.head_dim, qkv + i * e_.token() + head * e_.head_dim,
               copy_ + (i * (e_.queries + 1) + head) * e_.head_dim);
  }
  /// Returns the rows of query head number `head` of the group, or the rows of the group's key head
  /// if `head` is e.queries. The rows are rotated if e.rotary().
  head_rows<T const> turned(std::int64_t head) const {
    if (e_.rotary()) return {copy_ + head * e_.head_dim, (e_.queries + 1) * e_.head_dim};
    return {qkv_ + head * e_.head_dim, e_.token()};
  }
  head_rows<T const> key() const { return turned(e_.queries); }
  head_rows<T const> value() const { return {qkv_ + (e_.queries + 1) * e_.head_dim, e_.token()}; }
  /// If e.rotary(), rotates the gradients of the group's queries and keys back, in place. `dqkv`
  /// points to the gradient of the group's first query.
  void turn_back(T* dqkv) const {
    if (!e_.rotary()) return;
    for (std::int64_t i = 0; i < e_.sequence; ++i)
      for (std::int64_t head = 0; head <= e_.queries; ++head) {
        T* const row = dqkv + i * e_.token() + head * e_.head_dim;
        rotate_back(table_ + i * e_.head_dim, e_.head_dim, row, row);
      }
  }

 private:
  grouped_extents e_;
  T* table_;
  T* copy_;
  T const* qkv_ = nullptr;
};

}  // namespace detail

/// Returns the number of elements of the workspace that grouped_attention_forward needs.
constexpr std::int64_t grouped_forward_workspace(grouped_extents const& e) {
  return e.turned_elements() + detail::forward_workspace(detail::head_of(e));
}
/// Returns the number of elements of the workspace that grouped_attention_backward needs.
constexpr std::int64_t grouped_backward_workspace(grouped_extents const& e) {
  return e.turned_elements() + 2 * e.sequence * e.head_dim +
         detail::backward_workspace(detail::head_of(e));
}

/// Computes out and log_sum_exp from qkv. The workspace has grouped_forward_workspace(e) elements.
/// Scores are multiplied by 1 / sqrt(head_dim).
template <class T>
void grouped_attention_forward(T const* qkv, grouped_extents const& e, T* workspace, T* out,
                               T* log_sum_exp) {
  if (e.sequence == 0) return;
  std::int64_t const d = e.head_dim;
  T const factor = detail::attention_scale<T>(d);
  detail::group_rows<T> rows(e, workspace);
  for (std::int64_t pair = 0; pair < e.batch * e.groups; ++pair) {
    std::int64_t const b = pair / e.groups, group = pair % e.groups;
    rows.take(qkv + b * e.sequence * e.token() + group * (e.queries + 2) * d);
    for (std::int64_t head = 0; head < e.queries; ++head) {
      between_blocks();
      T* const o = out + b * e.sequence * e.out_token() + (group * e.queries + head) * d;
      detail::attention_of_head<T>(rows.turned(head), rows.key(), rows.value(), detail::head_of(e),
                                   factor, workspace + e.turned_elements(), {o, e.out_token()},
                                   log_sum_exp + (pair * e.queries + head) * e.sequence);
    }
  }
}

/// Computes dqkv, the gradient of qkv. `dout` is the gradient of `out`. `qkv` is the input of the
/// forward pass, and `out` and `log_sum_exp` are its outputs. The workspace has
/// grouped_backward_workspace(e) elements. dqkv is overwritten.
template <class T>
void grouped_attention_backward(T const* dout, T const* qkv, T const* out, T const* log_sum_exp,
                                grouped_extents const& e, T* workspace, T* dqkv) {
  if (e.sequence == 0) return;
  std::int64_t const d = e.head_dim, token = e.token();
  T const factor = detail::attention_scale<T>(d);
  detail::group_rows<T> rows(e, workspace);
  // The dk and dv of one head: [2, sequence, head_dim].
  T* const share = workspace + e.turned_elements();
  for (std::int64_t pair = 0; pair < e.batch * e.groups; ++pair) {
    std::int64_t const b = pair / e.groups, group = pair % e.groups;
    std::int64_t const first = b * e.sequence * token + group * (e.queries + 2) * d;
    rows.take(qkv + first);
    T* const dk = dqkv + first + e.queries * d;
    for (std::int64_t head = 0; head < e.queries; ++head) {
      between_blocks();
      bool const adds = head > 0;  // the first head overwrites dk and dv, the others add to them
      std::int64_t const o = b * e.sequence * e.out_token() + (group * e.queries + head) * d;
      detail::attention_gradient_of_head<T>(
          {dout + o, e.out_token()}, rows.turned(head), rows.key(), rows.value(),
          {out + o, e.out_token()}, log_sum_exp + (pair * e.queries + head) * e.sequence,
          detail::head_of(e), factor, share + 2 * e.sequence * d, {dqkv + first + head * d, token},
          adds ? detail::head_rows<T>{share, d} : detail::head_rows<T>{dk, token},
          adds ? detail::head_rows<T>{share + e.sequence * d, d}
               : detail::head_rows<T>{dk + d, token});
      if (!adds) continue;
      for (std::int64_t i = 0; i < e.sequence; ++i)
        for (std::int64_t c = 0; c < d; ++c) {
          dk[i * token + c] += share[i * d + c];
          dk[i * token + d + c] += share[(e.sequence + i) * d + c];
        }
    }
    rows.turn_back(dqkv + first);
  }
}

}  // namespace ashlar::device::host
