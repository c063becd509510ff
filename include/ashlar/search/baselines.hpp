// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The layouts that everybody knows, as constraints on the same search, with the same costs:
//
//   data parallel     on every axis every activation and gradient is split along its dim 0, the
//                     parameters are whole and their gradients partial
//   ZeRO-3            the same, every parameter stored split: gathered for use, its gradient
//                     reduce-scattered
//   tensor parallel   data parallel on all axes but the last, which is within a node on a usual
//                     mesh. There, after Megatron-LM: of two linear layers the first is split by
//                     columns and the second by rows, attention by heads, an embedding by its
//                     vocabulary or its features; activations between blocks are whole
//   Summa             data parallel on all axes but the last, parameters stored split on all of
//                     them, so that both operands and the result of a product are split in both
//                     dims (Optimus, Xu et al. 2021). On the last axis weights are split by columns and
//                     activations by features. What Summa sends panel by panel is here one gather of
//                     x along the last axis and of the weight along the others. The gather of x for
//                     dw is not counted a second time, which favours this baseline.
//
// Images (convolution, pooling) stay data parallel on all axes, as in AutoDDL, section 5.1: their
// weights are few. A layer whose table lacks the rows wanted (one without a dim 0, say) may take
// any row. Storage is replicated where nothing else is said. Where several rows qualify the cheaper
// wins: in the tensor-parallel layout, whether a linear layer is the first or the second of its pair
// is found by cost. The best topology for the last two: best_topology.hpp.

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

constexpr bool splits_x(layer_spec const& spec, int dim) {
  for (auto const& r : spec.rows)
    if (r.x.is_split_of(dim)) return true;
  return false;
}

/// A layer from [batch, channels, height, width] to the same, or one that flattens it. Attention,
/// which sees four dims too, has no row that splits the second.
constexpr bool is_image(layer_spec const& spec) {
  if (spec.x.rank() != 4) return false;
  return spec.y.rank() == 4 ? splits_x(spec, 1) : spec.parameters.empty();
}

/// Features, classes or heads.
constexpr int feature_dim(layer_spec const& spec) { return spec.x.rank() > 2 ? 2 : 1; }

/// Rows of the tensor-parallel axis. A layer that can split a weight does, by columns (x whole) or
/// rows (y partial). Others are whole, or, without parameters, split by features, classes or heads.
constexpr bool is_tensor_row(training_row const& r, layer_spec const& spec) {
  if (is_image(spec)) return is_data_row(r);
  for (auto const& other : spec.rows)
    if (splits_weight(other)) return splits_weight(r);
  if (is_whole(r)) return true;
  return spec.parameters.empty() && r.x.is_split_of(feature_dim(spec));
}

/// Rows of Summa's last axis. A weight is split by columns; layers without parameters by features.
constexpr bool is_column_row(training_row const& r, layer_spec const& spec) {
  if (is_image(spec)) return is_data_row(r);
  if (spec.parameters.empty()) return r.x.is_split_of(feature_dim(spec));
  return splits_weight(r) && r.y.is_split();
}

/// Whether every parameter is stored split along every axis that could: the sharded half of the
/// choices (choices.hpp).
constexpr bool is_sharded_storage(layer_choice const& c, layer_spec const& spec,
                                  topology const& t) {
  for (int k = 0; k < c.parameters.size(); ++k) {
    auto const& p = c.parameters[k];
    for (int a = 0; a < t.axes() && spec.parameters[k].extents.rank() > 0; ++a)
      if (t.extent(a) > 1 && p.store[a].is_broadcast() && !p.grad[a].is_split()) return false;
  }
  return true;
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

/// The optimum among choices whose rows on every axis `wanted(axis, row, spec)` accepts.
template <int N, class Wanted>
constexpr basic_plan<N> constrained(basic_problem<N> const& net, topology const& t,
                                    machine const& m, bool sharded, Wanted const& wanted) {
  return optimal(net, t, m, [&](int i, layer_choice const& c) {
    if (sharded ? !is_sharded_storage(c, net.spec(i), t) : !is_replicated_storage(c)) return false;
    for (int a = 0; a < t.axes(); ++a)
      if (!permits(net, i, c, a, t, [&](training_row const& r, layer_spec const& spec) {
            return wanted(a, r, spec);
          }))
        return false;
    return true;
  });
}

}  // namespace detail

/// Every axis data parallel. Arguments, units and errors as of `optimal`.
template <int N>
constexpr basic_plan<N> data_parallel(basic_problem<N> const& net, topology const& t,
                                      machine const& m) {
  return detail::constrained(net, t, m, false, [](int, training_row const& r, layer_spec const&) {
    return detail::is_data_row(r);
  });
}

/// Every axis data parallel, storage split along all of them. Arguments as of `optimal`.
template <int N>
constexpr basic_plan<N> zero_3(basic_problem<N> const& net, topology const& t, machine const& m) {
  return detail::constrained(net, t, m, true, [](int, training_row const& r, layer_spec const&) {
    return detail::is_data_row(r);
  });
}

/// The last axis tensor parallel, the others data parallel. Arguments as of `optimal`.
template <int N>
constexpr basic_plan<N> tensor_parallel(basic_problem<N> const& net, topology const& t,
                                        machine const& m) {
  return detail::constrained(
      net, t, m, false, [&](int a, training_row const& r, layer_spec const& spec) {
        return a + 1 == t.axes() ? detail::is_tensor_row(r, spec) : detail::is_data_row(r);
      });
}

/// Both dims of every operand split, columns and features along the last axis. Arguments as of
/// `optimal`.
template <int N>
constexpr basic_plan<N> summa_parallel(basic_problem<N> const& net, topology const& t,
                                       machine const& m) {
  return detail::constrained(
      net, t, m, true, [&](int a, training_row const& r, layer_spec const& spec) {
        return a + 1 == t.axes() ? detail::is_column_row(r, spec) : detail::is_data_row(r);
      });
}

}  // namespace ashlar::search
