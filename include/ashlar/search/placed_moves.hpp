// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Redistributions on a mesh with alike axes (alike_axes.hpp), each planned once for all that exchanging
// such axes makes of it: they cost the same. Bounds of them by roles (plan/role_distances.hpp) too.

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include <ashlar/plan/role_distances.hpp>
#include <ashlar/search/alike_axes.hpp>
#include <ashlar/search/planned_moves.hpp>

namespace ashlar::search {

/// The interface of planned_moves.
class placed_moves : public planned_moves {
 public:
  placed_moves(topology const& t, machine const& m, double tie = 0) : planned_moves(t, m, tie) {}

  cost move(int table, placement from, placement to) {
    if (from == to) return {};
    exchange(from, to);
    return planned_moves::move(table, from, to);
  }
  cost move(shape const& extents, int element_size, placement const& from, placement const& to) {
    return from == to ? cost{} : move(table(extents, element_size), from, to);
  }

  /// No move between placements of these roles, shards nested in any order, takes less.
  double least_seconds(shape const& extents, int element_size, placement from, placement to) {
    exchange(from, to);
    for (placement* p : {&from, &to})
      for (auto& a : p->axis) a.depth = 0;
    auto const id = static_cast<std::size_t>(table(extents, element_size));
    if (prices_.size() <= id) prices_.resize(id + 1);
    if (!prices_[id]) prices_[id].emplace(extents, element_size, mesh(), priced_on());
    auto const [it, fresh] = least_.try_emplace({id, code_of(from), code_of(to)}, 0.0);
    if (fresh) {
      role_distances distances(mesh(), extents.rank(), *prices_[id]);
      int const start = distances.state(axis_roles(from));
      distances.find(distances.state(axis_roles(to)), start);
      it->second = distances(start) * (1 - 1e-9);  // it breaks ties
    }
    return it->second;
  }

 private:
  /// Sorts alike axes by their roles in both placements.
  void exchange(placement& from, placement& to) const {
    auto const before = [&](int a, int b) {
      auto const key = [](axis_placement const& p) {
        return std::array<int, 4>{static_cast<int>(p.kind), p.dim, p.depth, static_cast<int>(p.op)};
      };
      auto const x = key(from[a]), y = key(from[b]);
      return x != y ? x < y : key(to[a]) < key(to[b]);
    };
    for (int a = 0; a < mesh().axes(); ++a)
      for (int b = a, c = alike_before(mesh(), a); c >= 0 && before(b, c);
           b = c, c = alike_before(mesh(), c)) {
        std::swap(from.axis[b], from.axis[c]);
        std::swap(to.axis[b], to.axis[c]);
      }
  }

  std::vector<std::optional<step_prices>> prices_;  ///< per table
  std::map<std::array<std::uint64_t, 3>, double> least_;
};

}  // namespace ashlar::search
