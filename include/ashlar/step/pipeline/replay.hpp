// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The timeline of a pipeline schedule: when every pass and every transfer begins and ends. A pass
// begins when its part is free and the tensors that it reads have arrived. Parts compute while they
// send and receive. Between two positions there is a link for each direction. A link carries one
// transfer at a time, in the order in which the sending passes end. If a pass makes a tensor for a
// neighbour and one for the other end of a skip, the neighbour's tensor goes first.
//
// After a pass that has made a tensor for another part, a part waits until it can begin the send.
// It can when the tensors of its earlier passes for the same part have been sent. So one pass of a
// part can run beside each transfer, but not two. Programs wait like this (part_order.hpp), because
// nothing but the part itself can begin the next send when an earlier one ends.

#include <algorithm>
#include <utility>
#include <vector>

#include <ashlar/step/pipeline/costs.hpp>
#include <ashlar/step/pipeline/earliest.hpp>
#include <ashlar/support/scratch.hpp>

namespace ashlar::pipelines {

struct interval_of_time {
  double begin = 0, end = 0;
};

/// The position of a part and the number of one of its passes.
struct pass_number {
  int position = 0;
  int number = 0;
};

/// A transfer of the result of a pass from one part to another.
struct transfer_time {
  int position = 0, target = 0;  ///< positions of the sending part and of the receiving part
  action what;                   ///< the pass whose result is sent
  int skip = -1;                 ///< number of the skip whose input or gradient is sent, or -1
  double begin = 0, end = 0;
};

struct timeline {
  std::vector<std::vector<interval_of_time>> passes;  ///< times of the passes in schedule::order
  std::vector<pass_number> sequence;     ///< all passes, in the order in which they end
  std::vector<transfer_time> transfers;  ///< in the order in which the sending passes end
  double seconds = 0;                    ///< the time at which the last pass ends
  /// Says whether all passes have run. If not, the parts wait for each other for ever.
  bool complete = true;
  std::vector<int> stopped_at;  ///< by position: the number of passes that have run
};

namespace detail {

/// The times at which one stage gets its tensors of one micro-batch. A negative time means that the
/// stage does not have the tensor yet.
struct arrival {
  double x = -1, dy = -1;  ///< tensors that the stage reads
  double y = -1, dx = -1;  ///< tensors that the stage makes

  /// Returns when the pass may begin, or a negative number if that is not known yet.
  constexpr double ready(pass what) const {
    if (what == pass::forward) return x;
    if (what == pass::weight_gradient) return dx;
    return y < 0 || dy < 0 ? -1 : std::max(y, dy);
  }
};

/// Simulates a pipeline. Passes are added one after another. The clock knows when each part and
/// each link becomes free, and when each tensor has arrived.
class pipeline_clock {
 public:
  /// Makes a clock at time 0, before any pass. Adds each later transfer to `sent`, unless `sent` is
  /// null.
  constexpr pipeline_clock(schedule const& s, pipeline_costs const& costs,
                           skip_transfers const& skips = {},
                           std::vector<transfer_time>* sent = nullptr)
      : schedule_(s), costs_(costs), skips_(skips), sent_(sent),
        stages_(static_cast<std::size_t>(s.stages())),
        there_(stages_ * static_cast<std::size_t>(s.micro_batches)),
        skipped_(skips.size() * static_cast<std::size_t>(s.micro_batches)),
        free_(static_cast<std::size_t>(s.positions)), links_(2 * (free_.size() + skips.size())),
        sender_(links_.size()), forward_link_(stages_, none), backward_link_(stages_, none) {
    for (int m = 0; m < s.micro_batches; ++m) {
      at(0, m).x = 0;
      at(s.stages() - 1, m).dy = 0;
    }
    for (int stage = 0; stage + 1 < s.stages(); ++stage) {
      int const from = s.position_of(stage), to = s.position_of(stage + 1);
      if (from == to) continue;
      forward_link_.data()[stage] = link(from, to);
      backward_link_.data()[stage + 1] = link(to, from);
    }
  }

  /// Returns when the part can begin the pass, or a negative number if the time at which its input
  /// arrives is not known yet.
  constexpr double begin_of(int position, action const& a) {
    double const ready = ready_of(schedule_.stage_of(position, a.chunk), a);
    return ready < 0 ? ready : std::max(ready, free_.data()[position]);
  }

