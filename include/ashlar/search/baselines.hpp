// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines well-known layouts of parallel training as baselines. Each baseline is the cheapest plan
// that the usual search (optimal.hpp) finds among the choices that the layout permits. So its cost
// is comparable with that of other plans. Its gap is 1 (no bound is known), since the search bounds
// only the plans of the layout.
//
//   data parallel     On every axis, all activations and their gradients are split along dim 0.
//                     Parameters are replicated, and their gradients are partial.
//   ZeRO-3            Data parallel, but parameters are stored split along all axes. A parameter is
//                     gathered for use, and its gradient is reduce-scattered.
//   tensor parallel   Data parallel on all axes but the last, which is usually inside a node. The
//                     last axis follows Megatron-LM. The first of two linear layers is split by
//                     columns and the second one by rows. Attention is split by heads, an embedding
//                     by its vocabulary or features. Activations between blocks are replicated.
//   expert parallel   Data parallel, but the experts of a mixture are split along all axes, with
//                     their parameters. So rows of tokens go to the ranks of their experts and back
//                     (GShard, Lepikhin et al. 2021).
//   Summa             Both operands and the result of a matrix product are split in both dims
//                     (Optimus, Xu et al. 2021). All axes but the last are data parallel, with
//                     parameters stored split along them. On the last axis, weights are split by
//                     columns and activations by features. Summa broadcasts panel by panel. Here,
//                     one all-gather of x along the last axis and one all-gather of the weight
//                     along the other axes replace the broadcasts. The all-gather of x for dw is
//                     not counted a second time, which favours this baseline.
//
// Special cases:
//
//   images     Convolution and pooling stay data parallel on all axes, because their weights are
//              small (AutoDDL, section 5.1).
//   any row    A layer without the required rows, for example because it has no dim 0, may take any
//              row.
//   storage    Parameters are stored as the layer uses them, unless stated otherwise. They are
//              updated where they are stored, even if problem::updates_apart is set.
//   several    If several rows qualify, the search takes the cheapest. So in the tensor-parallel
//   rows       layout, cost decides whether a linear layer is the first or the second of its pair.
//
// best_topology.hpp finds the best mesh for the tensor-parallel layout and for Summa.

#include <ashlar/search/choices.hpp>
#include <ashlar/search/layout_rows.hpp>
#include <ashlar/search/optimal.hpp>

