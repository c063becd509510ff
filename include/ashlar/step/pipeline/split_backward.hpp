// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Schedules that split the backward pass in two (zero bubble pipelines, Qi et al. 2023). The stage
// before waits for the gradient of the input (I). No stage waits for the gradients of the
// parameters (W). Two limits bound the memory of each position. A micro-batch counts once for each
// chunk of the part (schedule.hpp):
//
//   ahead   micro-batches whose forward pass has run, but not the gradient of the input
//   held    micro-batches whose forward pass has run, but not the gradients of the parameters
//
// The limits of position j of s positions:
//
//   zb_h1   ahead s - j, held s                 the memory that the first stage has with 1F1B
//   zb_h2   ahead 2 (s - j) - 1, held 2 s - 1   about twice the memory of zb_h1
//   zb_v    ahead 2 s, held 2 s                 two chunks per part in a vee; the memory of zb_h1
//
// An order is made by a simulation with given costs. Whenever a part is free, it runs the most
// urgent pass whose input has arrived: I before F before W, and a later chunk before an earlier
// one. Orders with these two variations are tried too, and the shortest of all is returned:
//
//   in turn   a part whose limits permit a forward pass waits for the input of this pass before it
//             runs the next I, so that F and I alternate as in 1F1B
//   waiting   W comes before F while more than a certain number of W wait. This number is larger
//             at later positions

#include <algorithm>
#include <limits>
#include <string>

#include <ashlar/step/pipeline/bound.hpp>
#include <ashlar/step/pipeline/earliest.hpp>
#include <ashlar/step/pipeline/replay.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::pipelines {

struct split_limits {
  int ahead = 1, held = 1;
};

namespace detail {

inline constexpr double most_split_passes = 3e6;  // limit for the passes of all tried orders

class split_builder {
 public:
  constexpr split_builder(schedule shape, pipeline_costs const& costs, skip_transfers const& skips,
                          std::vector<split_limits> const& limits, int waiting, bool in_turn)
      : made_(static_cast<schedule&&>(shape)), costs_(costs), limits_(limits), waiting_(waiting),
        in_turn_(in_turn), next_(static_cast<std::size_t>(made_.stages())),
        urgent_(static_cast<std::size_t>(made_.positions)), begins_(made_.positions),
        left_(urgent_.size()), clock_(made_, costs_, skips) {
    made_.order.resize(urgent_.size());
    for (int stage = 0; stage < made_.stages(); ++stage)
      left_.data()[made_.position_of(stage)] += made_.micro_batches * costs_.data()[stage].all();
  }
  split_builder(split_builder const&) = delete;  // the clock refers to the schedule
  split_builder& operator=(split_builder const&) = delete;

  /// Returns the order. Returns an empty one if at some time the limits permit no pass, or if the
  /// order takes at least `most` seconds.
  constexpr schedule run(double most) {
    for (int p = 0; p < made_.positions; ++p) look(p);
    for (int left = 3 * made_.stages() * made_.micro_batches; left > 0; --left) {
      int const where = begins_.first();
      if (begins_.at(where) == earliest::never) return {};
      auto const a = urgent_.data()[where];
      int const stage = made_.stage_of(where, a.chunk);
      auto const done = clock_.run(where, a);
      if (done.begin + left_.data()[where] >= most) return {};
      left_.data()[where] -= done.end - done.begin;
      seconds_ = std::max(seconds_, done.end);
      made_.order.data()[where].push_back(a);
      ++next_.data()[stage].of(a.what);
      look(where);
      int const reader = a.what == pass::forward          ? stage + 1
                         : a.what == pass::input_gradient ? stage - 1
                                                          : -1;
      if (reader >= 0 && reader < made_.stages()) look(made_.position_of(reader));
    }
    return static_cast<schedule&&>(made_);
  }
  /// Returns when the last pass ends.
  constexpr double seconds() const { return seconds_; }

 private:
  /// The next micro-batch of each pass of a stage.
  struct progress {
    int forward = 0, input = 0, weight = 0;
    constexpr int& of(pass p) {
      return p == pass::forward ? forward : p == pass::input_gradient ? input : weight;
    }
  };

  /// Finds the pass that the part at `position` runs next, and the start of this pass.
  constexpr void look(int position) {
    // A new micro-batch needs room in all chunks. Each micro-batch in flight also has room reserved
    // in the chunks that it has not reached.
    int ahead = made_.chunks - 1, held = ahead;
    bool may_more = false;
    for (int c = 0; c < made_.chunks; ++c) {
      auto const& own = next_.data()[made_.stage_of(position, c)];
      ahead += own.forward - own.input;
      held += own.forward - own.weight;
      may_more = may_more || own.forward < made_.micro_batches;
      if (c > 0) {
        int const reserved = next_.data()[made_.stage_of(position, 0)].forward - own.forward;
        ahead += reserved;
        held += reserved;
      }
    }
    auto const& limit = limits_.data()[position];
    bool const may_forward = ahead < limit.ahead && held < limit.held;
    bool const is_late = held - ahead > waiting_ + position;
    action& urgent = urgent_.data()[position];
    double first = earliest::never;
    for (pass const what : {pass::input_gradient, is_late ? pass::weight_gradient : pass::forward,
                            is_late ? pass::forward : pass::weight_gradient})
      for (int c = made_.chunks - 1; c >= 0; --c) {
        int const m = next_.data()[made_.stage_of(position, c)].of(what);
        if (m == made_.micro_batches || (what == pass::forward && c == 0 && !may_forward)) continue;
        if (what == pass::input_gradient && in_turn_ && may_forward && may_more) continue;
        action const a{what, m, c};
        double const begin = clock_.begin_of(position, a);
        if (begin < 0 || begin >= first) continue;
        first = begin;
        urgent = a;
        if (begin == clock_.free_at(position)) return begins_.set(position, begin);
      }
    begins_.set(position, first);
  }

