// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What single redistributions cost, each planned once: for few moves on many axes, where the tables
// of planner.hpp do not pay. Seconds, weight and interface are those of planner's moves.

#include <vector>

#include <ashlar/placement/code.hpp>
#include <ashlar/plan/redistribution.hpp>

namespace ashlar::search {

class planned_moves {
 public:
  constexpr planned_moves(topology const& t, machine const& m, double tie = 0)
      : topology_(t), machine_(m), tie_(tie) {}

  constexpr topology const& mesh() const { return topology_; }
  constexpr machine const& priced_on() const { return machine_; }

  /// The index of the list of moves of tensors of these extents and bytes per element.
  constexpr int table(shape const& extents, int element_size) {
    int const n = static_cast<int>(lists_.size());
    for (int i = 0; i < n; ++i)
      if (lists_.data()[i].element_size == element_size && lists_.data()[i].extents == extents)
        return i;
    lists_.push_back({extents, element_size, {}});
    return n;
  }

  struct cost {
    double seconds = 0;
    double weight = 0;
  };

  constexpr cost move(int table, placement const& from, placement const& to) {
    if (from == to) return {};
    moves_of& list = lists_.data()[table];
    std::uint64_t const a = code_of(from), b = code_of(to);
    for (planned const& it : list.moves)
      if (it.from == a && it.to == b) return it.price;
    auto const path = plan_redistribution(list.extents, list.element_size, from, to, topology_,
                                          machine_);
    int collectives = 0;
    for (auto const& s : path.steps) collectives += communicates(s.kind);
    list.moves.push_back({a, b, {path.seconds, path.seconds + tie_ * collectives}});
    return list.moves.back().price;
  }
  constexpr cost move(shape const& extents, int element_size, placement const& from,
                      placement const& to) {
    return from == to ? cost{} : move(table(extents, element_size), from, to);
  }

 private:
  struct planned {
    std::uint64_t from, to;
    cost price;
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

}  // namespace ashlar::search
