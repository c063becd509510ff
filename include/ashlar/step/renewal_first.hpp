// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A pass that overlaps renewals with the forward pass of the next step. A renewal is the
// redistribution of a parameter from the placement of its update to the placement of its storage.
// In the given program all renewals follow the updates, and every rank waits for them. In the new
// program the renewals are at the start of the step, and each renewal ends before the first action
// that reads the stored parameter:
//
//   buckets      Renewals with the same collective steps form buckets, cut so that the forward pass
//                waits least (renewal_cuts.hpp). The cuts assume that no other renewals use the
//                links.
//   begin_move   The first buckets, at most `under_way`, begin with the step. The others follow in
//                the order of first use: each begins when the oldest bucket under way ends.
//   end_move     All renewals of a bucket end before the first action that reads one of its
//                parameters.
//
// The flag program::renews_first marks the new program. Between two of its steps, stored parameters
// lack the last update, so code that reads them there must renew them first (nn::model). The first
// step renews parameters although they are up to date, so that all steps move the same bytes.
//
// The pass does not change the programs of a pipeline's parts, since tied parameters cross between
// the parts.

#include <algorithm>
#include <vector>

#include <ashlar/step/pass.hpp>
#include <ashlar/step/renewal_cuts.hpp>
#include <ashlar/step/transfer.hpp>