  /// Returns when the part has ended the passes that it has run so far and can begin the sends of
  /// the last one.
  constexpr double free_at(int position) const { return free_.data()[position]; }

  /// Runs a pass whose input has arrived, and the transfers of its results.
  constexpr interval_of_time run(int position, action const& a) {
    int const stage = schedule_.stage_of(position, a.chunk), m = a.micro_batch;
    auto& own = at(stage, m);
    auto const& cost = costs_.data()[stage];
    double const begin = std::max(ready_of(stage, a), free_.data()[position]);
    double const end = begin + cost.of(a.what);
    double& free = free_.data()[position];
    free = end;
    ++passes_;
    // Returns when the tensor for stage `to` arrives. If the link still carries a tensor of an
    // earlier pass, the part becomes free only when the link does.
    auto const send = [&](int link, double seconds, int to, int skip) {
      if (link == none) return end;
      double& busy = links_.data()[link];
      if (std::exchange(sender_.data()[link], passes_) != passes_) free = std::max(free, busy);
      busy = std::max(free, busy) + seconds;
      if (sent_ != nullptr)
        sent_->push_back({position, schedule_.position_of(to), a, skip, busy - seconds, busy});
      return busy;
    };
    if (a.what == pass::forward) {
      own.y = end;
      if (stage + 1 < static_cast<int>(stages_))
        at(stage + 1, m).x = send(forward_link_.data()[stage], cost.send_forward, stage + 1, none);
    }
    if (makes_input_gradient(a.what)) {
      own.dx = end;
      if (stage > 0)
        at(stage - 1, m).dy = send(backward_link_.data()[stage], cost.send_backward, stage - 1,
                                   none);
    }
    for (int k = 0; k < static_cast<int>(skips_.size()); ++k) {
      auto const& it = skips_.data()[k];
      if (a.what == pass::forward && it.from == stage)
        skipped(k, m).x = send(link_of_skip(k, it.from, it.to), it.forward, it.to, k);
      if (makes_input_gradient(a.what) && it.to == stage)
        skipped(k, m).dy = send(link_of_skip(k, it.to, it.from), it.backward, it.from, k);
    }
    return {begin, end};
  }

 private:
  static constexpr int none = -1;

  /// Returns when all tensors that a pass reads have arrived, or a negative number if that is not
  /// known yet.
  constexpr double ready_of(int stage, action const& a) const {
    auto const m = static_cast<std::size_t>(a.micro_batch);
    double ready = there_.data()[m * stages_ + static_cast<std::size_t>(stage)].ready(a.what);
    for (std::size_t k = 0; k < skips_.size() && ready >= 0; ++k) {
      auto const& it = skips_.data()[k];
      auto const& arrives = skipped_.data()[m * skips_.size() + k];
      double other = 0;
      if (a.what == pass::forward && it.to == stage) other = arrives.x;
      if (makes_input_gradient(a.what) && it.from == stage) other = arrives.dy;
      ready = other < 0 ? other : std::max(ready, other);
    }
    return ready;
  }
  constexpr arrival& skipped(int k, int m) {
    return skipped_
        .data()[static_cast<std::size_t>(m) * skips_.size() + static_cast<std::size_t>(k)];
  }
  /// Returns the number of the link that carries the tensors of skip k (skip_transfer in costs.hpp)
  /// from stage `from` to stage `to`. Two parts that are not neighbours have a link of their own.
  /// Its number follows from the first skip that connects the two parts.
  constexpr int link_of_skip(int k, int from, int to) const {
    int const p = schedule_.position_of(from), q = schedule_.position_of(to),
              n = schedule_.positions;
    if (p == q) return none;
    if ((q - p + n) % n == 1 || (p - q + n) % n == 1) return link(p, q);
    for (int j = 0; j < k; ++j) {
      int const a = schedule_.position_of(skips_.data()[j].from),
                b = schedule_.position_of(skips_.data()[j].to);
      if ((a == p && b == q) || (a == q && b == p)) k = j;
    }
    return 2 * (n + k) + (p < q);
  }

