// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Decides which synchronizations of gradients share messages. A program sums up the gradient of
// each parameter over the micro-batches, and a synchronization is the redistribution of such a sum.
// A bucket is a set of synchronizations that consist of the same steps, and whose sums become
// complete one after another. All synchronizations of a bucket begin together. A bucket has at
// least two of them. If a gradient is delayed, the step synchronizes its pending sum (action.hpp).
// This sum is complete before the step begins.

#include <ashlar/step/bucket_cuts.hpp>
#include <ashlar/step/bucket_rule.hpp>
#include <ashlar/step/timeline.hpp>
#include <ashlar/step/transfer.hpp>

namespace ashlar::search {
inline namespace step {

/// The bucket of each move of a program, or -1 for a move that is in no bucket.
using bucket_numbers = std::vector<int>;

namespace step_detail {

/// Synchronizations with the same steps, in the order in which their sums become complete.
struct synchronization_queue {
  struct entry {
    int move;  ///< index into program::moves
    /// Index into program::actions: the action that completes the sum, or -1 if the sum is complete
    /// before the step.
    int action;
  };
  std::vector<entry> entries;
};

/// Returns, for each value of a program, the move that synchronizes it, or -1 if there is no such
/// move or if the move does not communicate.
constexpr std::vector<int> synchronizations(program const& p) {
  std::vector<int> move_of_sum(p.values.size(), -1);
  for (std::size_t k = 0; k < p.moves.size(); ++k) {
    auto const& m = p.moves[k];
    auto const kind = p.value_of(m.from).kind;
    bool const is_of_sum = kind == value_kind::sum || kind == value_kind::pending;
    if (m.phase == phase::synchronize && is_of_sum && !p.path_of(m).is_local())
      move_of_sum[static_cast<std::size_t>(m.from)] = static_cast<int>(k);
  }
  return move_of_sum;
}

constexpr std::vector<synchronization_queue> synchronization_queues(program const& p) {
  auto const move_of_sum = synchronizations(p);
  std::vector<int> addends(p.values.size(), 0);
  std::vector<synchronization_queue> queues;
  auto const add = [&](int move, int action) {
    auto const& path = p.path_of(p.moves[static_cast<std::size_t>(move)]);
    std::size_t q = 0;
    while (q < queues.size() &&
           !travel_together(p.path_of(p.moves[static_cast<std::size_t>(queues[q].entries[0].move)]),
                            path))
      ++q;
    if (q == queues.size()) queues.emplace_back();
    queues[q].entries.push_back({move, action});
  };
  for (std::size_t v = 0; v < p.values.size(); ++v)
    if (p.values[v].kind == value_kind::pending && move_of_sum[v] >= 0) add(move_of_sum[v], -1);
  for (std::size_t i = 0; i < p.actions.size(); ++i)
    for (int const sum : p.actions[i].adds) {
      int const k = move_of_sum[static_cast<std::size_t>(sum)];
      if (p.value_of(sum).kind == value_kind::pending) continue;
      if (k >= 0 && ++addends[static_cast<std::size_t>(sum)] == p.micro_batches)
        add(k, static_cast<int>(i));
    }
  return queues;
}

/// Returns a synchronization as a transfer that is ready at `ready`, in seconds. The seconds in
/// which the processor encodes and decodes the gradient do not count.
constexpr ready_transfer transfer_of(program const& p, int move, double ready, machine const& m) {
  auto const takes = carried_time(p.path_of(p.moves[static_cast<std::size_t>(move)]), p.mesh, m);
  return {ready, takes.latency, takes.rest};
}

/// Gives the moves of a queue their bucket numbers. Bucket k of the queue has the entries
/// ends[k - 1] .. ends[k] - 1; if this is a single entry, it gets no number. `buckets` is the next
/// free number.
constexpr void number_buckets(synchronization_queue const& queue, std::vector<int> const& ends,
                              int& buckets, bucket_numbers& numbers) {
  int begin = 0;
  for (int const end : ends) {
    for (int e = begin; e < end && end - begin > 1; ++e)
      numbers[static_cast<std::size_t>(queue.entries[static_cast<std::size_t>(e)].move)] = buckets;
    if (end - begin > 1) ++buckets;
    begin = end;
  }
}

}  // namespace step_detail

/// Returns buckets that are closed once the sums in them have the size that the rule gives. Expects
/// a rule other than bucketing::best. If rule.size is 0, there are no buckets.
constexpr bucket_numbers buckets_of_size(program const& p, bucket_rule const& rule) {
  bucket_numbers numbers(p.moves.size(), -1);
  int buckets = 0;
  for (auto const& queue : step_detail::synchronization_queues(p)) {
    std::vector<int> ends;
    std::int64_t filled = 0;
    int const n = static_cast<int>(queue.entries.size());
    for (int e = 0; e < n; ++e) {
      auto const& m =
          p.moves[static_cast<std::size_t>(queue.entries[static_cast<std::size_t>(e)].move)];
      filled += rule.kind == bucketing::by_number ? 1 : p.value_of(m.from).bytes;
      if (filled < rule.closed_at(ends.empty()) && e + 1 < n) continue;
      ends.push_back(e + 1);
      filled = 0;
    }
    step_detail::number_buckets(queue, ends, buckets, numbers);
  }
  return numbers;
}

/// Returns buckets that are closed once the sums in them have `bytes` bytes on a rank. If `bytes`
/// is 0, there are no buckets.
constexpr bucket_numbers buckets_of_size(program const& p, std::int64_t bytes) {
  return buckets_of_size(p, bucket_rule{bucketing::by_bytes, bytes});
}

/// Returns the buckets with which the last synchronization ends earliest, on a link that carries no
/// other transfers (bucket_cuts.hpp). The timeline of `p` says when sums become complete. If the
/// steps of a synchronization use several links, they count as if one link carried them all.
constexpr bucket_numbers best_buckets(program const& p, machine const& m) {
  bucket_numbers numbers(p.moves.size(), -1);
  auto const queues = step_detail::synchronization_queues(p);
  if (queues.empty()) return numbers;
  auto const when = timeline_of(p, m);
  int buckets = 0;
  for (auto const& queue : queues) {
    std::vector<ready_transfer> transfers;
    for (auto const& e : queue.entries) {
      double const ready = e.action < 0 ? 0 : when.actions[static_cast<std::size_t>(e.action)].end;
      transfers.push_back(step_detail::transfer_of(p, e.move, ready, m));
    }
    step_detail::number_buckets(queue, bucket_cuts(transfers), buckets, numbers);
  }
  return numbers;
}

}  // namespace step
}  // namespace ashlar::search