namespace ashlar::search {
inline namespace step {

namespace step_detail {

class renewal_first_pass {
 public:
  /// The cuts between buckets are chosen among at most this many renewals with the same steps. If
  /// there are more, renewals whose parameters are used one after the other are joined first.
  static constexpr std::size_t most_cut = 128;

  constexpr renewal_first_pass(program const& p, machine const& m, int under_way)
      : p_(p), machine_(m), under_way_(static_cast<std::size_t>(under_way)), changed_(p),
        begin_(p.moves.size()), end_(p.moves.size()) {
    changed_.actions.clear();
    changed_.renews_first = true;
    for (auto const& a : unreleased(p.actions)) {
      if (a.move < 0 || p.move_of(a).phase != phase::renew) {
        others_.push_back(a);
        continue;
      }
      auto const k = static_cast<std::size_t>(a.move);
      (a.kind == action_kind::begin_move ? begin_ : end_)[k] = a;
      changed_.moves[k].bucket = -1;
    }
  }

  constexpr program run() {
    make_buckets();
    number_buckets();
    std::size_t begun = 0, ended = 0;
    for (; begun < buckets_.size() && begun < under_way_; ++begun) add(buckets_[begun], begin_);
    for (std::size_t i = 0; i < others_.size(); ++i) {
      for (; ended < buckets_.size() && buckets_[ended].first_use == i; ++ended) {
        if (begun == ended) add(buckets_[begun++], begin_);
        add(buckets_[ended], end_);
        if (begun < buckets_.size()) add(buckets_[begun++], begin_);
      }
      changed_.actions.push_back(others_[i]);
    }
    return static_cast<program&&>(changed_);
  }

 private:
  struct renewal {
    int move = 0;
    std::size_t first_use = 0;  ///< index in others_
  };
  struct bucket {
    std::vector<int> moves;
    std::size_t first_use = 0;
  };

  constexpr redistribution_plan const& path(int move) const {
    return p_.path_of(p_.moves[static_cast<std::size_t>(move)]);
  }

  /// Returns the renewals in the order in which the step needs their results.
  constexpr std::vector<renewal> in_order_of_use() const {
    std::vector<std::size_t> first_use(p_.values.size(), others_.size());
    std::size_t first_update = others_.size();
    for (std::size_t i = others_.size(); i-- > 0;) {
      for (int const v : others_[i].reads) first_use[static_cast<std::size_t>(v)] = i;
      if (others_[i].kind == action_kind::update) first_update = i;
    }
    std::vector<renewal> list;
    for (std::size_t k = 0; k < p_.moves.size(); ++k) {
      auto const& m = p_.moves[k];
      if (m.phase != phase::renew) continue;
      renewal made{static_cast<int>(k), first_update};
      for (std::size_t v = 0; v < p_.values.size(); ++v) {
        auto const& is = p_.values[v];
        if (is.kind == value_kind::stored && is.element == m.element && is.index == m.index)
          made.first_use = std::min(made.first_use, first_use[v]);
      }
      list.push_back(made);
    }
    std::sort(list.begin(), list.end(), [](renewal const& a, renewal const& b) {
      return a.first_use != b.first_use ? a.first_use < b.first_use : a.move < b.move;
    });
    return list;
  }

  constexpr void make_buckets() {
    std::vector<std::vector<renewal>> queues;  // each has renewals with the same steps
    for (auto const& r : in_order_of_use()) {
      std::size_t q = 0;
      while (q < queues.size() && !travel_together(path(queues[q][0].move), path(r.move))) ++q;
      if (q == queues.size()) queues.emplace_back();
      queues[q].push_back(r);
    }
    for (auto const& queue : queues) cut(queue);
    std::sort(buckets_.begin(), buckets_.end(), [](bucket const& a, bucket const& b) {
      return a.first_use != b.first_use ? a.first_use < b.first_use : a.moves[0] < b.moves[0];
    });
  }

  /// Cuts renewals with the same steps into buckets.
  constexpr void cut(std::vector<renewal> const& queue) {
    std::size_t const together = (queue.size() + most_cut - 1) / most_cut;
    std::vector<renewed_parameter> list;
    double latency = 0;
    for (std::size_t k = 0; k < queue.size(); ++k) {
      auto const takes = carried_time(path(queue[k].move), p_.mesh, machine_);
      latency = std::max(latency, takes.latency);
      std::size_t const next = k + 1 < queue.size() ? queue[k + 1].first_use : others_.size();
      double work = 0;
      for (std::size_t i = queue[k].first_use; i < next; ++i)
        if (others_[i].phase == phase::forward) work += others_[i].seconds;
      if (k % together == 0) list.emplace_back();
      list.back().seconds += takes.rest;
      list.back().work += work;
    }
    std::size_t begin = 0;
    for (int const end : renewal_cuts(list, latency).ends) {
      std::size_t const last = std::min(queue.size(), static_cast<std::size_t>(end) * together);
      buckets_.push_back({{}, queue[begin].first_use});
      for (; begin < last; ++begin) buckets_.back().moves.push_back(queue[begin].move);
    }
  }

  constexpr void number_buckets() {
    int number = 0;
    for (auto const& m : changed_.moves) number = std::max(number, m.bucket + 1);
    for (auto const& b : buckets_) {
      if (b.moves.size() < 2) continue;
      for (int const k : b.moves) changed_.moves[static_cast<std::size_t>(k)].bucket = number;
      ++number;
    }
  }

  constexpr void add(bucket const& b, std::vector<action> const& which) {
    for (int const k : b.moves) changed_.actions.push_back(which[static_cast<std::size_t>(k)]);
  }

  program const& p_;
  machine const& machine_;
  std::size_t under_way_;
  program changed_;
  std::vector<action> begin_, end_;  // begin_move and end_move of each move
  std::vector<action> others_;       // all other actions
  std::vector<bucket> buckets_;
};

}  // namespace step_detail

/// Returns the program in which renewals overlap with the forward pass, at most `under_way` >= 1
/// buckets at a time. Expects a program whose renewals follow its updates. Machine `m` gives the
/// seconds of the renewals.
///
///   limit   The most memory that a rank may use, in bytes; 0 means no limit. If the new program
///           would exceed this limit, the result contains the given program.
constexpr pass_result renewal_first(program const& p, machine const& m, int under_way,
                                    std::int64_t limit = 0) {
  if (!p.crossings.empty()) return {p, false, "it is a part of a pipeline"};
  return step_detail::finish_pass(p, step_detail::renewal_first_pass(p, m, under_way).run(), limit);
}

}  // namespace step
}  // namespace ashlar::search
