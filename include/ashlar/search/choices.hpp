// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Enumerates every way to place one layer on a mesh. A plan takes one of these ways for each layer.
// Each way is a layer_choice, made of three decisions:
//
//   rows      One signature row of the layer per mesh axis. All combinations are enumerated.
//   order     If several axes split one dim, the order in which their shards nest. All orders of
//             the mesh axes are enumerated. All tensors of the layer use the same order, so that
//             equal splits nest equally.
//   storage   How parameters are stored between steps, the same for all parameters of the layer.
//             replicated: parameters are stored as the layer uses them. A parameter that the layer
//             uses as a partial sum along an axis is stored replicated along that axis.
//             sharded (ZeRO): in addition, dim 0 of the stored parameter is split along every axis
//             on which the layer uses the parameter replicated and the gradient is not split.
//             These splits nest inside other splits of dim 0.
//             updated apart (ZeRO-1), on request: parameters are stored as with replicated storage,
//             but updated at the placement that sharded storage would give them. Tied parameters
//             are never updated apart.
//             If parameter_spec::store prescribes the storage of a parameter, it is always stored
//             there.
//
// On an axis of extent 1 all rows are equivalent. The search then takes the row in which all
// tensors are replicated, if the layer has one (`one_row`). Plans written by people may use any row
// (`all_rows`).

#include <vector>

#include <ashlar/plan/redistribution.hpp>
#include <ashlar/search/interchangeable_axes.hpp>
#include <ashlar/step/plan.hpp>

