// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Every way to place one layer on a mesh: the search space, one layer_choice per point.
//
//   row       of the layer's table, one per mesh axis, in every combination
//   order     where several axes split one dim: every order of the mesh's axes, the same one for
//             all tensors of the layer, so that equal letters nest equally
//   storage   replicated: a parameter is stored split where it is used split, else whole
//             sharded: besides, every axis along which it is whole and its gradient is whole or
//             partial splits its dim 0, innermost (ZeRO); for all parameters of the layer at once
//
// An axis of extent 1 changes nothing whatever its row: there the search takes the row that is
// whole everywhere, if the table has it. Plans that people write may use any row (`all_rows`).

#include <vector>

#include <ashlar/plan/redistribution.hpp>
#include <ashlar/search/plan.hpp>

namespace ashlar::search {

enum class storage : signed char { replicated, sharded };
enum class trivial_axes : signed char { one_row, all_rows };

namespace detail {

using axis_order = inplace_vector<signed char, max_axes>;
using axis_rows = inplace_vector<int, max_axes>;

/// The placement made of entry(a) on every axis a, shards nested in the given order of the axes.
template <class Entry>
constexpr placement assemble(axis_order const& order, Entry entry) {
  placement p = placement::all_broadcast(order.size());
  signed char depth[max_rank]{};
  for (int i = 0; i < order.size(); ++i) {
    int const a = order.items[i];
    axis_placement role = entry(a);
    if (role.is_split() && role.dim >= 0 && role.dim < max_rank) role.depth = depth[role.dim]++;
    p.axis.items[a] = role;
  }
  return p;
}

/// Whether two axes split one dim, so that their order matters.
constexpr bool nests(placement const& p) {
  for (int a = 0; a < p.axes(); ++a)
    if (p.axis.items[a].depth > 0) return true;
  return false;
}

constexpr bool nests(layer_choice const& c) {
  if (nests(c.x) || nests(c.y) || nests(c.dy) || nests(c.dx)) return true;
  for (auto const& p : c.parameters)
    if (nests(p.use) || nests(p.grad)) return true;
  for (auto const& s : c.statistics)
    if (nests(s.from) || nests(s.to)) return true;
  return false;
}

/// The next order of the axes, as std::next_permutation gives it; false after the last. By index:
/// GCC 12 sees overflows in the standard one's iterators.
constexpr bool next_order(axis_order& order) {
  int i = order.size() - 2;
  while (i >= 0 && order[i] > order[i + 1]) --i;
  if (i < 0) return false;
  int j = order.size() - 1;
  while (order[j] < order[i]) --j;
  auto const exchange = [&order](int a, int b) {
    auto const axis = order[a];
    order[a] = order[b];
    order[b] = axis;
  };
  exchange(i, j);
  for (int a = i + 1, b = order.size() - 1; a < b; ++a, --b) exchange(a, b);
  return true;
}

/// The choice with the given row on each axis, storage replicated.
constexpr layer_choice assemble_choice(layer_spec const& spec, axis_rows const& rows,
                                       axis_order const& order) {
  training_row const* const table = spec.rows.items;
  int const* const row = rows.items;
  layer_choice c;
  c.x = assemble(order, [&](int a) { return table[row[a]].x; });
  c.y = assemble(order, [&](int a) { return table[row[a]].y; });
  c.dy = assemble(order, [&](int a) { return table[row[a]].dy; });
  c.dx = assemble(order, [&](int a) { return table[row[a]].dx; });
  for (int k = 0; k < spec.parameters.size(); ++k) {
    parameter_choice p;
    p.use = assemble(order, [&](int a) { return table[row[a]].use.items[k]; });
    p.grad = assemble(order, [&](int a) { return table[row[a]].grad.items[k]; });
    p.store = ashlar::detail::reduced(p.use);  // an addend is stored whole
    c.parameters.push_back(p);
  }
  for (int k = 0; k < spec.statistics.size(); ++k)
    c.statistics.push_back(
        {assemble(order, [&](int a) { return table[row[a]].stat.items[k].from; }),
         assemble(order, [&](int a) { return table[row[a]].stat.items[k].to; })});
  return c;
}

/// Splits dim 0 of every parameter along the axes that hold it whole. False if that changes none.
constexpr bool shard_storage(layer_choice& c, layer_spec const& spec, topology const& t,
                             axis_order const& order) {
  bool changed = false;
  for (int k = 0; k < c.parameters.size(); ++k) {
    auto& p = c.parameters.items[k];
    for (int i = 0; i < order.size() && spec.parameters.items[k].extents.rank() > 0; ++i) {
      int const a = order.items[i];
      if (t.extent(a) == 1 || !p.store[a].is_broadcast() || p.grad[a].is_split()) continue;
      p.store = p.store.with_split(a, 0);
      changed = true;
    }
  }
  return changed;
}

/// Whether every placement of the choice is one of its tensor.
constexpr bool is_valid(layer_choice const& c, layer_spec const& spec, topology const& t) {
  int const axes = t.axes();
  if (check(c.x, spec.x.rank(), axes) || check(c.dx, spec.x.rank(), axes) ||
      check(c.y, spec.y.rank(), axes) || check(c.dy, spec.y.rank(), axes))
    return false;
  for (int k = 0; k < c.parameters.size(); ++k) {
    auto const& p = c.parameters.items[k];
    int const rank = spec.parameters.items[k].extents.rank();
    if (check(p.use, rank, axes) || check(p.grad, rank, axes)) return false;
  }
  for (int k = 0; k < c.statistics.size(); ++k) {
    auto const& s = c.statistics.items[k];
    int const rank = spec.statistics.items[k].rank();
    if (check(s.from, rank, axes) || check(s.to, rank, axes)) return false;
  }
  return true;
}

/// The first row that is whole everywhere, -1 if there is none.
constexpr int whole_row(training_table const& table) {
  for (int r = 0; r < table.size(); ++r) {
    auto const& row = table[r];
    bool whole = row.x.is_broadcast() && row.y.is_broadcast() && row.dy.is_broadcast() &&
                 row.dx.is_broadcast();
    for (auto const& p : row.use) whole = whole && p.is_broadcast();
    for (auto const& p : row.grad) whole = whole && p.is_broadcast();
    for (auto const& s : row.stat) whole = whole && s.from.is_broadcast() && s.to.is_broadcast();
    if (whole) return r;
  }
  return -1;
}

}  // namespace detail

/// All choices of a layer on a mesh, each once; replicated storage before sharded.
/// Expects: every row has an entry for each parameter and statistic of the layer.
constexpr std::vector<layer_choice> layer_choices(layer_spec const& spec, topology const& t,
                                                  trivial_axes trivial = trivial_axes::one_row) {
  std::vector<layer_choice> choices;
  int const axes = t.axes(), rows = spec.rows.size();
  if (rows == 0) return choices;
  int const whole = detail::whole_row(spec.rows);
  detail::axis_rows first, last, row;
  detail::axis_order canonical;
  for (int a = 0; a < axes; ++a) {
    bool const one = t.extent(a) == 1 && trivial == trivial_axes::one_row && whole >= 0;
    first.push_back(one ? whole : 0);
    last.push_back(one ? whole : rows - 1);
    canonical.push_back(static_cast<signed char>(a));
  }
  row = first;
  while (true) {
    auto const begin = choices.size();  // of this combination of rows
    auto order = canonical;
    bool more = true;
    while (more) {
      layer_choice choice = detail::assemble_choice(spec, row, order);
      bool fresh = detail::is_valid(choice, spec, t);
      for (auto i = begin; fresh && i < choices.size(); ++i) {
        auto const& other = choices[i];
        if (choice.x == other.x && choice.y == other.y && choice.dy == other.dy &&
            choice.dx == other.dx && choice.statistics == other.statistics) {
          bool same = true;
          for (int k = 0; k < choice.parameters.size(); ++k)
            same = same && choice.parameters[k].use == other.parameters[k].use &&
                   choice.parameters[k].grad == other.parameters[k].grad;
          fresh = !same;
        }
      }
      if (fresh) {
        choices.push_back(choice);
        if (detail::shard_storage(choice, spec, t, order)) choices.push_back(choice);
      }
      more = detail::nests(choice) && detail::next_order(order);
    }
    int a = axes - 1;
    while (a >= 0 && row[a] == last[a]) row[a] = first[a], --a;
    if (a < 0) return choices;
    ++row[a];
  }
}

}  // namespace ashlar::search
