// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Provides exact prices of redistributions. The prices are stored in tables, which are filled when
// they are first needed and shared by all layers:
//
//   graph of placements    one per tensor rank and reduction
//   prices of its edges    one list per extents and bytes per element
//   shortest-path tree     one per source placement
//
// The prices equal those of plan_redistribution, also where several paths have equal cost. A graph
// has only one reduction. So a move between two placements with different reductions is not in any
// table, and plan_redistribution plans it.

#include <type_traits>
#include <vector>

#include <ashlar/plan/placement_graph.hpp>
#include <ashlar/search/choices.hpp>
#include <ashlar/search/prices.hpp>

namespace ashlar::search {

/// Finds the state number of a placement in a placement_graph by table look-up. Each axis is a
/// digit (B, P, or a split with its dim and depth), and the digits form the index. The search needs
/// this number for every tensor of every choice. The hash table of placement_graph::find takes ten
/// times as many steps of constant evaluation.
class state_index {
 public:
  constexpr state_index() = default;
  constexpr explicit state_index(placement_graph const& graph)
      : axes_(graph.mesh().axes()), base_(2 + graph.rank() * axes_) {
    std::size_t places = 1;
    for (int a = 0; a < axes_; ++a) places *= static_cast<std::size_t>(base_);
    if (places > most_places) return;
    state_ = scratch<int>(places, -1);
    for (int i = 0; i < graph.states(); ++i) state_.data()[place(graph.state(i))] = i;
  }

  /// Returns false if the table would be too large. Callers must then use placement_graph::find.
  constexpr bool usable() const { return state_.size() != 0; }

  /// Returns the state number of a placement, or -1 if the graph does not contain it. Expects a
  /// placement on the graph's mesh of a tensor of the graph's rank.
  constexpr int find(placement const& p) const { return state_.data()[place(p)]; }

 private:
  static constexpr std::size_t most_places = std::size_t{1} << 22;

  static constexpr int digit(axis_placement const& a, int axes) {
    return a.kind == placement_kind::broadcast ? 0
           : a.kind == placement_kind::partial ? 1
                                               : 2 + a.dim * axes + a.depth;
  }

  constexpr int place(placement const& p) const {
    int place = 0;
    for (int a = 0; a < axes_; ++a) place = place * base_ + digit(p.axis.items[a], axes_);
    return place;
  }

  int axes_ = 0;
  int base_ = 2;
  scratch<int> state_;
};

class tabulated_moves {
 public:
  static constexpr shard_orders orders = shard_orders::all;  ///< choices may differ in shard order

  constexpr tabulated_moves(topology const& t, machine const& m, double tie = 0)
      : topology_(t), machine_(m), tie_(tie) {}

  constexpr topology const& mesh() const { return topology_; }
  constexpr machine const& priced_on() const { return machine_; }

  /// Returns the index of the table for tensors with these extents and bytes per element. `op` is
  /// the reduction of their P axes.
  constexpr int table(shape const& extents, int element_size, reduction op = reduction::sum) {
    int const n = static_cast<int>(tables_.size());
    for (int i = 0; i < n; ++i) {
      extents_table const& it = tables_.data()[i];
      if (it.op == op && it.element_size == element_size && it.extents == extents) return i;
    }
    int const g = graph(extents.rank(), op);
    placement_graph const& of_rank = graphs_.data()[g];
    auto const states = static_cast<std::size_t>(of_rank.states());
    tables_.push_back({extents, element_size, op, g, of_rank.price(extents, element_size, machine_),
                       scratch<row>(states)});
    return n;
  }

  /// Returns the number of a placement in a table, called its state. Tables for tensors of the same
  /// rank and reduction have the same states.
  constexpr int state(int table, placement const& p) const {
    int const g = tables_.data()[table].graph;
    state_index const& index = index_.data()[g];
    return index.usable() ? index.find(p) : graphs_.data()[g].find(p);
  }

  /// Returns the seconds of the moves from one placement, indexed by the number (state) of the
  /// target placement. weight_from returns their weights: seconds plus a tiny tie-breaking amount
  /// per collective.
  constexpr double const* seconds_from(int table, int source) {
    return tree(table, source).seconds.data();
  }
  constexpr double const* weight_from(int table, int source) {
    return tree(table, source).weight.data();
  }

  constexpr move_price move(shape const& extents, int element_size, placement const& from,
                            placement const& to) {
    if (from == to) return {};
    if (untabulated(from, to))
      return planned_price(extents, element_size, from, to, topology_, machine_, tie_);
    int const t = table(extents, element_size, from.has_partial() ? from.op() : to.op());
    return move(t, from, to);
  }

  constexpr move_price move(int table, placement const& from, placement const& to) {
    if (from == to) return {};
    row const& r = tree(table, state(table, from));
    auto const target = state(table, to);
    return {r.seconds.data()[target], r.weight.data()[target]};
  }

 private:
  struct row {
    scratch<double> seconds, weight;
  };
  struct extents_table {
    shape extents;
    int element_size;
    reduction op;
    int graph;
    scratch<double> price;  ///< the price of each edge
    scratch<row> rows;  ///< per source state: its shortest-path tree; empty until it is first used
  };

  // Callers hold pointers into rows. These pointers must stay valid when the list of tables grows,
  // so tables must be moved, not copied.
  static_assert(std::is_nothrow_move_constructible_v<extents_table>);

  /// Returns whether both placements have P axes, but with different reductions. Each graph has
  /// only one reduction, so no graph contains both placements.
  static constexpr bool untabulated(placement const& from, placement const& to) {
    return from.has_partial() && to.has_partial() && from.op() != to.op();
  }

  constexpr int graph(int rank, reduction op) {
    int const n = static_cast<int>(graphs_.size());
    for (int i = 0; i < n; ++i)
      if (graphs_.data()[i].rank() == rank && ops_.data()[i] == op) return i;
    graphs_.push_back(placement_graph(rank, topology_, op));
    index_.push_back(state_index(graphs_.data()[n]));
    ops_.push_back(op);
    return n;
  }

  constexpr row const& tree(int table, int source) {
    extents_table& it = tables_.data()[table];
    row& r = it.rows.data()[source];
    if (r.seconds.size() == 0) fill(r, it, source);
    return r;
  }

  constexpr void fill(row& r, extents_table const& it, int source) const {
    placement_graph const& of_rank = graphs_.data()[it.graph];
    auto const paths = of_rank.shortest_from(source, it.price);
    int const n = of_rank.states();
    r.seconds = scratch<double>(static_cast<std::size_t>(n));
    r.weight = scratch<double>(static_cast<std::size_t>(n));
    double* const seconds = r.seconds.data();
    double* const weight = r.weight.data();
    double const* const price = it.price.data();
    int const* const last = paths.last_edge.data();
    placement_graph::edge const* const edges = of_rank.edges().data();
    for (int target = 0; target < n; ++target) {
      double sum = 0;
      int collectives = 0;
      for (int e = last[target]; e >= 0; e = last[edges[e].from])
        sum += price[e], collectives += price[e] > 0;
      seconds[target] = sum;
      weight[target] = sum + tie_ * collectives;
    }
  }

  topology topology_;
  machine machine_;
  double tie_;
  std::vector<placement_graph> graphs_;
  std::vector<state_index> index_;
  std::vector<reduction> ops_;
  std::vector<extents_table> tables_;
};

static_assert(tabulated_move_prices<tabulated_moves>);

}  // namespace ashlar::search