namespace ashlar::search {

enum class trivial_axes : signed char { one_row, all_rows };

/// Selects the shard orders that are enumerated.
///   all         every order
///   canonical   only the order of the mesh axes
///   multisets   like `canonical`, but choices that differ only by an exchange of interchangeable
///               axes (equal extent and network tier) are enumerated once: row indices ascend along
///               these axes
enum class shard_orders : signed char { all, canonical, multisets };

/// Selects where parameters are updated in the choices that are enumerated.
///   as_stored    where they are stored, in all choices
///   also_apart   the choices of as_stored, and also choices in which parameters are updated apart
///                from where they are stored (ZeRO-1)
enum class update_places : signed char { as_stored, also_apart };

namespace detail {

using axis_order = inplace_vector<signed char, max_axes>;
using axis_rows = inplace_vector<int, max_axes>;
using row_list = inplace_vector<int, training_table::capacity()>;

/// Sets the placement of one axis. If `role` is a split of dim d, its shards nest inside the
/// depth[d] earlier splits of d, and depth[d] is increased by one. This is one expression because
/// Clang limits the number of statements in constant evaluation.
constexpr void take_role(axis_placement& axis, axis_placement const& role, signed char* depth) {
  (axis = role).is_split() ? void(axis.depth = depth[role.dim]++) : void();
}

/// Returns the placement in which each mesh axis a has the placement entry(a). Shards nest in the
/// given order of the axes. Expects that `whole` has B on all axes, and that split dims are below
/// max_rank.
template <class Entry>
constexpr placement assemble(axis_order const& order, placement whole, Entry const& entry) {
  signed char depth[max_rank]{};
  for (int i = 0; i < order.count; ++i)
    take_role(whole.axis.items[order.items[i]], entry(order.items[i]), depth);
  return whole;
}

/// Returns whether two axes split the same dim, so that their shard order matters.
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

/// Advances to the next permutation, like std::next_permutation; returns false after the last one.
/// This function uses indices because GCC 12 warns of overflows in the iterators of the standard
/// algorithm.
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

/// Returns the choice that uses row rows[a] of the layer's signature table on each axis a. Shards
/// nest in the given order of the axes. Parameters have replicated storage (top of this file) or
/// the storage that the spec prescribes.
constexpr layer_choice assemble_choice(layer_spec const& spec, axis_rows const& rows,
                                       axis_order const& order) {
  training_row const* const table = spec.rows.items;
  int const* const row = rows.items;
  placement const whole = placement::all_broadcast(order.size());
  layer_choice c;
  c.x = assemble(order, whole, [&](int a) { return table[row[a]].x; });
  c.y = assemble(order, whole, [&](int a) { return table[row[a]].y; });
  c.dy = assemble(order, whole, [&](int a) { return table[row[a]].dy; });
  c.dx = assemble(order, whole, [&](int a) { return table[row[a]].dx; });
  for (int k = 0; k < spec.parameters.size(); ++k) {
    parameter_choice p;
    p.use = assemble(order, whole, [&](int a) { return table[row[a]].use.items[k]; });
    p.grad = assemble(order, whole, [&](int a) { return table[row[a]].grad.items[k]; });
    auto const& prescribed = spec.parameters.items[k].store;
    p.store = prescribed.axes() > 0 ? prescribed
                                    : ashlar::detail::reduced(p.use);  // replaces P by B
    c.parameters.push_back(p);
  }
  for (int k = 0; k < spec.statistics.size(); ++k)
    c.statistics.push_back(
        {assemble(order, whole, [&](int a) { return table[row[a]].stat.items[k].from; }),
         assemble(order, whole, [&](int a) { return table[row[a]].stat.items[k].to; })});
  return c;
}

/// Changes the choice from replicated to sharded storage (ZeRO). Splits dim 0 of each stored
/// parameter along every axis on which the parameter is replicated and its gradient is not split.
/// Returns false if there is no such axis.
constexpr bool shard_storage(layer_choice& c, layer_spec const& spec, topology const& t,
                             axis_order const& order) {
  bool changed = false;
  for (int k = 0; k < c.parameters.size(); ++k) {
    auto& p = c.parameters.items[k];
    if (spec.parameters.items[k].store.axes() > 0) continue;
    for (int i = 0; i < order.size() && spec.parameters.items[k].extents.rank() > 0; ++i) {
      int const a = order.items[i];
      if (t.extent(a) == 1 || !p.store[a].is_broadcast() || p.grad[a].is_split()) continue;
      p.store = p.store.with_split(a, 0);
      changed = true;
    }
  }
  return changed;
}

/// Changes the choice from sharded storage to updates apart. Its parameters are then stored as in
/// `whole`, and those that are not tied are updated where the sharded storage was. Returns false if
/// no parameter can be updated apart.
constexpr bool update_apart(layer_choice& c, layer_choice const& whole, layer_spec const& spec) {
  bool changed = false;
  for (int k = 0; k < c.parameters.size(); ++k) {
    auto& p = c.parameters.items[k];
    placement const sharded = p.store;
    p.store = whole.parameters.items[k].store;
    if (spec.parameters.items[k].tie == tie_role::none) p.set_update(sharded);
    changed = changed || p.is_updated_apart();
  }
  return changed;
}

/// Returns whether every placement of the choice is valid for its tensor. Does not check where
/// parameters are stored and updated.
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

/// Returns whether the choice cuts none of the blocks that a rank must have whole (block_spec).
constexpr bool keeps_blocks(layer_choice const& c, layer_spec const& spec, topology const& t) {
  if (spec.blocks.dim < 0) return true;
  std::int64_t ranks = 1;
  for (int a = 0; a < t.axes(); ++a)
    if (c.x[a].is_split_of(spec.blocks.dim)) ranks *= t.extent(a);
  return spec.blocks.count % ranks == 0;
}

/// Returns whether a signature row leaves all tensors of the layer replicated.
constexpr bool is_whole(training_row const& row) {
  bool whole = row.x.is_broadcast() && row.y.is_broadcast() && row.dy.is_broadcast() &&
               row.dx.is_broadcast();
  for (auto const& p : row.use) whole = whole && p.is_broadcast();
  for (auto const& p : row.grad) whole = whole && p.is_broadcast();
  for (auto const& s : row.stat) whole = whole && s.from.is_broadcast() && s.to.is_broadcast();
  return whole;
}

/// Returns whether every dim that a row splits exists in its tensor. Sets `sums` to false if the
/// row has a reduction other than a sum. Two axes may then have different reductions for one
/// tensor, which is not valid, so the caller must check each combination of rows.
constexpr bool fits(training_row const& row, layer_spec const& spec, bool& sums) {
  bool good = true;
  auto const look = [&](axis_placement const& p, int rank) {
    good = good && !(p.is_split() && (p.dim < 0 || p.dim >= rank));
    sums = sums && p.op == reduction::sum;
  };
  look(row.x, spec.x.rank());
  look(row.dx, spec.x.rank());
  look(row.y, spec.y.rank());
  look(row.dy, spec.y.rank());
  for (int k = 0; k < spec.parameters.size(); ++k) {
    look(row.use[k], spec.parameters[k].extents.rank());
    look(row.grad[k], spec.parameters[k].extents.rank());
  }
  for (int k = 0; k < spec.statistics.size(); ++k) {
    look(row.stat[k].from, spec.statistics[k].rank());
    look(row.stat[k].to, spec.statistics[k].rank());
  }
  return good;
}

/// Returns whether two choices have equal placements. Does not compare where parameters are stored
/// and updated.
constexpr bool same_placements(layer_choice const& a, layer_choice const& b) {
  if (!(a.x == b.x && a.y == b.y && a.dy == b.dy && a.dx == b.dx && a.statistics == b.statistics))
    return false;
  for (int k = 0; k < a.parameters.size(); ++k)
    if (!(a.parameters[k].use == b.parameters[k].use &&
          a.parameters[k].grad == b.parameters[k].grad))
      return false;
  return true;
}

}  // namespace detail

/// Returns all choices of a layer on a mesh, without duplicates. For the same rows and shard order,
/// replicated storage comes before sharded storage, and sharded storage before updates apart.
/// Expects that every row has an entry for each parameter and statistic of the layer.
constexpr std::vector<layer_choice> layer_choices(layer_spec const& spec, topology const& t,
                                                  trivial_axes trivial = trivial_axes::one_row,
                                                  shard_orders orders = shard_orders::all,
                                                  update_places places = update_places::as_stored) {
  std::vector<layer_choice> choices;
  choices.reserve(64);
  int const axes = t.axes();
  bool sums = true;
  int whole = -1;
  detail::row_list usable;
  for (int r = 0; r < spec.rows.size(); ++r) {
    if (!detail::fits(spec.rows[r], spec, sums)) continue;
    if (whole < 0 && detail::is_whole(spec.rows[r])) whole = r;
    usable.push_back(r);
  }
  if (usable.empty()) return choices;
  inplace_vector<detail::row_list, max_axes> rows;  // per axis: indices of the rows to use
  detail::axis_order const canonical = all_axes(axes);
  for (int a = 0; a < axes; ++a) {
    bool const one = t.extent(a) == 1 && trivial == trivial_axes::one_row && whole >= 0;
    rows.push_back(one ? detail::row_list{whole} : usable);
  }
  detail::axis_rows at, row;  // per axis: a position in the list rows[a], and the row index there
  at.resize(axes);
  row.resize(axes);
  while (true) {
    bool ascend = true;
    for (int a = 1; a < axes && orders == shard_orders::multisets; ++a)
      ascend = ascend &&
               (interchangeable_before(t, a) < 0 || at[interchangeable_before(t, a)] <= at[a]);
    auto const begin = choices.size();  // the first choice with these rows
    for (int a = 0; a < axes; ++a) row[a] = rows.items[a].items[at[a]];
    auto order = canonical;
    bool more = ascend;
    while (more) {
      layer_choice choice = detail::assemble_choice(spec, row, order);
      bool fresh = (sums || detail::is_valid(choice, spec, t)) &&
                   detail::keeps_blocks(choice, spec, t);
      for (auto i = begin; fresh && i < choices.size(); ++i)
        fresh = !detail::same_placements(choice, choices[i]);
      if (fresh) {
        choices.push_back(choice);
        if (detail::shard_storage(choice, spec, t, order)) {
          choices.push_back(choice);
          if (places == update_places::also_apart &&
              detail::update_apart(choice, choices[choices.size() - 2], spec))
            choices.push_back(choice);
        }
      }
      more = orders == shard_orders::all && detail::nests(choice) && detail::next_order(order);
    }
    int a = axes - 1;
    while (a >= 0 && at[a] + 1 == rows.items[a].count) at[a] = 0, --a;
    if (a < 0) return choices;
    ++at[a];
  }
}

}  // namespace ashlar::search
