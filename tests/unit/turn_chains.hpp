// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random chains of work and moves for tests of searches in which micro-batches take turns.

#include <random>
#include <vector>

#include <ashlar/search/overlap/turn_chain.hpp>

namespace ashlar_test {

namespace search = ashlar::search;

inline search::turn_move any_move(std::mt19937& draw, int links, double scale) {
  std::uniform_real_distribution<double> seconds(0.01, 1);
  search::turn_move m;
  for (unsigned k = 0; k < 1 + draw() % (links == 1 ? 1 : 3); ++k)
    m.add(links == 1 ? 0 : static_cast<int>(draw() % 2), scale * seconds(draw));
  return m;
}

inline search::turn_chain any_chain(std::mt19937& draw, int turns) {
  std::uniform_real_distribution<double> seconds(0.01, 1);
  search::turn_chain chain;
  chain.turns = turns;
  chain.groups = 1 + static_cast<int>(draw() % 2);
  // If there is only one full group of micro-batches, a smaller group may follow it.
  chain.per_step = chain.groups > 1 ? 2.5 : turns > 1 && draw() % 2 ? 1 + 1. / turns : 1;
  int const links = 1 + static_cast<int>(draw() % 2);
  for (int k = 0; k < 6; ++k) chain.moves.push_back(any_move(draw, links, 2));
  auto const move = [&](unsigned none) {
    return draw() % none ? 0 : static_cast<int>(draw() % chain.moves.size());
  };
  int const n = 2 + static_cast<int>(draw() % 4);
  int const begin = draw() % 2 ? static_cast<int>(draw() % static_cast<unsigned>(n)) : n;
  int const end = begin + 1 + static_cast<int>(draw() % 3);
  bool const weights = draw() % 2;
  for (int i = 0; i < n; ++i) {
    bool const ends = end < n && i == end;
    search::turn_costs own;
    std::size_t const choices = ends ? chain.costs[static_cast<std::size_t>(begin)].forward.size()
                                     : 1 + draw() % 3;
    for (std::size_t c = 0; c < choices; ++c) {
      own.forward.push_back(seconds(draw));
      own.backward.push_back(draw() % 4 ? 2 * seconds(draw) : 0);
      own.beside.push_back(draw() % 2 ? own.backward.back() / 2 : 0);
      own.after_weights.push_back(own.beside.back());
      own.inside.push_back(move(4));
      own.gathers.push_back({weights ? seconds(draw) : 0, 0});
      own.again.push_back({weights ? seconds(draw) : 0, 0});
      own.synchronize.push_back({0, weights ? 3 * seconds(draw) : 0});
    }
    chain.costs.push_back(own);
    chain.elements.push_back({i, ends ? begin : end < n && i == begin ? end : -1});
    if (i == 0) continue;
    search::turn_boundary moves;
    auto const before = chain.costs[static_cast<std::size_t>(i - 1)].forward.size();
    for (std::size_t k = 0; k < before * choices; ++k) {
      moves.forward.push_back(move(1));
      moves.backward.push_back(move(1));
    }
    chain.boundary_after.push_back(static_cast<int>(chain.boundaries.size()));
    chain.boundaries.push_back(moves);
  }
  return chain;
}

/// Returns the chain in which each element i has only its choice choices[i].
inline search::turn_chain with_choices(search::turn_chain const& chain,
                                       std::vector<int> const& choices) {
  search::turn_chain one = chain;
  one.costs.clear(), one.boundaries.clear(), one.boundary_after.clear();
  for (int i = 0; i < chain.size(); ++i) {
    auto const c = static_cast<std::size_t>(choices[static_cast<std::size_t>(i)]);
    auto const& of = chain.at(i);
    one.costs.push_back({{of.forward[c]},
                         {of.backward[c]},
                         {of.beside[c]},
                         {of.after_weights[c]},
                         {of.inside[c]},
                         {of.gathers[c]},
                         {of.again[c]},
                         {of.synchronize[c]}});
    one.elements[static_cast<std::size_t>(i)].costs = i;
    if (i == 0) continue;
    auto const before = static_cast<std::size_t>(choices[static_cast<std::size_t>(i - 1)]);
    std::size_t const at = before * static_cast<std::size_t>(chain.choices(i)) + c;
    auto const& moves = chain.behind(i - 1);
    one.boundary_after.push_back(i - 1);
    one.boundaries.push_back({{moves.forward[at]}, {moves.backward[at]}});
  }
  return one;
}

/// Calls f(choices) for every combination of choices in which both ends of a residual have the same
/// choice.
template <class F>
void for_each_choices(search::turn_chain const& chain, F f) {
  std::vector<int> choices(static_cast<std::size_t>(chain.size()), 0);
  for (;;) {
    bool fits = true;
    for (int i = 0; i < chain.size(); ++i)
      if (int const p = chain.elements[static_cast<std::size_t>(i)].partner; p >= 0)
        fits = fits && choices[static_cast<std::size_t>(i)] == choices[static_cast<std::size_t>(p)];
    if (fits) f(choices);
    int i = 0;
    while (i < chain.size() && ++choices[static_cast<std::size_t>(i)] == chain.choices(i))
      choices[static_cast<std::size_t>(i++)] = 0;
    if (i == chain.size()) return;
  }
}

}  // namespace ashlar_test