  schedule made_;
  pipeline_costs const& costs_;
  std::vector<split_limits> const& limits_;
  int waiting_;
  bool in_turn_;
  scratch<progress> next_;
  scratch<action> urgent_;  // the next pass of each position
  earliest begins_;         // the start of the next pass of each position
  scratch<double> left_;    // seconds of all passes of each position that are still to come
  double seconds_ = 0;
  pipeline_clock clock_;
};

}  // namespace detail

/// Returns the shortest order found, or the first one that reaches the bound (bound.hpp). `costs`
/// has an entry for each stage and `limits` one for each position. `skips` has the transfers of
/// skips between stages. Throws ashlar::error if a limit is below the number of chunks, so that not
/// even one micro-batch has room, or if no order is found within the limits.
constexpr schedule split_backward(int positions, int micro_batches, int chunks, wiring wired,
                                  pipeline_costs const& costs,
                                  std::vector<split_limits> const& limits,
                                  skip_transfers const& skips = {}) {
  for (std::size_t p = 0; p < limits.size(); ++p) {
    auto const& own = limits.data()[p];
    if (own.ahead < chunks || own.held < chunks)
      throw error("pipelines::split_backward", "position " + std::to_string(p) + " may have " +
                                                   std::to_string(std::min(own.ahead, own.held)) +
                                                   " in flight, but one micro-batch needs " +
                                                   std::to_string(chunks) +
                                                   ", one for each chunk. Raise the limit.");
  }
  schedule best{positions, micro_batches, chunks, wired, {}};
  double const least = bound(best, costs, true, skips) * (1 + 1e-12);
  double seconds = std::numeric_limits<double>::infinity();
  int best_waiting = 0;
  bool best_in_turn = false;
  auto const attempt = [&](int waiting, bool in_turn) {
    if (seconds <= least) return;
    detail::split_builder builder({positions, micro_batches, chunks, wired, {}}, costs, skips,
                                  limits, waiting, in_turn);
    auto made = builder.run(seconds);
    if (made.order.empty()) return;
    best = static_cast<schedule&&>(made);
    seconds = builder.seconds();
    best_waiting = waiting;
    best_in_turn = in_turn;
  };
  // These variants are the best ones if all stages are equal and transfers take no time.
  for (bool const in_turn : {false, true})
    for (int const waiting : {0, positions - 1}) attempt(waiting, in_turn);
  // If orders are long, only every by-th number of waiting W is tried, and then some numbers near
  // the best one.
  int const most = chunks * positions;
  double const all = 2. * (positions + most + 1) * 3 * most * micro_batches;
  int by = 1;
  while (by < positions && all / by > detail::most_split_passes) by *= 2;
  for (bool const in_turn : {false, true})
    for (int waiting = -positions; waiting <= most; waiting += by) attempt(waiting, in_turn);
  for (by /= 2; by > 0; by /= 2)
    for (int const waiting : {best_waiting - by, best_waiting + by}) attempt(waiting, best_in_turn);
  if (best.order.empty())
    throw error("pipelines::split_backward",
                "within these limits the positions wait for each other for ever. Raise them.");
  return best;
}

namespace detail {

template <class Limits>
constexpr schedule split_with(int positions, int micro_batches, int chunks, wiring wired,
                              pipeline_costs costs, skip_transfers const& skips, Limits const& of) {
  if (costs.empty()) costs = equal_costs(positions * chunks, 0);
  std::vector<split_limits> limits;
  for (int j = 0; j < positions; ++j) limits.push_back(of(j));
  return split_backward(positions, micro_batches, chunks, wired, costs, limits, skips);
}

}  // namespace detail

/// zb_h1, zb_h2 and zb_v return a schedule with the limits in the table at the top of this file.
/// `costs` has an entry for each stage, and `skips` has the transfers of skips between stages. If
/// `costs` is empty, all passes take equal time, and transfers between neighbours take none. In
/// zb_h1 and zb_h2, no stage has more than `most` micro-batches in flight.
constexpr schedule zb_h1(int positions, int micro_batches, pipeline_costs const& costs = {},
                         int most = std::numeric_limits<int>::max(),
                         skip_transfers const& skips = {}) {
  return detail::split_with(
      positions, micro_batches, 1, wiring::straight, costs, skips, [&](int j) {
        return split_limits{std::min(positions - j, most), std::min(positions, most)};
      });
}
constexpr schedule zb_h2(int positions, int micro_batches, pipeline_costs const& costs = {},
                         int most = std::numeric_limits<int>::max(),
                         skip_transfers const& skips = {}) {
  return detail::split_with(positions, micro_batches, 1, wiring::straight, costs, skips,
                            [&](int j) {
                              return split_limits{std::min(2 * (positions - j) - 1, most),
                                                  std::min(2 * positions - 1, most)};
                            });
}
constexpr schedule zb_v(int positions, int micro_batches, pipeline_costs const& costs = {},
                        skip_transfers const& skips = {}) {
  return detail::split_with(positions, micro_batches, 2, wiring::vee, costs, skips, [&](int) {
    return split_limits{2 * positions, 2 * positions};
  });
}

}  // namespace ashlar::pipelines
