// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines choice_class, which describes the choices of one layer by numbers: costs, memory, and the
// states (see below) of the placements at the layer's two boundaries. Elements of a chain (layers
// or residual blocks) with the same layer and the same permitted choices share one class.
//
//   weight   the cost of the element; for a residual block, the sum for its two ends
//   memory   filled in only if the search needs it (enum pruning)
//   state    the number of a placement in the price tables (prices.hpp)
//
// Dominated choices are dropped when a class is filled in. By the triangle inequality of shortest
// paths, choice i can replace choice j without loss if
//
//   cost(i) + moves from the boundary placements of j to those of i and back  <=  cost(j)
//
// The rule depends on how the search treats memory:
//
//   ignored       The rule above. A residual block has the same choice at both ends, so its moves
//                 count twice. Among equivalent choices the first one stays.
//   limited       A move would itself need memory. So i must have the same boundary placements as
//                 j, cost no more, and need no more memory of any kind.
//   only summed   The search counts memory only by the sum of counted_memory.hpp, which does not
//                 include moves. So the rule above applies, and i must not increase the sum.

#include <algorithm>
#include <vector>

#include <ashlar/search/any_choice.hpp>
#include <ashlar/search/choices.hpp>
#include <ashlar/search/cost.hpp>
#include <ashlar/search/counted_part.hpp>

namespace ashlar::search {

/// Selects which choices of a layer are dropped.
///   by_time              each choice that another one can replace without higher cost
///   by_time_and_memory   the same, but only if the other choice also needs no more memory
///   keep_all             none
enum class pruning : signed char { by_time, by_time_and_memory, keep_all };

/// The search minimizes a weight: seconds plus a tiny amount per collective, so that among plans of
/// equal seconds the one with fewer collectives wins. Returns this amount. It is 1e-12 of a lower
/// bound of the seconds of a step, or 1e-18 if this bound is 0. So even 1,000 collectives add at
/// most one part in 1e9 if the bound is above 0.
template <int N>
constexpr double tie_weight(basic_problem<N> const& net, topology const& t, machine const& m) {
  double work = 0;
  for (int i = 0; i < net.size(); ++i) work += whole_work_seconds(net.spec(i), m, net.element_size);
  double const bound = net.micro_batches * work / t.ranks();
  return bound > 0 ? 1e-12 * bound : 1e-18;
}

/// Returns the entries list[j] with keep[j] != 0. `n` is their number.
template <class T>
constexpr scratch<T> kept_of(scratch<T> const& list, scratch<char> const& keep, std::size_t n) {
  scratch<T> result(n);
  T* out = result.data();
  for (std::size_t j = 0; j < list.size(); ++j)
    if (keep.data()[j]) *out++ = list.data()[j];
  return result;
}

/// The choices of one layer, or of one residual block as a whole, with their prices.
struct choice_class {
  int layer = 0;  ///< the layer, or the layer at the begin of the residual block
  int end = -1;   ///< the layer at the end of the residual block, or -1 for a single layer
  /// The extents of x and y. For a residual block, both are the extents of the block's output, the
  /// largest tensor at its ends.
  shape x_extents, y_extents;
  /// False for the ends of a branch, and for a residual block whose neighbours view its input or
  /// output with other extents. If false, no choice of the class is dropped as dominated.
  bool plain = true;
  forward_runs runs = forward_runs::once;
  /// The part of the forward pass's values that is held until the backward pass.
  saved_part held = saved_part::all;
  /// The kind of an element that begins, turns or ends a branch; `layer` for all other elements.
  element_kind kind = element_kind::layer;
  std::vector<layer_choice> choices;
  scratch<double> weight;  ///< per choice; of a residual block: the sum for both ends
  /// Bytes per choice. `memory` belongs to the layer, or to the begin of the residual block, and
  /// `end_memory` to the end of the residual block.
  scratch<element_bytes> memory, end_memory;
  scratch<int> x, y, dy, dx;  ///< per choice: the state of each placement at the boundaries

  constexpr int size() const { return static_cast<int>(choices.size()); }

  /// Returns whether an element of the chain with these properties belongs to this class.
  constexpr bool is_of(int layer_of_it, int end_of_it, shape const& its_x, shape const& its_y,
                       bool is_plain, forward_runs its_runs, saved_part it_holds,
                       element_kind its_kind) const {
    return layer == layer_of_it && end == end_of_it && plain == is_plain && runs == its_runs &&
           held == it_holds && kind == its_kind && x_extents == its_x && y_extents == its_y;
  }

