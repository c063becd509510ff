// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A pass over a program (pass.hpp) that lets renewed parameters share messages. A renewal is the
// redistribution of a parameter from where it is updated to where it is stored. A renewal begins
// after the update. In a serial program it ends before the next renewal begins.
//
//   buckets      A bucket has renewals that consist of the same steps, in the order of the program.
//                It is closed once it has at least the given bytes on a rank.
//   in flight    Two buckets are under way at a time: one is on the links while the next one is
//                packed. More buckets would need more memory, and the links carry one bucket after
//                another anyway.
//
// Renewals without communication keep their places.

#include <ashlar/step/pass.hpp>

namespace ashlar::search {
inline namespace step {

namespace step_detail {

class early_renewal_pass {
 public:
  constexpr early_renewal_pass(program const& p, std::int64_t bucket_bytes)
      : changed_(p), begin_(p.moves.size()), end_(p.moves.size()) {
    changed_.actions.clear();
    first_bucket_ = 0;
    for (auto const& m : p.moves)
      first_bucket_ = m.bucket >= first_bucket_ ? m.bucket + 1 : first_bucket_;
    for (auto const& a : p.actions) {
      if (a.kind == action_kind::release) continue;
      if (!is_renewal(p, a)) {
        changed_.actions.push_back(a);
        continue;
      }
      auto const k = static_cast<std::size_t>(a.move);
      (a.kind == action_kind::begin_move ? begin_ : end_)[k] = a;
      if (a.kind == action_kind::begin_move) put(p, a.move, bucket_bytes);
    }
  }

  constexpr program run() {
    constexpr std::size_t under_way = 2;
    for (std::size_t b = 0; b < buckets_.size() + under_way; ++b) {
      if (b >= under_way) add(buckets_[b - under_way].moves, end_);
      if (b < buckets_.size()) add(buckets_[b].moves, begin_);
    }
    return static_cast<program&&>(changed_);
  }

 private:
  struct bucket {
    std::vector<int> moves;
    std::int64_t bytes = 0;
  };

  static constexpr bool is_renewal(program const& p, action const& a) {
    return a.move >= 0 && p.move_of(a).phase == phase::renew && !p.path_of(p.move_of(a)).is_local();
  }
  /// Puts a renewal into the last bucket of renewals with the same steps. Begins a new bucket if
  /// there is none, or if it has `bucket_bytes` bytes or more.
  constexpr void put(program const& p, int move, std::int64_t bucket_bytes) {
    auto const& path = p.path_of(p.moves[static_cast<std::size_t>(move)]);
    bucket* into = nullptr;
    for (auto& b : buckets_)
      if (travel_together(p.path_of(p.moves[static_cast<std::size_t>(b.moves[0])]), path))
        into = &b;
    if (into == nullptr || into->bytes >= bucket_bytes) into = &buckets_.emplace_back();
    into->moves.push_back(move);
    into->bytes += p.value_of(p.moves[static_cast<std::size_t>(move)].to).bytes;
    if (into->moves.size() < 2) return;
    for (int const k : into->moves)
      changed_.moves[static_cast<std::size_t>(k)].bucket = first_bucket_ +
                                                           static_cast<int>(into - buckets_.data());
  }
  constexpr void add(std::vector<int> const& moves, std::vector<action> const& which) {
    for (int const k : moves) changed_.actions.push_back(which[static_cast<std::size_t>(k)]);
  }

  program changed_;
  std::vector<action> begin_, end_;  // the begin_move and the end_move of each move
  std::vector<bucket> buckets_;
  int first_bucket_ = 0;
};

}  // namespace step_detail

/// Returns the program in which renewals travel in buckets of at least `bucket_bytes` bytes on a
/// rank, two at a time.
///
///   limit   The most memory that a rank may use, in bytes; 0 means no limit. If the new program
///           would exceed this limit, the result contains the given program.
constexpr pass_result early_renewal(program const& p, std::int64_t bucket_bytes,
                                    std::int64_t limit = 0) {
  return step_detail::finish_pass(p, step_detail::early_renewal_pass(p, bucket_bytes).run(), limit);
}

}  // namespace step
}  // namespace ashlar::search
