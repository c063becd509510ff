// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Provides exact prices of redistributions. Each redistribution is planned when its price is first
// needed, and the price is cached. planned_moves is for searches that need few prices on many axes,
// for which the tables of tabulated_moves.hpp would take too much time. Moves that differ only by
// an exchange of interchangeable axes (equal extent and network tier) cost the same and share one
// cache entry.

#include <vector>

#include <ashlar/placement/code.hpp>
#include <ashlar/search/interchangeable_axes.hpp>
#include <ashlar/search/prices.hpp>

namespace ashlar::search {

class planned_moves {
 public:
  constexpr planned_moves(topology const& t, machine const& m, double tie = 0)
      : topology_(t), machine_(m), tie_(tie) {}

  constexpr topology const& mesh() const { return topology_; }
  constexpr machine const& priced_on() const { return machine_; }

  constexpr int table(shape const& extents, int element_size) {
    int const n = static_cast<int>(lists_.size());
    for (int i = 0; i < n; ++i)
      if (lists_.data()[i].element_size == element_size && lists_.data()[i].extents == extents)
        return i;
    lists_.push_back({extents, element_size, {}});
    return n;
  }

  constexpr move_price move(int table, placement from, placement to) {
    if (from == to) return {};
    sort_interchangeable_axes(topology_, from, to);
    moves_of& list = lists_.data()[table];
    std::uint64_t const a = code_of(from), b = code_of(to);
    for (planned const& it : list.moves)
      if (it.from == a && it.to == b) return it.price;
    list.moves.push_back(
        {a, b,
         planned_price(list.extents, list.element_size, from, to, topology_, machine_, tie_)});
    return list.moves.back().price;
  }
  constexpr move_price move(shape const& extents, int element_size, placement const& from,
                            placement const& to) {
    return from == to ? move_price{} : move(table(extents, element_size), from, to);
  }

 private:
  struct planned {
    std::uint64_t from, to;
    move_price price;
  };
  struct moves_of {
    shape extents;
    int element_size;
    std::vector<planned> moves;
  };

  topology topology_;
  machine machine_;
  double tie_;
  std::vector<moves_of> lists_;
};

static_assert(move_prices<planned_moves>);

}  // namespace ashlar::search