  /// Drops the choices j with keep[j] == 0. Returns whether any was dropped.
  constexpr bool restrict(scratch<char> const& keep) {
    int n = 0;
    for (int j = 0; j < size(); ++j)
      if (keep.data()[j]) choices.data()[n++] = choices.data()[j];
    if (n == size()) return false;
    choices.resize(static_cast<std::size_t>(n));
    keep_numbers(keep);
    return true;
  }

  /// Drops the weight, memory and states of the choices j with keep[j] == 0. Does not change
  /// `choices`.
  constexpr void keep_numbers(scratch<char> const& keep) {
    std::size_t n = 0;
    for (char const kept : keep) n += kept != 0;
    weight = kept_of(weight, keep, n);
    memory = kept_of(memory, keep, n);
    if (end >= 0) end_memory = kept_of(end_memory, keep, n);
    for (auto* states : {&x, &y, &dy, &dx}) *states = kept_of(*states, keep, n);
  }
};

/// Selects the conditions, in addition to those on memory, under which one choice may replace
/// another one:
///   weight       Its weight must not be larger.
///   boundaries   Its placements at the boundaries must be the same.
struct compared {
  bool weight, boundaries;
};

/// Returns for each choice of a class whether it survives pruning by memory. A choice is dropped if
/// another choice needs no more memory of any kind and meets the conditions in `by`. Expects that
/// weights, memory and states of `c` are filled in for all choices.
constexpr scratch<char> undominated_in_memory(choice_class const& c, compared const& by) {
  scratch<char> alive(c.weight.size(), 1);
  int const n = static_cast<int>(alive.size());
  auto const has_boundaries_of = [&c](int i, int j) {
    return c.x.data()[i] == c.x.data()[j] && c.y.data()[i] == c.y.data()[j] &&
           c.dy.data()[i] == c.dy.data()[j] && c.dx.data()[i] == c.dx.data()[j];
  };
  auto const needs_no_more = [&](int i, int j) {
    return (!by.weight || c.weight.data()[i] <= c.weight.data()[j]) &&
           (!by.boundaries || has_boundaries_of(i, j)) &&
           c.memory.data()[i].is_within(c.memory.data()[j]) &&
           (c.end < 0 || c.end_memory.data()[i].is_within(c.end_memory.data()[j]));
  };
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n && alive.data()[j]; ++i)
      alive.data()[j] = !(i != j && alive.data()[i] && needs_no_more(i, j) &&
                          (i < j || !needs_no_more(j, i)));
  return alive;
}

/// Returns for each choice of a class whether it survives pruning by time. A choice is pruned if
/// another choice can replace it at the same or a lower cost. If `counted` is set, the other choice
/// must also add no more to the sum of counted_memory.hpp. Expects that weights and states of `c`,
/// and memory if `counted` is set, are filled in for all choices. Does not read `c.choices`.
template <int N, tabulated_move_prices Paths>
constexpr scratch<char> undominated(choice_class const& c, Paths& paths,
                                    basic_problem<N> const& net, bool counted = false) {
  int const x_table = paths.table(c.x_extents, net.element_size),
            y_table = paths.table(c.y_extents, net.element_size);
  std::size_t const size = c.weight.size();
  int const n = static_cast<int>(size);
  scratch<char> alive_list(size);
  char* const alive = alive_list.data();
  scratch<double const*> from_y(size), from_dx(size);
  double const** const py = from_y.data();
  double const** const pdx = from_dx.data();
  for (int j = 0; j < n; ++j)
    alive[j] = 1, py[j] = paths.weight_from(y_table, c.y.data()[j]),
    pdx[j] = paths.weight_from(x_table, c.dx.data()[j]);
  double const* const w = c.weight.data();
  int const *const sx = c.x.data(), *const sdx = c.dx.data(), *const sy = c.y.data(),
                   *const sdy = c.dy.data();
  // A boundary has two moves: of the activation and of its gradient. A step may perform one of them
  // more often than the other. Here both count with the larger number. This is safe: if moves cost
  // more, fewer choices are dropped.
  boundary_times const crossed = times_between(
      net, c.runs == forward_runs::once ? forward_runs::once : forward_runs::twice);
  double const times = (c.end >= 0 ? 2 : 1) * std::max(crossed.activation, crossed.gradient);
  if constexpr (Paths::orders != shard_orders::all) {
    // Meshes of many axes are searched without shard order, so there are many choices here. They
    // are compared in ascending order of weight, because no choice dominates one of less weight.
    scratch<int> sorted(size);
    std::vector<int> kept;
    for (int j = 0; j < n; ++j) sorted.data()[j] = j;
    std::sort(sorted.begin(), sorted.end(),
              [w](int i, int j) { return w[i] != w[j] ? w[i] < w[j] : i < j; });
    for (int const j : sorted) {
      double const* const px = paths.weight_from(x_table, sx[j]);
      double const* const pdy = paths.weight_from(y_table, sdy[j]);
      double const spare = w[j] / times;
      for (int const i : kept) {
        double const of_i = spare - w[i] / times - px[sx[i]];
        if (of_i < 0 || of_i - pdy[sdy[i]] < 0) continue;
        alive[j] = w[i] + times * (px[sx[i]] + py[i][sy[j]] + pdy[sdy[i]] + pdx[i][sdx[j]]) > w[j];
        if (!alive[j]) break;
      }
      if (alive[j]) kept.push_back(j);
    }
    return alive_list;
  }
  auto const replaces = [](double with, double without, bool at_par) {
    return at_par ? with <= without : with < without;
  };
  element_bytes const* const bytes = c.memory.data();
  for (int j = 0; j < n; ++j) {
    double const* const px = paths.weight_from(x_table, sx[j]);
    double const* const pdy = paths.weight_from(y_table, sdy[j]);
    // This is a single expression, because Clang limits the number of statements in constant
    // evaluation.
    for (int i = 0; i < n && alive[j]; ++i)
      alive[j] = !(
          i != j && alive[i] && w[i] <= w[j] &&
          replaces(w[i] + times * (px[sx[i]] + py[i][sy[j]] + pdy[sdy[i]] + pdx[i][sdx[j]]), w[j],
                   i < j || (counted && !counts_no_more(bytes[j], bytes[i]))) &&
          (!counted || counts_no_more(bytes[i], bytes[j])));
  }
  return alive_list;
}

