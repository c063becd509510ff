// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Provides lower bounds of the cost of redistributions. The bounds are stored in tables. They are
// the distances of role_graph.hpp, which ignore shard order. (tabulated_moves.hpp provides exact
// prices.) A table has (rank + 2)^axes states. For tensors of rank 3 on four axes, that is half the
// number of placements with shard order.
//
// Where possible, a table leaves out dims that no choice splits. A real redistribution may split
// such a dim on the way. But splitting that dim saves no time if another dim of the table is
// divisible by the number of all ranks. So dims are left out only in this case.
//
// multiset_moves also merges placements that differ only by an exchange of interchangeable axes.
// For example, a layer with three signature rows on six axes of extent two, three in each network
// tier, has 100 choices instead of 729.
//
// The tables contain only weights. So the result of `move` contains the weight twice: as weight and
// in place of seconds.

#include <array>
#include <vector>

#include <ashlar/search/choices.hpp>
#include <ashlar/search/prices.hpp>
#include <ashlar/search/role_graph.hpp>
#include <ashlar/step/problem.hpp>

namespace ashlar::search {

template <shard_orders Orders>
class basic_role_moves {
 public:
  static constexpr shard_orders orders = Orders;  ///< the shard orders that choices distinguish

  constexpr basic_role_moves(topology const& t, machine const& m, double tie = 0)
      : topology_(t), machine_(m), tie_(tie) {}

  constexpr topology const& mesh() const { return topology_; }
  constexpr machine const& priced_on() const { return machine_; }

  /// Registers the dims that choices split in tensors with these extents: bit d of `dims` is dim d.
  /// Must be called for all tensors before the first call of table(). Activations with equally many
  /// dims share one set of split dims, so that their placements have the same numbers in all
  /// tables.
  constexpr void use(shape const& extents, unsigned dims, bool activation) {
    for (auto& it : used_)
      if (it.extents == extents) {
        it.dims |= dims;
        it.activation = it.activation || activation;
        return;
      }
    used_.push_back({extents, dims, activation});
  }

  /// Registers all tensors of a chain.
  template <int N>
  constexpr void use(basic_problem<N> const& net) {
    auto const dims_of = [](layer_spec const& spec, auto const& roles_of_row) {
      unsigned dims = 0;
      for (auto const& row : spec.rows)
        for (axis_placement const& role : roles_of_row(row))
          if (role.is_split()) dims |= 1u << role.dim;
      return dims;
    };
    using pair = std::array<axis_placement, 2>;
    for (int i = 0; i < net.size(); ++i) {
      layer_spec const& spec = net.spec(i);
      unsigned const x = dims_of(spec, [](auto const& row) { return pair{row.x, row.dx}; });
      unsigned const y = dims_of(spec, [](auto const& row) { return pair{row.y, row.dy}; });
      use(spec.x, x, true);
      use(spec.y, y, true);
      if (i > 0) use(boundary_extents(net, i - 1), x, true);
      if (i + 1 < net.size()) use(boundary_extents(net, i), y, true);
      for (int k = 0; k < spec.parameters.size(); ++k)
        use(spec.parameters[k].extents,
            1u | dims_of(spec,
                         [k](auto const& row) {
                           return pair{row.use[k], row.grad[k]};
                         }),
            false);
      for (int k = 0; k < spec.statistics.size(); ++k)
        use(spec.statistics[k],
            dims_of(spec,
                    [k](auto const& row) {
                      return pair{row.stat[k].from, row.stat[k].to};
                    }),
            false);
    }
  }

  /// Returns the index of the table for tensors with these extents and bytes per element. The table
  /// is valid for every reduction of P axes.
  constexpr int table(shape const& extents, int element_size) {
    int const n = static_cast<int>(tables_.size());
    for (int i = 0; i < n; ++i)
      if (tables_.data()[i].element_size == element_size &&
          tables_.data()[i].graph.extents() == extents)
        return i;
    tables_.push_back({element_size,
                       role_graph(extents, dims_of(extents), element_size, topology_, machine_,
                                  tie_, Orders == shard_orders::multisets),
                       {}});
    return n;
  }

  /// Returns the number of a placement in a table. A placement of activations has the same number
  /// in the tables of all activations with equally many dims.
  constexpr int state(int table, placement const& p) const {
    return tables_.data()[table].graph.state(p);
  }

  /// Returns lower bounds of the weights of all moves from the placement with number (state)
  /// `source`, indexed by the number of the target placement.
  constexpr double const* weight_from(int table, int source) {
    extents_table& it = tables_.data()[table];
    if (it.weight.size() == 0) it.weight = it.graph.all_distances();
    return it.weight.data() + source * it.graph.states();
  }

  constexpr move_price move(int table, placement const& from, placement const& to) {
    if (from == to) return {};
    double const w = weight_from(table, state(table, from))[state(table, to)];
    return {w, w};
  }
  constexpr move_price move(shape const& extents, int element_size, placement const& from,
                            placement const& to) {
    if (from == to) return {};
    if (from.has_partial() && to.has_partial() && from.op() != to.op()) return {};
    return move(table(extents, element_size), from, to);
  }

 private:
  struct tensor_use {
    shape extents;
    unsigned dims;
    bool activation;
  };
  struct extents_table {
    int element_size;
    role_graph graph;
    scratch<double> weight;  ///< weights [source][target]; empty until first used
  };
  // weight_from() returns pointers into tables. These pointers must stay valid when the list of
  // tables grows, so tables must be moved, not copied.
  static_assert(std::is_nothrow_move_constructible_v<extents_table>);

  /// Returns the dims that a table for tensors with these extents contains, as a set of bits. Dims
  /// that no choice splits are left out. This is permitted only if one of the other dims is
  /// divisible by the number of all ranks; otherwise no dim is left out. All activations with
  /// equally many dims have the same set, so each of these activations must have such a divisible
  /// dim.
  constexpr unsigned dims_of(shape const& extents) const {
    unsigned const all = (1u << extents.rank()) - 1;
    unsigned dims = 0;
    bool activation = false;
    for (auto const& it : used_)
      if (it.extents == extents) dims = it.dims, activation = it.activation;
    if (activation)
      for (auto const& it : used_)
        if (it.activation && it.extents.rank() == extents.rank()) dims |= it.dims;
    if (dims == 0) return all;
    for (auto const& it : used_) {
      if (!(activation ? it.activation && it.extents.rank() == extents.rank()
                       : it.extents == extents))
        continue;
      bool even = false;
      for (int d = 0; d < extents.rank(); ++d)
        even = even || ((dims >> d & 1u) != 0 && it.extents[d] % topology_.ranks() == 0);
      if (!even) return all;
    }
    return dims & all;
  }

  topology topology_;
  machine machine_;
  double tie_;
  std::vector<tensor_use> used_;
  std::vector<extents_table> tables_;
};

using role_moves = basic_role_moves<shard_orders::canonical>;
using multiset_moves = basic_role_moves<shard_orders::multisets>;

static_assert(tabulated_move_prices<role_moves> && tabulated_move_prices<multiset_moves>);

}  // namespace ashlar::search
