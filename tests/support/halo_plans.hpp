// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plans in which layers split the dim along which their window slides. The ranks then exchange
// halos (the border rows that a neighbour needs). This header also lists the transfers that a
// program with such exchanges must record.

#include <random>

#include <support/plans.hpp>

#include <ashlar/step/build.hpp>
#include <ashlar/step/halo.hpp>
#include <ashlar/step/traffic.hpp>

namespace ashlar_test {

/// Returns a random plan with halos. Every layer that can split the dim along which its window
/// slides splits this dim along some mesh axis. On one rank, no layer can split it.
inline search::plan plan_with_halos(search::problem const& net, plan_source const& plans,
                                    ashlar::topology const& t, std::mt19937& generator) {
  auto const below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(generator);
  };
  int const again = static_cast<int>(below(static_cast<std::size_t>(net.segments) + 1));
  return plans.filled(
      [&](int i) {
        std::vector<search::layer_choice> list;
        for (auto const& c : plans.choices(i))
          if (!search::halo_axes(net.spec(i), c.x, t).empty()) list.push_back(c);
        if (list.empty()) list = plans.choices(i);
        return list[below(list.size())];
      },
      again);
}

/// Returns the number of exchanges of halos in a program.
inline int halo_exchanges(search::program const& p) {
  return static_cast<int>(
      std::count_if(p.actions.begin(), p.actions.end(), [](auto const& a) { return a.halo >= 0; }));
}

/// Returns the transfers that this rank must record when it runs a program: those of its
/// redistributions and of its exchanges of halos.
inline std::vector<ashlar::collective_record> records_of(search::program const& p,
                                                         ashlar::mesh const& m) {
  std::vector<ashlar::collective_record> all;
  for (auto const& a : p.actions) {
    if (a.halo >= 0)
      all.push_back({ashlar::collective::permute, p.halo_of(a).axes,
                     search::halo_bytes_at(p, a, m.coordinate())});
    if (a.kind != search::action_kind::begin_move) continue;
    auto const& path = p.path_of(p.move_of(a));
    for (auto const& s : path.steps)
      if (communicates(s.kind))
        all.push_back({s.kind, s.axes,
                       step_traffic(s, path.extents, m.topology(), m.coordinate()).elements *
                           path.element_size});
  }
  return all;
}

}  // namespace ashlar_test