namespace ashlar::search {
namespace detail {

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

/// Returns whether the layer works on images: its input is a batch of images [batch, channels,
/// height, width], and its output is a batch of images or flattened images. The input of attention
/// also has four dims, but attention has no row that splits the second dim.
constexpr bool is_image(layer_spec const& spec) {
  if (spec.x.rank() != 4 || spec.x.is_routed()) return false;
  return spec.y.rank() == 4 ? splits_x(spec, 1) : spec.parameters.empty();
}

/// Returns the index of the dim of x that counts features, classes or heads.
constexpr int feature_dim(layer_spec const& spec) {
  return spec.x.is_routed() ? spec.x.rank() - 1 : spec.x.rank() > 2 ? 2 : 1;
}

/// Returns whether a signature row qualifies for the tensor-parallel axis. The first of these rules
/// that applies to the layer decides:
/// - A layer on images must be data parallel.
/// - A layer that can split a weight must do so, by columns (x replicated) or by rows (y partial).
/// - A layer with routed x must have a partial x.
/// - Any other layer may be replicated. If it has no parameters, it may also be split by features,
///   classes or heads.
constexpr bool is_tensor_row(training_row const& r, layer_spec const& spec) {
  if (is_image(spec)) return is_data_row(r);
  for (auto const& other : spec.rows)
    if (splits_weight(other)) return splits_weight(r);
  if (spec.x.is_routed()) return r.x.is_partial();  // the sum over the experts of a token
  if (is_whole(r)) return true;
  return spec.parameters.empty() && r.x.is_split_of(feature_dim(spec));
}

/// Returns whether a signature row qualifies for the last axis of Summa. Layers on images are data
/// parallel. Of all other layers, those without parameters are split by features, and the weights
/// of the others are split by columns.
constexpr bool is_column_row(training_row const& r, layer_spec const& spec) {
  if (is_image(spec)) return is_data_row(r);
  if (spec.parameters.empty()) return r.x.is_split_of(feature_dim(spec));
  return splits_weight(r) && r.y.is_split();
}

/// Returns whether every parameter is stored split along every axis on which that is possible
/// (sharded storage, ZeRO).
constexpr bool is_sharded_storage(layer_choice const& c, layer_spec const& spec,
                                  topology const& t) {
  for (int k = 0; k < c.parameters.size(); ++k) {
    auto const& p = c.parameters[k];
    if (p.is_updated_apart()) return false;
    for (int a = 0; a < t.axes() && spec.parameters[k].extents.rank() > 0; ++a)
      if (t.extent(a) > 1 && p.store[a].is_broadcast() && !p.grad[a].is_split()) return false;
  }
  return true;
}

/// Returns the optimal plan among choices whose signature row on each axis satisfies `wanted(axis,
/// row, spec)`. If `sharded` is set, parameters are stored split along every axis on which that is
/// possible. Otherwise they are stored as the layer uses them.
template <int N, class Wanted>
constexpr basic_plan<N> constrained(basic_problem<N> const& net, topology const& t,
                                    machine const& m, bool sharded, Wanted const& wanted) {
  auto chosen = optimal(net, t, m, [&](int i, layer_choice const& c) {
    if (sharded ? !is_sharded_storage(c, net.spec(i), t) : !is_replicated_storage(c)) return false;
    for (int a = 0; a < t.axes(); ++a)
      if (!permits(net, i, c, a, t, [&](training_row const& r, layer_spec const& spec) {
            return wanted(a, r, spec);
          }))
        return false;
    return true;
  });
  chosen.gap = 1;
  return chosen;
}

}  // namespace detail

/// Returns the plan in which every axis is data parallel. Arguments, units and errors are those of
/// `optimal`.
template <int N>
constexpr basic_plan<N> data_parallel(basic_problem<N> const& net, topology const& t,
                                      machine const& m) {
  return detail::constrained(net, t, m, false, [](int, training_row const& r, layer_spec const&) {
    return detail::is_data_row(r);
  });
}

/// Returns the plan of ZeRO-3: every axis is data parallel, and parameters are stored split along
/// all axes. Arguments, units and errors are those of `optimal`.
template <int N>
constexpr basic_plan<N> zero_3(basic_problem<N> const& net, topology const& t, machine const& m) {
  return detail::constrained(net, t, m, true, [](int, training_row const& r, layer_spec const&) {
    return detail::is_data_row(r);
  });
}

/// Returns the plan in which the last axis is tensor parallel and the others are data parallel.
/// Arguments, units and errors are those of `optimal`.
template <int N>
constexpr basic_plan<N> tensor_parallel(basic_problem<N> const& net, topology const& t,
                                        machine const& m) {
  return detail::constrained(
      net, t, m, false, [&](int a, training_row const& r, layer_spec const& spec) {
        return a + 1 == t.axes() ? detail::is_tensor_row(r, spec) : detail::is_data_row(r);
      });
}

/// Returns the plan in which the experts of mixtures are split along all axes and all else is data
/// parallel. Arguments, units and errors are those of `optimal`.
template <int N>
constexpr basic_plan<N> expert_parallel(basic_problem<N> const& net, topology const& t,
                                        machine const& m) {
  return detail::constrained(
      net, t, m, false, [](int, training_row const& r, layer_spec const& spec) {
        return spec.x.is_routed() && !spec.parameters.empty() ? r.x.is_split_of(spec.x.rank() - 2)
                                                              : detail::is_data_row(r);
      });
}

/// Returns the plan of the Summa layout, in which both dims of every matrix are split. The last
/// axis splits columns and features. Arguments, units and errors are those of `optimal`.
template <int N>
constexpr basic_plan<N> summa_parallel(basic_problem<N> const& net, topology const& t,
                                       machine const& m) {
  return detail::constrained(
      net, t, m, true, [&](int a, training_row const& r, layer_spec const& spec) {
        return a + 1 == t.axes() ? detail::is_column_row(r, spec) : detail::is_data_row(r);
      });
}

}  // namespace ashlar::search
