// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A pass that lets the synchronization of parameters' gradients overlap with the backward pass. A
// program sums up the gradient of each parameter over the micro-batches. A synchronization is the
// redistribution of such a sum. A sum is complete when the gradient of the last micro-batch has
// been added. A synchronization begins when the sums of all synchronizations of its bucket are
// complete (buckets.hpp), or when its own sum is complete if it is in no bucket.
//
// If a gradient is delayed, a step synchronizes the sum of the step before while its own passes
// run. Such a synchronization may begin with the step. Other moves on its link would then wait for
// it, so it may also begin later, at a given action (spread_synchronization.hpp).
//
// Each end_move stays in place, before the updates. Redistributions without communication keep
// their places. A sum that is already at the placement of the update has no redistribution.

#include <ashlar/step/buckets.hpp>
#include <ashlar/step/pass.hpp>

namespace ashlar::search {
inline namespace step {

namespace step_detail {

/// Returns the program with early synchronizations and without releases. `starts` is empty or has,
/// for each move, the action after which it may begin; -1 means at any time.
constexpr program with_early_synchronization(program const& p, bucket_numbers const& buckets,
                                             std::vector<int> const& starts) {
  program changed = p;
  changed.actions.clear();
  std::vector<action> begin(p.moves.size());  // the begin_move of each move
  for (auto const& a : p.actions)
    if (a.kind == action_kind::begin_move) begin[static_cast<std::size_t>(a.move)] = a;
  std::vector<char> is_early(p.moves.size(), 0);
  std::vector<int> last(p.moves.size(), -1);  // per bucket: the action after which it begins
  auto const queues = synchronization_queues(p);
  auto const bucket_of = [&](int move) { return buckets[static_cast<std::size_t>(move)]; };
  auto const action_of = [&](synchronization_queue::entry const& e) {
    int const start = starts.empty() ? -1 : starts[static_cast<std::size_t>(e.move)];
    return e.action > start ? e.action : start;
  };
  for (auto const& queue : queues)
    for (auto const& e : queue.entries) {
      is_early[static_cast<std::size_t>(e.move)] = 1;
      changed.moves[static_cast<std::size_t>(e.move)].bucket = bucket_of(e.move);
      if (bucket_of(e.move) < 0) continue;
      int& of_bucket = last[static_cast<std::size_t>(bucket_of(e.move))];
      if (action_of(e) > of_bucket) of_bucket = action_of(e);
    }
  // begins[i] has the moves that begin right before action i. In this list, moves of one bucket
  // follow each other.
  std::vector<std::vector<int>> begins(p.actions.size() + 1);
  for (auto const& queue : queues)
    for (auto const& e : queue.entries) {
      int const b = bucket_of(e.move);
      int const after = b < 0 ? action_of(e) : last[static_cast<std::size_t>(b)];
      begins[static_cast<std::size_t>(after + 1)].push_back(e.move);
    }
  auto const add_begins = [&](std::vector<int> const& moves) {
    for (int const k : moves) changed.actions.push_back(begin[static_cast<std::size_t>(k)]);
  };
  add_begins(begins[0]);
  for (std::size_t i = 0; i < p.actions.size(); ++i) {
    auto const& a = p.actions[i];
    bool const begins_early = a.kind == action_kind::begin_move &&
                              is_early[static_cast<std::size_t>(a.move)] != 0;
    if (a.kind != action_kind::release && !begins_early) changed.actions.push_back(a);
    add_begins(begins[i + 1]);
  }
  return changed;
}

}  // namespace step_detail

/// Returns the program in which all synchronizations of a bucket begin as soon as the gradient sums
/// of the bucket are complete. If `starts` is not empty, a synchronization also waits for the
/// action that `starts` has for its move.
///
///   limit   The most memory that a rank may use, in bytes; 0 means no limit. If the new program
///           would exceed this limit, the result contains the given program.
constexpr pass_result early_synchronization(program const& p, bucket_numbers const& buckets,
                                            std::int64_t limit = 0,
                                            std::vector<int> const& starts = {}) {
  return step_detail::finish_pass(p, step_detail::with_early_synchronization(p, buckets, starts),
                                  limit);
}

/// Returns the program of the overload above with buckets that are closed once they have
/// `bucket_bytes` bytes on a rank; 0 means no buckets.
constexpr pass_result early_synchronization(program const& p, std::int64_t bucket_bytes,
                                            std::int64_t limit = 0) {
  return early_synchronization(p, buckets_of_size(p, bucket_bytes), limit);
}

}  // namespace step
}  // namespace ashlar::search
