// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the builders of pipeline schedules: the check must accept their schedules. Also tests the
// numbers of micro-batches in flight, and the closed forms of DualPipeV's bubble.

#include <algorithm>
#include <limits>
#include <string>

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/step/pipeline/best_warm_ups.hpp>
#include <ashlar/step/pipeline/check.hpp>
#include <ashlar/step/pipeline/in_flight.hpp>

#include "step_pipeline_schedules.hpp"

namespace ashlar_test {
namespace {

using namespace ashlar::pipelines;

/// Counts the micro-batches that each stage has in flight in a replay. A micro-batch is in flight
/// if its forward pass has begun, and the pass that computes the gradient of the input (`ahead`) or
/// the gradients of the weights (`held`) has not ended.
std::vector<flight> in_flight_in_time(schedule const& s) {
  auto const t = replay(s, equal(s.stages(), 1, 1.25, 0.75, 0.5));
  std::vector<flight> each;
  for (int stage = 0; stage < s.stages(); ++stage) {
    auto const p = static_cast<std::size_t>(s.position_of(stage));
    std::vector<double> begins, inputs, weights;
    for (std::size_t k = 0; k < s.order[p].size(); ++k) {
      auto const& a = s.order[p][k];
      if (a.chunk != s.chunk_of(stage)) continue;
      if (a.what == pass::forward) begins.push_back(t.passes[p][k].begin);
      if (makes_input_gradient(a.what)) inputs.push_back(t.passes[p][k].end);
      if (makes_weight_gradient(a.what)) weights.push_back(t.passes[p][k].end);
    }
    flight most;
    for (double const now : begins) {
      auto const count = [&](std::vector<double> const& ends) {
        int open = 0;
        for (std::size_t m = 0; m < ends.size(); ++m) open += begins[m] <= now && now < ends[m];
        return open;
      };
      most.ahead = std::max(most.ahead, count(inputs));
      most.held = std::max(most.held, count(weights));
    }
    each.push_back(most);
  }
  return each;
}

/// Returns the seconds of a schedule if a forward pass and a whole backward pass that follows it
/// directly are one combined pass. A combined pass begins when the inputs of both passes are there,
/// and gives both results when it ends.
double seconds_in_pairs(schedule const& s, stage_costs const& cost) {
  double const never = std::numeric_limits<double>::infinity();
  auto const cells = static_cast<std::size_t>(s.stages() * s.micro_batches);
  std::vector<double> y(cells, never), dx(cells, never), free(s.order.size(), 0);
  auto const at = [&](int stage, int m) {
    return static_cast<std::size_t>(stage * s.micro_batches + m);
  };
  std::vector<std::size_t> next(s.order.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t p = 0; p < s.order.size(); ++p) {
      auto const& own = s.order[p];
      if (next[p] == own.size()) continue;
      auto const first = next[p];
      auto const end = first + 1 < own.size() && own[first].what == pass::forward &&
                               own[first + 1].what == pass::backward
                           ? first + 2
                           : first + 1;
      double begin = free[p], length = 0;
      for (auto k = first; k < end; ++k) {
        int const stage = s.stage_of(static_cast<int>(p), own[k].chunk), m = own[k].micro_batch;
        length += cost.of(own[k].what);
        if (own[k].what == pass::forward && stage > 0) begin = std::max(begin, y[at(stage - 1, m)]);
        if (own[k].what == pass::weight_gradient) begin = std::max(begin, dx[at(stage, m)]);
        if (!makes_input_gradient(own[k].what)) continue;
        begin = std::max(begin, y[at(stage, m)]);
        if (stage + 1 < s.stages()) begin = std::max(begin, dx[at(stage + 1, m)]);
      }
      if (begin == never) continue;
      free[p] = begin + length;
      for (auto k = first; k < end; ++k) {
        int const stage = s.stage_of(static_cast<int>(p), own[k].chunk), m = own[k].micro_batch;
        if (own[k].what == pass::forward) y[at(stage, m)] = free[p];
        if (makes_input_gradient(own[k].what)) dx[at(stage, m)] = free[p];
      }
      next[p] = end;
      moved = true;
    }
  }
  for (std::size_t p = 0; p < s.order.size(); ++p)
    if (next[p] < s.order[p].size()) return never;
  return *std::max_element(free.begin(), free.end());
}

}  // namespace

