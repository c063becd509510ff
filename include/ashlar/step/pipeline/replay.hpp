// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The timeline of a pipeline schedule: when every pass and every transfer begins and ends. A pass
// begins when its part is free and what it reads has arrived. Parts compute while they send and
// receive. Between two neighbouring positions there is a link for each direction, which carries one
// transfer at a time, in the order in which the passes that make the data end.

#include <algorithm>
#include <vector>

#include <ashlar/step/pipeline/costs.hpp>
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

struct timeline {
  std::vector<std::vector<interval_of_time>> passes;  ///< as schedule::order
  std::vector<pass_number> sequence;  ///< all passes, in the order in which they end
  double seconds = 0;                 ///< when the last pass ends
  /// Whether all passes have run. If not, the parts wait for each other for ever.
  bool complete = true;
  std::vector<int> stopped_at;  ///< by position: the number of passes that have run
};

namespace detail {

/// What has to be there before a pass: the output of a neighbouring stage, and for backward passes
/// the forward pass of the same stage. Stores when it is there; a negative time means not yet.
class arrivals {
 public:
  constexpr arrivals(schedule const& s)
      : micro_batches_(static_cast<std::size_t>(s.micro_batches)),
        x_(static_cast<std::size_t>(s.stages()) * micro_batches_, -1), dy_(x_), y_(x_), dx_(x_) {}

  constexpr double& x(int stage, int m) { return x_.data()[at(stage, m)]; }  ///< input is there
  constexpr double& dy(int stage, int m) {
    return dy_.data()[at(stage, m)];
  }                                                                          ///< gradient is there
  constexpr double& y(int stage, int m) { return y_.data()[at(stage, m)]; }  ///< forward has run
  constexpr double& dx(int stage, int m) { return dx_.data()[at(stage, m)]; }  ///< backward has run

  /// Returns when the pass may begin, or a negative number if that is not known yet.
  constexpr double ready(pass what, int stage, int m) {
    if (what == pass::forward) return x(stage, m);
    if (what == pass::weight_gradient) return dx(stage, m);
    return y(stage, m) < 0 || dy(stage, m) < 0 ? -1 : std::max(y(stage, m), dy(stage, m));
  }

 private:
  constexpr std::size_t at(int stage, int m) const {
    return static_cast<std::size_t>(stage) * micro_batches_ + static_cast<std::size_t>(m);
  }
  std::size_t micro_batches_;
  scratch<double> x_, dy_, y_, dx_;
};

/// The state of a pipeline in time, to which passes are added one after another.
class pipeline_clock {
 public:
  constexpr pipeline_clock(schedule const& s, pipeline_costs const& costs)
      : schedule_(s), costs_(costs), there_(s), free_(static_cast<std::size_t>(s.positions)),
        forward_link_(free_), backward_link_(free_) {
    for (int m = 0; m < s.micro_batches; ++m) {
      there_.x(0, m) = 0;
      there_.dy(s.stages() - 1, m) = 0;
    }
  }

  /// Returns when the part can begin the pass, or a negative number if its input is not there.
  constexpr double begin_of(int position, action const& a) {
    double const ready = there_.ready(a.what, schedule_.stage_of(position, a.chunk), a.micro_batch);
    return ready < 0 ? ready : std::max(ready, free_.data()[position]);
  }

  /// Runs a pass whose input is there, and the transfer of its result.
  constexpr interval_of_time run(int position, action const& a) {
    int const stage = schedule_.stage_of(position, a.chunk), m = a.micro_batch;
    auto const& cost = costs_.data()[stage];
    double const begin = begin_of(position, a), end = begin + cost.of(a.what);
    free_.data()[position] = end;
    if (a.what == pass::forward) {
      there_.y(stage, m) = end;
      if (stage + 1 < schedule_.stages())
        there_.x(stage + 1, m) = sent(position, schedule_.position_of(stage + 1), end,
                                      cost.send_forward);
    }
    if (makes_input_gradient(a.what)) {
      there_.dx(stage, m) = end;
      if (stage > 0)
        there_.dy(stage - 1, m) = sent(position, schedule_.position_of(stage - 1), end,
                                       cost.send_backward);
    }
    return {begin, end};
  }

 private:
  /// Returns when a transfer ends that may begin at `ready`. Links are numbered by the lower of their
  /// two positions.
  constexpr double sent(int from, int to, double ready, double seconds) {
    if (from == to) return ready;
    bool const up = (to - from + schedule_.positions) % schedule_.positions == 1;
    double& link = (up ? forward_link_ : backward_link_).data()[up ? from : to];
    link = std::max(link, ready) + seconds;
    return link;
  }

  schedule const& schedule_;
  pipeline_costs const& costs_;
  arrivals there_;
  scratch<double> free_, forward_link_, backward_link_;
};

}  // namespace detail

/// Replays a schedule. Expects passes of existing chunks and micro-batches, and costs for each
/// stage. If the parts wait for each other in a circle, the timeline is not complete.
constexpr timeline replay(schedule const& s, pipeline_costs const& costs) {
  timeline t;
  t.passes.resize(s.order.size());
  scratch<std::size_t> next(s.order.size());
  detail::pipeline_clock clock(s, costs);
  // The next pass of each position, if its input is there, as a heap. The pass that ends first runs
  // first, so that links carry transfers in the order of time.
  struct candidate {
    double end;
    int position;
  };
  std::vector<candidate> ready;
  scratch<bool> is_ready(s.order.size());
  auto const comes_after = [](candidate const& a, candidate const& b) {
    return a.end != b.end ? a.end > b.end : a.position > b.position;
  };
  auto const consider = [&](int p) {
    auto const& own = s.order.data()[p];
    if (is_ready.data()[p] || next.data()[p] == own.size()) return;
    auto const& a = own.data()[next.data()[p]];
    double const begin = clock.begin_of(p, a);
    if (begin < 0) return;
    is_ready.data()[p] = true;
    ready.push_back({begin + costs.data()[s.stage_of(p, a.chunk)].of(a.what), p});
    std::push_heap(ready.begin(), ready.end(), comes_after);
  };
  for (int p = 0; p < s.positions; ++p) consider(p);
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), comes_after);
    int const first = ready.back().position;
    ready.pop_back();
    is_ready.data()[first] = false;
    auto const& a = s.order.data()[first].data()[next.data()[first]++];
    auto const done = clock.run(first, a);
    t.sequence.push_back({first, static_cast<int>(t.passes.data()[first].size())});
    t.passes.data()[first].push_back(done);
    t.seconds = std::max(t.seconds, done.end);
    // What the pass made is an input of its own stage or of a neighbouring one.
    int const stage = s.stage_of(first, a.chunk);
    consider(first);
    if (stage > 0) consider(s.position_of(stage - 1));
    if (stage + 1 < s.stages()) consider(s.position_of(stage + 1));
  }
  for (std::size_t p = 0; p < s.order.size(); ++p) {
    t.stopped_at.push_back(static_cast<int>(next.data()[p]));
    t.complete = t.complete && next.data()[p] == s.order.data()[p].size();
  }
  return t;
}

}  // namespace ashlar::pipelines
