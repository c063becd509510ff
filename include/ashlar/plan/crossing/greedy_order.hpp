// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Builds an order of the tasks of a crossing (port_task.hpp) from sets of tasks that can be sent at
// the same time (randomized greedy search of the paper on cross-mesh resharding, section 3.2). To
// find the next set, the search draws `tries` sets and keeps the largest. Among equally large sets,
// it keeps the one that loads the senders most evenly. To draw a set, it goes through the remaining
// tasks in a random order. A task joins the set if all its receivers and one of its senders are
// free, which means that no task of the set uses them. Of several free senders, the search draws
// one at random, with a higher probability for senders with less load.

#include <utility>

#include <ashlar/plan/crossing/list_order.hpp>

namespace ashlar {

namespace detail {

/// A generator of random numbers that gives the same numbers on every machine (SplitMix64, Steele
/// et al. 2014).
struct splitmix {
  std::uint64_t state;
  constexpr std::uint64_t operator()() {
    std::uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// Returns a random number below n. n must be small against 2^64, so that the bias of the
  /// remainder does not matter.
  constexpr std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>((*this)() % static_cast<std::uint64_t>(n));
  }
};

class greedy_search {
 public:
  constexpr greedy_search(port_problem const& p, std::uint64_t seed)
      : problem_(p), random_{seed}, load_(static_cast<std::size_t>(p.ports)) {
    order_.senders.resize(p.tasks.size());
    for (std::size_t i = 0; i < p.tasks.size(); ++i) remaining_.push_back(static_cast<int>(i));
  }

  constexpr list_order run(int tries) {
    while (!remaining_.empty()) {
      candidate best;
      for (int k = 0; k < tries; ++k)
        if (auto found = draw(); best.tasks.empty() || found.is_better_than(best))
          best = static_cast<candidate&&>(found);
      for (std::size_t k = 0; k < best.tasks.size(); ++k) {
        int const i = best.tasks.data()[k], s = best.senders.data()[k];
        order_.tasks.push_back(i);
        order_.senders.data()[i] = s;
        load_.data()[s] += problem_.tasks.data()[i].size;
        remaining_.erase(std::find(remaining_.begin(), remaining_.end(), i));
      }
    }
    order_.length = length_of(problem_, order_);
    return order_;
  }

 private:
  struct candidate {
    std::vector<int> tasks, senders;
    double unevenness = 0;  ///< sum of the squared loads of all senders
    constexpr bool is_better_than(candidate const& other) const {
      return tasks.size() != other.tasks.size() ? tasks.size() > other.tasks.size()
                                                : unevenness < other.unevenness;
    }
  };

  constexpr candidate draw() {
    for (std::size_t n = remaining_.size(); n > 1; --n)
      std::swap(remaining_.data()[n - 1],
                remaining_.data()[random_.below(static_cast<std::int64_t>(n))]);
    candidate set;
    scratch<bool> sends(static_cast<std::size_t>(problem_.ports)), receives(sends);
    auto load = load_;
    for (int const i : remaining_) {
      auto const& t = problem_.tasks.data()[i];
      bool free = true;
      for (int const r : t.receivers) free = free && !receives.data()[r];
      int const s = free ? draw_sender(t, sends, load) : -1;
      if (s < 0) continue;
      for (int const r : t.receivers) receives.data()[r] = true;
      sends.data()[s] = true;
      load.data()[s] += t.size;
      set.tasks.push_back(i);
      set.senders.push_back(s);
    }
    for (auto const n : load) set.unevenness += double(n) * double(n);
    return set;
  }

  /// Draws a free sender of the task, preferably one with little load. Returns -1 if none is free.
  constexpr int draw_sender(port_task const& t, scratch<bool> const& sends,
                            scratch<std::int64_t> const& load) {
    std::int64_t most = 0, sum = 0;
    for (auto const n : load) most = n > most ? n : most;
    for (int const s : t.senders)
      if (!sends.data()[s]) sum += most - load.data()[s] + 1;
    if (sum == 0) return -1;
    auto drawn = random_.below(sum);
    for (int const s : t.senders)
      if (!sends.data()[s] && (drawn -= most - load.data()[s] + 1) < 0) return s;
    return -1;
  }

  port_problem const& problem_;
  splitmix random_;
  scratch<std::int64_t> load_;
  std::vector<int> remaining_;
  list_order order_;
};

}  // namespace detail

constexpr list_order greedy_order(port_problem const& p, std::uint64_t seed = 0, int tries = 100) {
  return detail::greedy_search(p, seed).run(tries);
}

}  // namespace ashlar