TEST_CASE(
    "the check accepts what every builder makes, up to 8 positions, 32 micro-batches, 4 chunks") {
  std::string first;
  auto const look = [&](schedule const& made) {
    auto const fault = fault_of(made);
    if (first.empty() && !fault.empty()) first = fault + "\n" + to_string(made);
  };
  int looked_at = 0;
  for (int s = 1; s <= 8; ++s)
    for (int m = 1; m <= 32; ++m) {
      for (auto const& made : all_schedules(s, m)) look(made), ++looked_at;
      auto const costs = equal(s, 1, 1, 1, 0.75);
      look(with_warm_ups(best_warm_ups(m, costs, std::vector<int>(std::size_t(s), m)), m));
      // split_backward permits any number of chunks.
      if (m == 1 || m == s + 1 || m == 32)
        for (int v = 1; v <= 4; ++v)
          for (auto const wired : {wiring::straight, wiring::vee})
            for (int const more : {0, s})
              look(split_backward(s, m, v, wired, equal(s * v, 1, 1.5, 0.5, 0.25),
                                  std::vector<split_limits>(std::size_t(s), {v + more, v + more})));
    }
  CHECK(looked_at > 1700);
  CHECK_MESSAGE(first.empty(), first);
}

TEST_CASE("in flight: closed forms") {
  for (int s = 1; s <= 8; ++s)
    for (int m = 1; m <= 20; ++m)
      for (int j = 0; j < s; ++j) {
        CAPTURE(s);
        CAPTURE(m);
        CAPTURE(j);
        auto const both = [&](int n) { return flight{std::min(m, n), std::min(m, n)}; };
        CHECK(in_flight(gpipe(s, m), j) == both(m));
        CHECK(in_flight(one_f_one_b(s, m), j) == both(s - j));
        CHECK(in_flight(eager(s, m), j) == both(2 * (s - j) - 1));
        if (m % 4 != 0) continue;
        auto const h1 = in_flight(zb_h1(s, m), j), h2 = in_flight(zb_h2(s, m), j);
        CHECK(h1.ahead == std::min(m, s - j));
        CHECK(h1.held <= std::min(m, s));
        CHECK(h2.ahead <= std::min(m, 2 * (s - j) - 1));
        CHECK(h2.held <= std::min(m, 2 * s - 1));
        CHECK(h2.held >= h2.ahead);
        if (m < 2 * s) continue;
        // There are 2 * s stages, two on each part. A stage has as many micro-batches in flight as
        // under 1F1B with 2 * s stages, so both stages of a part together have 2 * s + 1.
        auto const dual = dual_pipe_v(s, m);
        CHECK(in_flight(dual, j) == both(2 * s - j));
        CHECK(in_flight(dual, 2 * s - 1 - j) == both(j + 1));
      }
  static_assert(in_flight(one_f_one_b(4, 16), 1) == flight{3, 3});
  static_assert(in_flight(dual_pipe_v(2, 4))[0] == flight{4, 4});
}

TEST_CASE("in flight: as counted in the time of a replay") {
  for (int s = 1; s <= 5; ++s)
    for (int m : {1, 3, 8, 10})
      for (auto const& made : all_schedules(s, m))
        CHECK(in_flight(made) == in_flight_in_time(made));
  auto const split = parse_schedule("0: F0 F1 I0 F2 I1 W0 I2 W1 W2");
  CHECK(in_flight(split, 0) == flight{2, 3});
}

TEST_CASE("DualPipeV has the published bubble") {
  for (int s = 1; s <= 8; ++s)
    for (int m : {2 * s, 2 * s + 1, 4 * s})
      for (auto const& c : {stage_costs{1, 1, 1, 0, 0}, {1, 1.5, 1, 0, 0}, {1, 1.25, 0.75, 0, 0}}) {
        auto const made = dual_pipe_v(s, m);
        double const b = c.of(pass::backward), w = c.weight_gradient;
        CAPTURE(s);
        CAPTURE(m);
        CHECK(seconds_in_pairs(made, c) - 2 * m * c.all() ==
              doctest::Approx((s - 1) * (c.forward + b + b - 3 * w)));
      }
  // Here the two passes of a pair are separate: the forward pass sends before the backward pass
  // begins.
  for (int s = 1; s <= 8; ++s)
    for (int m : {2 * s, 2 * s + 1, 4 * s})
      CHECK(seconds_of(dual_pipe_v(s, m), equal(2 * s, 1, 1, 1, 0)) ==
            doctest::Approx(6 * m + (s - 1)));
  // Checks the order of the passes at the second of two positions.
  CHECK(to_string(dual_pipe_v(2, 4))
            .find("1: F0 F0.1 F1 F1.1 F2 B0.1 F2.1 B0 F3 B1.1 F3.1 B1 B2.1 B2 I3.1 I3 W3.1 W3\n") !=
        std::string::npos);
  CHECK(message_of([] { dual_pipe_v(4, 7); }) ==
        "pipelines::dual_pipe_v: 7 micro-batches are too few for 4 positions. Choose two for each "
        "position, or more, or another schedule.");
}

}  // namespace ashlar_test