  // The entries of all stages of one micro-batch lie side by side, since they are read together.
  constexpr arrival& at(int stage, int m) {
    return there_.data()[static_cast<std::size_t>(m) * stages_ + static_cast<std::size_t>(stage)];
  }
  /// Returns the number of the link from one position to a neighbouring one. Two links go out from
  /// each position.
  constexpr int link(int from, int to) const {
    return 2 * from + ((to - from + schedule_.positions) % schedule_.positions == 1);
  }

  schedule const& schedule_;
  pipeline_costs const& costs_;
  skip_transfers skips_;
  std::vector<transfer_time>* sent_;
  std::size_t stages_;
  scratch<arrival> there_;
  scratch<arrival> skipped_;      // by micro-batch and skip: arrivals of the skip's x and dy
  scratch<double> free_, links_;  // when each part and each link becomes free
  scratch<int> sender_;           // by link: the pass that sent over it last
  int passes_ = 0;                // number of passes that have run
  scratch<int> forward_link_, backward_link_;  // the links that carry y and dx of each stage
};

}  // namespace detail

/// Replays a schedule. Expects passes of existing chunks and micro-batches, costs for each stage,
/// and the skips between stages whose values are sent, if there are any. If the parts wait for each
/// other in a circle, the timeline is not complete.
constexpr timeline replay(schedule const& s, pipeline_costs const& costs,
                          skip_transfers const& skips = {}) {
  timeline t;
  t.passes.resize(s.order.size());
  scratch<std::size_t> next(s.order.size());
  detail::pipeline_clock clock(s, costs, skips, &t.transfers);
  detail::earliest ends(s.positions);  // by position: end of the next pass, or `never` if unknown
  auto const look = [&](int p) {
    auto const& own = s.order.data()[p];
    double end = detail::earliest::never;
    if (next.data()[p] < own.size()) {
      auto const& a = own.data()[next.data()[p]];
      if (double const begin = clock.begin_of(p, a); begin >= 0)
        end = begin + costs.data()[s.stage_of(p, a.chunk)].of(a.what);
    }
    ends.set(p, end);
  };
  for (int p = 0; p < s.positions; ++p) look(p);
  for (;;) {
    // Of the next passes of all parts, the one with the earliest end runs. So `sequence` has the
    // passes in the order of their ends.
    int const first = ends.first();
    if (ends.at(first) == detail::earliest::never) break;
    auto const done = clock.run(first, s.order.data()[first].data()[next.data()[first]++]);
    t.sequence.push_back({first, static_cast<int>(t.passes.data()[first].size())});
    t.passes.data()[first].push_back(done);
    t.seconds = std::max(t.seconds, done.end);
    for (int const by : {0, 1, s.positions - 1}) look((first + by) % s.positions);
  }
  for (std::size_t p = 0; p < s.order.size(); ++p) {
    t.stopped_at.push_back(static_cast<int>(next.data()[p]));
    t.complete = t.complete && next.data()[p] == s.order.data()[p].size();
  }
  return t;
}

/// Returns when the last pass of each position ends, as in replay(s, costs, skips), or an empty
/// list if its timeline is not complete. This function is faster than replay, because it does not
/// compute the passes of different parts in the order of time. Their order does not change the
/// result, since each link has one sender.
constexpr std::vector<double> ends_of(schedule const& s, pipeline_costs const& costs,
                                      skip_transfers const& skips = {}) {
  scratch<std::size_t> next(s.order.size());
  detail::pipeline_clock clock(s, costs, skips);
  std::vector<double> ends(s.order.size());
  std::size_t left = 0;
  for (auto const& own : s.order) left += own.size();
  for (bool moved = true, down = true; moved; down = !down) {
    moved = false;
    for (int k = 0; k < s.positions; ++k) {
      int const p = down ? k : s.positions - 1 - k;
      auto const& own = s.order.data()[p];
      for (auto& n = next.data()[p]; n < own.size() && clock.begin_of(p, own.data()[n]) >= 0;
           --left) {
        ends.data()[p] = clock.run(p, own.data()[n++]).end;
        moved = true;
      }
    }
  }
  if (left > 0) ends.clear();
  return ends;
}

/// Returns the seconds of replay(s, costs, skips), or a negative number if its timeline is not
/// complete.
constexpr double seconds_of(schedule const& s, pipeline_costs const& costs,
                            skip_transfers const& skips = {}) {
  double last = -1;
  for (double const end : ends_of(s, costs, skips)) last = std::max(last, end);
  return last;
}

}  // namespace ashlar::pipelines
