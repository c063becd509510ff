// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Decides where a step begins to synchronize delayed gradients (early_synchronization.hpp). Their
// sums are complete before the step. If all synchronizations began at once, every other move on
// their link would wait for all of them. So they begin one bucket after another: each at the first
// action that starts after the bucket before it has ended, if it had the link for itself. Another
// move then waits for one bucket at most, as far as the predicted seconds are right.

#include <algorithm>
#include <vector>

#include <ashlar/step/buckets.hpp>

namespace ashlar::search {
inline namespace step {

/// Returns, for each move of a program, the action after which it begins if the synchronizations of
/// delayed gradients are spread over the step, or -1 if it may begin before. `buckets` are the
/// buckets of the moves. The timeline of `p` on machine `m` says when actions start.
constexpr std::vector<int> spread_starts(program const& p, bucket_numbers const& buckets,
                                         machine const& m) {
  std::vector<int> starts(p.moves.size(), -1), ends(p.moves.size(), 0);
  auto const when = timeline_of(p, m);
  for (std::size_t i = 0; i < p.actions.size(); ++i)
    if (p.actions[i].kind == action_kind::end_move)
      ends[static_cast<std::size_t>(p.actions[i].move)] = static_cast<int>(i);
  double free = 0;  // when the link has carried all buckets so far
  for (auto const& queue : step_detail::synchronization_queues(p)) {
    auto const& all = queue.entries;
    for (std::size_t first = 0, next = 0; first < all.size(); first = next) {
      int const bucket = buckets[static_cast<std::size_t>(all[first].move)];
      double latency = 0, seconds = 0;
      int last = static_cast<int>(p.actions.size());
      for (next = first; next < all.size(); ++next) {
        auto const move = static_cast<std::size_t>(all[next].move);
        if (next > first && (bucket < 0 || buckets[move] != bucket)) break;
        auto const transfer = step_detail::transfer_of(p, all[next].move, 0, m);
        latency = std::max(latency, transfer.latency);
        seconds += transfer.seconds;
        last = std::min(last, ends[move]);
      }
      if (all[first].action >= 0) continue;  // not delayed
      int at = 0;
      while (at < last && when.actions[static_cast<std::size_t>(at)].start < free) ++at;
      for (std::size_t k = first; k < next; ++k)
        starts[static_cast<std::size_t>(all[k].move)] = at - 1;
      if (at < last) free = std::max(free, when.actions[static_cast<std::size_t>(at)].start);
      free += latency + seconds;
    }
  }
  return starts;
}

}  // namespace step
}  // namespace ashlar::search
