// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Says which choices of a layer belong to a layout: data parallelism here, the other layouts in
// baselines.hpp.

#include <ashlar/search/choices.hpp>
#include <ashlar/step/problem.hpp>

namespace ashlar::search::detail {

/// Returns whether every rank stores the parameters as the layer reads them, and updates them where
/// it stores them.
constexpr bool is_replicated_storage(layer_choice const& c) {
  for (auto const& p : c.parameters) {
    if (p.is_updated_apart()) return false;
    for (int a = 0; a < p.store.axes(); ++a)
      if (p.store[a].is_split() != p.use[a].is_split()) return false;
  }
  return true;
}

constexpr bool is_data_row(training_row const& r) {
  if (!r.x.is_split_of(0)) return false;
  for (auto const& p : r.use)
    if (!p.is_broadcast()) return false;
  return true;
}

constexpr training_row row_on(layer_choice const& c, int a) {
  training_row r{c.x[a], c.y[a], c.dy[a], c.dx[a]};
  for (auto const& p : c.parameters) {
    r.use.push_back(p.use[a]);
    r.grad.push_back(p.grad[a]);
  }
  return r;
}

/// Returns whether the signature row of choice c on axis a satisfies `wanted(row, spec)`. If no row
/// of layer i satisfies it, every row is permitted.
template <int N, class Wanted>
constexpr bool permits(basic_problem<N> const& net, int i, layer_choice const& c, int a,
                       topology const& t, Wanted wanted) {
  auto const& spec = net.spec(i);
  if (t.extent(a) == 1 || wanted(row_on(c, a), spec)) return true;
  for (auto const& r : spec.rows)
    if (wanted(r, spec)) return false;
  return true;
}

/// Returns whether choice c of layer i is data parallel on every axis on which the layer can be
/// data parallel, with replicated parameters.
template <int N>
constexpr bool is_data_parallel(basic_problem<N> const& net, int i, layer_choice const& c,
                                topology const& t) {
  if (!is_replicated_storage(c)) return false;
  for (int a = 0; a < t.axes(); ++a)
    if (!permits(net, i, c, a, t,
                 [](training_row const& r, layer_spec const&) { return is_data_row(r); }))
      return false;
  return true;
}

}  // namespace ashlar::search::detail