/// Fills in weights, memory and states of `c` for all choices of its layer, then drops the
/// dominated choices. Expects that all members of `c` before `choices` are set.
template <int N, tabulated_move_prices Paths>
constexpr void fill_class(choice_class& c, basic_problem<N> const& net,
                          std::vector<layer_choice> const& all, Paths& paths, pruning prune) {
  layer_spec const& spec = net.layer(c.layer);
  int const n = static_cast<int>(all.size());
  layer_choice const* const choice = all.data();
  element_prices const own(net, spec, c.runs, paths);
  element_prices const of_end(net, net.layer(c.end < 0 ? c.layer : c.end), c.runs, paths);
  c.weight = scratch<double>(all.size());
  c.memory = scratch<element_bytes>(all.size());
  if (c.end >= 0) c.end_memory = scratch<element_bytes>(all.size());
  for (int j = 0; j < n; ++j) {
    c.weight.data()[j] = own.weight(choice[j]);
    if (c.end >= 0) c.weight.data()[j] += of_end.weight(choice[j]);
    if (prune == pruning::by_time) continue;
    if (c.end < 0) {
      element_role const role{c.kind, c.x_extents, c.y_extents, c.runs, c.held};
      c.memory.data()[j] = memory_of(net, spec, role, choice[j], paths.mesh());
      continue;
    }
    element_role const begins{element_kind::residual_begin, spec.x, spec.y, c.runs, c.held};
    c.memory.data()[j] = memory_of(net, spec, begins, choice[j], paths.mesh());
    layer_spec const& at_end = net.layer(c.end);
    // The begin of the block holds the input of a recomputed segment, so the end holds nothing.
    element_role const ends{element_kind::residual_end, at_end.x, at_end.y, c.runs,
                            saved_part::nothing};
    c.end_memory.data()[j] = memory_of(net, at_end, ends, choice[j], paths.mesh());
  }
  int const x = paths.table(c.x_extents, net.element_size),
            y = paths.table(c.y_extents, net.element_size);
  auto const states = [&](int table, placement layer_choice::*which) {
    scratch<int> list(all.size());
    for (int j = 0; j < n; ++j) list.data()[j] = paths.state(table, choice[j].*which);
    return list;
  };
  c.x = states(x, &layer_choice::x);
  c.y = states(y, &layer_choice::y);
  c.dy = states(y, &layer_choice::dy);
  c.dx = states(x, &layer_choice::dx);
  // If choices ignore shard order, all choices of residual blocks stay here.
  // bounded_choices.hpp later drops some of them by a stronger rule.
  if (prune == pruning::keep_all || !c.plain ||
      (Paths::orders != shard_orders::all && c.end >= 0)) {
    c.choices = all;
    return;
  }
  scratch<char> keep;
  if (prune == pruning::by_time) keep = undominated(c, paths, net);
  else keep = undominated_in_memory(c, {true, true});
  c.keep_numbers(keep);
  c.choices.reserve(c.weight.size());
  for (int j = 0; j < n; ++j)
    if (keep.data()[j]) c.choices.push_back(choice[j]);
}

}  // namespace ashlar::search
