// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Provides exact prices of redistributions, from tables that all layers and, at run time, several
// searches share (move_tables.hpp). A search adds a tiny weight per collective to these prices.
// This weight depends on the chain, so it is not part of the shared tables.
//
// The prices equal those of plan_redistribution, also where several paths have equal cost. A move
// between two placements with different reductions is not in any table, and plan_redistribution
// plans it. The tables contain no owned placements, O(k), so callers must not ask for prices of
// such moves. The search makes no owned placements; planned_moves prices plans that have them.

#include <type_traits>
#include <vector>

#include <ashlar/search/choices.hpp>
#include <ashlar/search/move_tables.hpp>
#include <ashlar/search/prices.hpp>

namespace ashlar::search {

class tabulated_moves {
 public:
  static constexpr shard_orders orders = shard_orders::all;  ///< choices may differ in shard order

  /// Uses the tables of `shared`, unless it is null. Copies share their tables. So all copies, and
  /// all searches with the same `shared`, must run in one thread.
  constexpr tabulated_moves(topology const& t, machine const& m, double tie = 0,
                            shared_moves* shared = nullptr)
      : topology_(t), machine_(m), tie_(tie), paths_(tables_of(t, m, shared)),
        weights_(std::vector<of_table>{}) {}

  constexpr topology const& mesh() const { return topology_; }
  constexpr machine const& priced_on() const { return machine_; }

  /// Returns the index of a table, as move_tables::table does.
  constexpr int table(shape const& extents, int element_size, reduction op = reduction::sum) {
    int const n = paths_->table(extents, element_size, op);
    while (static_cast<int>(weights_->size()) <= n) weights_->push_back({});
    return n;
  }
  constexpr int state(int table, placement const& p) const { return paths_->state(table, p); }

  /// Returns the weights of the moves from one placement, indexed by the number (state) of the
  /// target placement. A weight is the seconds of a move plus a tiny tie-breaking amount per
  /// collective.
  constexpr double const* weight_from(int table, int source) {
    of_table& known = weights_->data()[table];
    if (known.size() == 0 || known.data()[source].size() == 0) fill(known, table, source);
    return known.data()[source].data();
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
    auto const& r = paths_->paths_from(table, state(table, from));
    auto const target = state(table, to);
    double const seconds = r.seconds.data()[target];
    return {seconds, seconds + tie_ * r.collectives.data()[target]};
  }

 private:
  // GCC 12 cannot evaluate this as one conditional expression at compile time.
  static constexpr counted<move_tables> tables_of(topology const& t, machine const& m,
                                                  shared_moves* shared) {
    if (shared != nullptr) return shared->of(t, m);
    return counted(move_tables(t, m));
  }

  /// Per source state: the weights of its moves; empty until they are first used.
  using of_table = scratch<scratch<double>>;

  // Callers hold pointers to weights. These pointers must stay valid when the list of tables grows,
  // so its entries must be moved, not copied.
  static_assert(std::is_nothrow_move_constructible_v<of_table>);

  /// Returns whether both placements have P axes, but with different reductions. Each graph has
  /// only one reduction, so no graph contains both placements.
  static constexpr bool untabulated(placement const& from, placement const& to) {
    return from.has_partial() && to.has_partial() && from.op() != to.op();
  }

  constexpr void fill(of_table& known, int table, int source) const {
    auto const& r = paths_->paths_from(table, source);
    if (known.size() == 0) known = of_table(r.seconds.size());
    scratch<double> list(r.seconds.size());
    double const* const seconds = r.seconds.data();
    int const* const collectives = r.collectives.data();
    double* const weight = list.data();
    for (std::size_t k = 0; k < list.size(); ++k) weight[k] = seconds[k] + tie_ * collectives[k];
    known.data()[source] = static_cast<scratch<double>&&>(list);
  }

  topology topology_;
  machine machine_;
  double tie_;
  counted<move_tables> paths_;
  counted<std::vector<of_table>> weights_;
};

static_assert(tabulated_move_prices<tabulated_moves>);

}  // namespace ashlar::search
