// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Tabulates the cheapest paths of all moves (redistributions) on one mesh and machine. A path is
// the sequence of redistribution steps by which a tensor gets from one placement to another. The
// tables are filled when they are first needed, and serve every search on that mesh:
//
//   graph of placements    one per tensor rank and reduction; its edges are redistribution steps
//   prices of the edges    one list per extents and bytes per element
//   paths                  per source placement, the seconds and the number of collectives of the
//                          shortest path to every target
//
// A graph has only one reduction, so a move between two placements with different reductions is not
// in any table.
//
// shared_moves keeps such tables for searches of several meshes and chains, such as the searches of
// the stages of a pipeline. Copies of a search's model share the tables through a counted
// reference, which unlike std::shared_ptr works in constant expressions.

#include <type_traits>
#include <vector>

#include <ashlar/plan/placement_graph.hpp>
#include <ashlar/support/scratch.hpp>

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

  /// Returns the state number of a placement, or -1 if the graph does not contain it. Expects that
  /// the mesh of the placement and the number of dims of its tensor are those of the graph.
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

class move_tables {
 public:
  constexpr move_tables(topology const& t, machine const& m) : topology_(t), machine_(m) {}

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
    numbers_ += of_rank.edges().size();
    return n;
  }

  /// Returns the number of a placement in a table, called its state. Tables for tensors of the same
  /// rank and reduction have the same states.
  constexpr int state(int table, placement const& p) const {
    int const g = tables_.data()[table].graph;
    state_index const& index = index_.data()[g];
    return index.usable() ? index.find(p) : graphs_.data()[g].find(p);
  }

  /// The paths from one placement, indexed by the number (state) of the target placement.
  struct row {
    scratch<double> seconds;
    scratch<int> collectives;
  };
  constexpr row const& paths_from(int table, int source) {
    extents_table& it = tables_.data()[table];
    row& r = it.rows.data()[source];
    if (r.seconds.size() == 0) fill(r, it, source);
    return r;
  }

  /// Returns about how many numbers the tables hold.
  constexpr std::size_t numbers() const { return numbers_; }

 private:
  struct extents_table {
    shape extents;
    int element_size;
    reduction op;
    int graph;
    scratch<double> price;  ///< the price of each edge
    scratch<row> rows;      ///< per source state: its paths; empty until they are first used
  };

  // Callers hold pointers into rows. These pointers must stay valid when the list of tables grows,
  // so tables must be moved, not copied.
  static_assert(std::is_nothrow_move_constructible_v<extents_table>);

  constexpr int graph(int rank, reduction op) {
    int const n = static_cast<int>(graphs_.size());
    for (int i = 0; i < n; ++i)
      if (graphs_.data()[i].rank() == rank && ops_.data()[i] == op) return i;
    graphs_.push_back(placement_graph(rank, topology_, op));
    index_.push_back(state_index(graphs_.data()[n]));
    ops_.push_back(op);
    return n;
  }

  constexpr void fill(row& r, extents_table const& it, int source) {
    placement_graph const& of_rank = graphs_.data()[it.graph];
    auto const paths = of_rank.shortest_from(source, it.price);
    int const n = of_rank.states();
    r.seconds = scratch<double>(static_cast<std::size_t>(n));
    r.collectives = scratch<int>(static_cast<std::size_t>(n));
    double* const seconds = r.seconds.data();
    int* const collectives = r.collectives.data();
    double const* const price = it.price.data();
    int const* const last = paths.last_edge.data();
    placement_graph::edge const* const edges = of_rank.edges().data();
    for (int target = 0; target < n; ++target) {
      double sum = 0;
      int count = 0;
      for (int e = last[target]; e >= 0; e = last[edges[e].from])
        sum += price[e], count += price[e] > 0;
      seconds[target] = sum, collectives[target] = count;
    }
    numbers_ += r.seconds.size() + r.collectives.size();
  }

  topology topology_;
  machine machine_;
  std::vector<placement_graph> graphs_;
  std::vector<state_index> index_;
  std::vector<reduction> ops_;
  std::vector<extents_table> tables_;
  std::size_t numbers_ = 0;
};

/// A counted reference to an object that all its copies share. It is not safe for several threads.
template <class T>
class counted {
 public:
  constexpr counted() = default;
  constexpr explicit counted(T&& value) : held_(new held{static_cast<T&&>(value), 1}) {}
  constexpr counted(counted const& other) : held_(other.held_) {
    if (held_ != nullptr) ++held_->uses;
  }
  constexpr counted& operator=(counted other) {
    auto* const own = held_;
    held_ = other.held_;
    other.held_ = own;
    return *this;
  }
  constexpr ~counted() {
    if (held_ != nullptr && --held_->uses == 0) delete held_;
  }

  constexpr T* operator->() const { return &held_->value; }
  constexpr T& operator*() const { return held_->value; }

 private:
  struct held {
    T value;
    int uses;
  };
  held* held_ = nullptr;
};

/// The tables of several meshes and machines. They are not safe for several threads.
class shared_moves {
 public:
  /// Returns the tables for a mesh and a machine. The machine's memory limit does not matter.
  counted<move_tables> of(topology const& t, machine m) {
    m.memory = 0;
    std::size_t numbers = 0;
    for (auto const& it : known_) {
      if (it->mesh() == t && it->priced_on() == m) return it;
      numbers += it->numbers();
    }
    if (numbers > most_numbers) known_.clear();
    known_.push_back(counted(move_tables(t, m)));
    return known_.back();
  }

 private:
  /// If the tables hold more numbers than this (half a gigabyte) when a new mesh needs tables, all
  /// earlier tables are dropped.
  static constexpr std::size_t most_numbers = std::size_t{1} << 26;

  std::vector<counted<move_tables>> known_;
};

}  // namespace ashlar::search
