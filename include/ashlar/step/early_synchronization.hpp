// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A pass that lets the synchronization of parameters' gradients overlap with the backward pass. A
// program sums up the gradient of each parameter over the micro-batches. A synchronization is the
// redistribution of such a sum. It can begin when the gradient of the last micro-batch has been
// added.
//
//   bucket            a set of synchronizations with the same steps, whose sums become complete one
//                     after another. They begin together when their sums have `bucket_bytes`
//   unfilled bucket   begins before the first end_move of a synchronization
//   end_move          stays in place, before the updates
//
// A single redistribution forms no bucket. Redistributions without communication keep their places.
// A sum whose placement is already right has no redistribution.

#include <ashlar/step/pass.hpp>

namespace ashlar::search {
inline namespace step {

namespace step_detail {

class early_synchronization_pass {
 public:
  constexpr early_synchronization_pass(program const& p, std::int64_t bucket_bytes)
      : p_(p), changed_(p), bucket_bytes_(bucket_bytes), begin_(p.moves.size()),
        move_of_sum_(p.values.size(), -1), addends_(p.values.size(), 0) {
    changed_.actions.clear();
    for (std::size_t k = 0; k < p.moves.size(); ++k) {
      auto const& m = p.moves[k];
      bool const is_of_sum = p.value_of(m.from).kind == value_kind::sum;
      if (m.phase != phase::synchronize || !is_of_sum || p.path_of(m).is_local()) continue;
      move_of_sum_[static_cast<std::size_t>(m.from)] = static_cast<int>(k);
      changed_.moves[k].bucket = -1;
    }
  }

  constexpr program run() {
    auto const actions = unreleased(p_.actions);
    for (auto const& a : actions)
      if (a.kind == action_kind::begin_move) begin_[static_cast<std::size_t>(a.move)] = a;
    for (auto const& a : actions) {
      bool const synchronizes = a.move >= 0 && move_of_sum_[from_of(a)] == a.move;
      if (synchronizes && a.kind == action_kind::begin_move) continue;
      if (synchronizes) depart_all();
      changed_.actions.push_back(a);
      for (int const v : a.adds) add(v);
    }
    return changed_;
  }

 private:
  struct bucket {
    std::vector<int> moves;
    std::int64_t bytes = 0;
  };

  constexpr std::size_t from_of(action const& a) const {
    return static_cast<std::size_t>(p_.move_of(a).from);
  }

  constexpr void add(int sum) {
    int const k = move_of_sum_[static_cast<std::size_t>(sum)];
    if (k < 0 || ++addends_[static_cast<std::size_t>(sum)] < p_.micro_batches) return;
    auto const& path = p_.path_of(p_.moves[static_cast<std::size_t>(k)]);
    std::size_t b = 0;
    while (b < open_.size() &&
           !travel_together(p_.path_of(p_.moves[static_cast<std::size_t>(open_[b].moves.front())]),
                            path))
      ++b;
    if (b == open_.size()) open_.emplace_back();
    open_[b].moves.push_back(k);
    open_[b].bytes += p_.value_of(sum).bytes;
    if (open_[b].bytes < bucket_bytes_) return;
    depart(open_[b]);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(b));
  }

  constexpr void depart(bucket const& b) {
    for (int const k : b.moves) {
      if (b.moves.size() > 1) changed_.moves[static_cast<std::size_t>(k)].bucket = buckets_;
      changed_.actions.push_back(begin_[static_cast<std::size_t>(k)]);
    }
    if (b.moves.size() > 1) ++buckets_;
  }
  constexpr void depart_all() {
    for (auto const& b : open_) depart(b);
    open_.clear();
  }

  program const& p_;
  program changed_;
  std::int64_t bucket_bytes_;
  std::vector<action> begin_;     // the begin_move of each move
  std::vector<int> move_of_sum_;  // per sum: the move that synchronizes it; -1: none
  std::vector<int> addends_;
  std::vector<bucket> open_;  // buckets that are not full, oldest first
  int buckets_ = 0;
};

}  // namespace step_detail

/// Returns the program in which the synchronization of gradients begins as soon as the gradients
/// are complete.
///
///   bucket_bytes   A bucket begins once its sums on a rank have at least this many bytes; 0 means
///                  that there are no buckets.
///   limit          The most memory that a rank may use, in bytes; 0 means no limit. If the new
///                  program would exceed this limit, the result contains the given program.
constexpr pass_result early_synchronization(program const& p, std::int64_t bucket_bytes,
                                            std::int64_t limit = 0) {
  return step_detail::finish_pass(p, step_detail::early_synchronization_pass(p, bucket_bytes).run(),
                                  limit);
}

}  // namespace step
}  // namespace ashlar::search
