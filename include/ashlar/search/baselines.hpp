// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The two layouts that everybody knows, as constraints on the same search, with the same costs:
//
//   data parallel     on every axis every activation and gradient is split along its dim 0, the
//                     parameters are whole and their gradients partial
//   tensor parallel   the same on all axes but the last, which is within a node on a usual mesh.
//                     There, after Megatron-LM: of two linear layers the first is split by columns
//                     and the second by rows, attention by heads, an embedding by its vocabulary or
//                     its features; activations between blocks are whole
//
// A layer whose table lacks the rows wanted (one without a dim 0, say) may take any row. Storage is
// replicated. Where several rows qualify the cheaper wins: in the tensor-parallel layout, whether a
// linear layer is the first or the second of its pair is found by cost.

#include <ashlar/search/optimal.hpp>

namespace ashlar::search {
namespace detail {

constexpr bool is_replicated_storage(layer_choice const& c) {
  for (auto const& p : c.parameters)
    for (int a = 0; a < p.store.axes(); ++a)
      if (p.store[a].is_split() != p.use[a].is_split()) return false;
  return true;
}

constexpr bool is_data_row(training_row const& r) {
  if (!r.x.is_split_of(0)) return false;
  for (auto const& p : r.use)
    if (!p.is_broadcast()) return false;
  return true;
}

constexpr bool splits_weight(training_row const& r) {
  for (auto const& p : r.use)
    if (p.is_split()) return r.x.is_broadcast() || r.y.is_partial();
  return false;
}

/// Rows of the tensor-parallel axis. A layer that can split a weight does, by columns (x whole) or
/// rows (y partial). Others are whole, or, without parameters, split by features, classes or heads.
constexpr bool is_tensor_row(training_row const& r, layer_spec const& spec) {
  for (auto const& other : spec.rows)
    if (splits_weight(other)) return splits_weight(r);
  if (is_whole(r)) return true;
  return spec.parameters.empty() && r.x.is_split_of(spec.x.rank() > 2 ? 2 : 1);
}

constexpr training_row row_on(layer_choice const& c, int a) {
  training_row r{c.x[a], c.y[a], c.dy[a], c.dx[a], {}, {}, {}};
  for (auto const& p : c.parameters) {
    r.use.push_back(p.use[a]);
    r.grad.push_back(p.grad[a]);
  }
  return r;
}

/// Permits rows that `wanted(row, spec)` accepts on axis a; any, if the layer has none of them.
template <int N, class Wanted>
constexpr bool permits(basic_problem<N> const& net, int i, layer_choice const& c, int a,
                       topology const& t, Wanted wanted) {
  auto const& spec = net.spec(i);
  if (t.extent(a) == 1 || wanted(row_on(c, a), spec)) return true;
  for (auto const& r : spec.rows)
    if (wanted(r, spec)) return false;
  return true;
}

}  // namespace detail

/// Every axis data parallel. Arguments, units and errors as of `optimal`.
template <int N>
constexpr basic_plan<N> data_parallel(basic_problem<N> const& net, topology const& t,
                                      machine const& m) {
  return optimal(net, t, m, [&](int i, layer_choice const& c) {
    if (!detail::is_replicated_storage(c)) return false;
    for (int a = 0; a < t.axes(); ++a)
      if (!detail::permits(net, i, c, a, t, [](training_row const& r, layer_spec const&) {
            return detail::is_data_row(r);
          }))
        return false;
    return true;
  });
}

/// The last axis tensor parallel, the others data parallel. Arguments as of `optimal`.
template <int N>
constexpr basic_plan<N> tensor_parallel(basic_problem<N> const& net, topology const& t,
                                        machine const& m) {
  return optimal(net, t, m, [&](int i, layer_choice const& c) {
    if (!detail::is_replicated_storage(c)) return false;
    for (int a = 0; a < t.axes(); ++a) {
      bool const last = a + 1 == t.axes();
      if (!detail::permits(net, i, c, a, t, [&](training_row const& r, layer_spec const& spec) {
            return last ? detail::is_tensor_row(r, spec) : detail::is_data_row(r);
          }))
        return false;
    }
    return true;
  });
}

}  // namespace ashlar::search
