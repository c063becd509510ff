// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random problems for the algorithms that order a crossing, the move of a tensor between two
// disjoint meshes: which ports send data to which other ports. A port is a node's network interface
// or a single rank (plan/crossing/port_task.hpp). shortest() finds the best order of a small
// problem by trying all orders.

#include <algorithm>
#include <numeric>
#include <random>

#include <ashlar/plan/crossing/list_order.hpp>

namespace ashlar_test {

/// Returns a random problem: ports 0 .. senders - 1 send, the others receive.
inline ashlar::port_problem random_problem(std::mt19937& random, int senders, int receivers,
                                           int tasks, int most_receivers, int most_size = 40) {
  auto const below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  auto const some = [&](int first, int n, int most) {
    std::vector<int> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), first);
    std::shuffle(all.begin(), all.end(), random);
    all.resize(static_cast<std::size_t>(1 + below(std::min(n, most))));
    std::sort(all.begin(), all.end());
    return all;
  };
  ashlar::port_problem p;
  p.ports = senders + receivers;
  for (int i = 0; i < tasks; ++i)
    p.tasks.push_back({1 + below(most_size), some(0, senders, senders),
                       some(senders, receivers, most_receivers)});
  return p;
}

/// Returns the length of the shortest list order, found by trying every order and every choice of
/// senders.
inline std::int64_t shortest(ashlar::port_problem const& p) {
  std::vector<int> order(p.tasks.size());
  std::iota(order.begin(), order.end(), 0);
  std::int64_t best = -1;
  do {
    ashlar::list_order o{order, std::vector<int>(p.tasks.size()), 0};
    std::vector<std::size_t> choice(p.tasks.size(), 0);
    for (bool more = true; more;) {
      for (std::size_t i = 0; i < choice.size(); ++i) o.senders[i] = p.tasks[i].senders[choice[i]];
      auto const length = length_of(p, o);
      best = best < 0 ? length : std::min(best, length);
      more = false;
      for (std::size_t i = 0; i < choice.size() && !more; ++i) {
        more = ++choice[i] < p.tasks[i].senders.size();
        if (!more) choice[i] = 0;
      }
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

}  // namespace ashlar_test
