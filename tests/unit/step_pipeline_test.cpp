// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests pipeline schedules. The builders must make schedules that can run and have the bubbles of
// their closed forms. The check must say in a sentence what is wrong with a schedule. Another test,
// step_pipeline_explorer_test.cpp, shows that the check finds every fault.

#include <random>
#include <set>

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/step/pipeline/best_warm_ups.hpp>
#include <ashlar/step/pipeline/bound.hpp>
#include <ashlar/step/pipeline/check.hpp>
#include <ashlar/step/pipeline/in_flight.hpp>
#include <ashlar/step/pipeline/lower.hpp>

#include "step_pipeline_schedules.hpp"

namespace ashlar_test {
namespace {

using namespace ashlar::pipelines;

/// Returns the largest number of micro-batches on one position whose forward pass has run, but
/// whose pass of the kind `until` has not. A micro-batch counts once for each chunk of a position.
int in_flight(schedule const& s, bool (*until)(pass)) {
  int most = 0;
  for (auto const& order : s.order) {
    int now = 0;
    for (auto const& a : order) {
      now += a.what == pass::forward;
      most = std::max(most, now);
      now -= until(a.what);
    }
  }
  return most;
}

}  // namespace

TEST_CASE("every builder makes schedules that can run, and their text is read back") {
  for (int s = 1; s <= 8; ++s)
    for (int m : {1, 2, 3, 4, 7, 8, 16, 32})
      for (auto const& made : all_schedules(s, m)) {
        CAPTURE(s);
        CAPTURE(m);
        CHECK(fault_of(made) == "");
        CHECK(parse_schedule(to_string(made)) == made);
        auto const costs = equal(made.stages(), 1, 1.25, 0.75, 0.25);
        bool split = false;
        for (auto const& a : made.order[0]) split = split || a.what == pass::weight_gradient;
        CHECK(replay(made, costs).seconds >= bound(made, costs, split) * (1 - 1e-12));
      }
}

TEST_CASE("bubbles without transfers have their closed forms") {
  for (int s : {2, 4, 8})
    for (int m : {2 * s, 4 * s}) {
      double const f = 1, i = 1, w = 1, all = f + i + w;
      auto const bubble = [&](schedule const& made) {
        return replay(made, equal(made.stages(), f, i, w, 0)).seconds - m * made.chunks * all;
      };
      CAPTURE(s);
      CAPTURE(m);
      CHECK(bubble(gpipe(s, m)) == doctest::Approx((s - 1) * all));
      CHECK(bubble(one_f_one_b(s, m)) == doctest::Approx((s - 1) * all));
      CHECK(bubble(eager(s, m)) == doctest::Approx((s - 1) * all));
      // A bubble is counted in passes of a chunk. With v chunks per part, such a pass is v times
      // shorter than a pass of the whole part. In these units, the bubble does not depend on v.
      for (int v : {2, 4}) CHECK(bubble(interleaved(s, m, v)) == doctest::Approx((s - 1) * all));
      // ZB-H1 has the bubble (s - 1) (F + I - W). In the other two schedules, the last part waits
      // only at the start of the step, for (s - 1) F. The papers do not count this wait.
      CHECK(bubble(zb_h1(s, m)) == doctest::Approx((s - 1) * (f + i - w)));
      CHECK(bubble(zb_h2(s, m)) == doctest::Approx((s - 1) * f));
      CHECK(bubble(zb_v(s, m)) == doctest::Approx((s - 1) * f));
    }
}

TEST_CASE("transfers: GPipe, 1F1B, eager-1F1B and the bound, four stages and 16 micro-batches") {
  // 4 stages and 16 micro-batches, with forward passes of 1 s and backward passes of 2 s. The
  // columns are the seconds c of a transfer, and the seconds of a step under GPipe, 1F1B and
  // eager-1F1B and by the lower bound. The values come from another program that replays schedules.
  double const rows[][5] = {{0, 57, 57, 57, 57},     {0.25, 58.5, 64, 58.5, 58.5},
                            {0.5, 60, 71, 60, 60},   {1, 63, 85, 63, 63},
                            {1.5, 73.5, 99, 66, 66}, {2, 84, 113, 75, 69}};
  for (auto const& r : rows) {
    auto const costs = equal(4, 1, 1, 1, r[0]);
    CAPTURE(r[0]);
    CHECK(replay(gpipe(4, 16), costs).seconds == doctest::Approx(r[1]));
    CHECK(replay(one_f_one_b(4, 16), costs).seconds == doctest::Approx(r[2]));
    CHECK(replay(eager(4, 16), costs).seconds == doctest::Approx(r[3]));
    CHECK(bound(eager(4, 16), costs, false) == doctest::Approx(r[4]));
  }
  struct split_row {
    double transfer, most, bound;
  };
  for (auto const& r : {split_row{0, 51, 51}, {0.5, 53, 52.5}, {1, 56, 54}}) {
    auto const costs = equal(4, 1, 1, 1, r.transfer);
    auto const made = zb_h2(4, 16, costs);
    CHECK(replay(made, costs).seconds <= r.most);
    CHECK(bound(made, costs, true) == doctest::Approx(r.bound));
  }
  // The link between two parts carries the transfers of all their chunks.
  CHECK(bound(interleaved(4, 16, 4), equal(16, 1, 1, 1, 10), false) >= 4 * 16 * 10);
}

TEST_CASE("a part waits until it can begin to send the result of its last pass") {
  // Forward passes take 1 s and transfers 1.5 s. The part at position 0 has made the second tensor
  // at 2 s, but cannot send it until the transfer of the first tensor ends at 2.5 s.
  auto const forward = replay(gpipe(2, 3), equal(2, 1, 1, 1, 1.5));
  double const begins[]{0, 1, 2.5}, sends[]{1, 2.5, 4};
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(forward.passes[0][k].begin == begins[k]);
    CHECK(forward.transfers[k].begin == sends[k]);
    CHECK(forward.transfers[k].end == sends[k] + 1.5);
  }
  // Two positions with two chunks each send to each other in both directions. Forward passes take
  // 1/6 s, backward passes 1/3 s and transfers 1/4 s. In the simulator SimGrid, a step of 32
  // micro-batches takes 37.99 s, 0.6 % longer than the replay.
  auto const costs = equal(4, 1. / 6, 1. / 6, 1. / 6, 0.25);
  CHECK(replay(interleaved(2, 32, 2), costs).seconds == doctest::Approx(37.75));
  // The forward passes keep the links busy all the time, so the waiting of the parts does not make
  // the step longer.
  auto const slow = equal(4, 1, 1, 1, 1.5);
  CHECK(replay(gpipe(4, 16), slow).seconds == 73.5);
}

TEST_CASE(
    "the best warm-ups reach the bound, with no more micro-batches in flight than that takes") {
  // 4 stages and 16 micro-batches, with forward passes of 1 s and backward passes of 2 s. A row has
  // the seconds of a transfer, the least seconds of a step over all warm-up depths, and the depths
  // that attain them. The last two were found by trying all depths.
  struct row {
    double transfer, seconds;
    std::vector<int> depths;
  };
  for (auto const& r : {row{0, 57, {4, 3, 2, 1}},
                        {0.25, 58.5, {6, 5, 3, 1}},
                        {0.5, 60, {7, 5, 3, 1}},
                        {1, 63, {7, 5, 3, 1}},
                        {1.5, 66, {7, 5, 3, 1}},
                        {2, 69, {9, 7, 4, 1}}}) {
    auto const costs = equal(4, 1, 1, 1, r.transfer);
    auto const found = best_warm_ups(16, costs, {16, 16, 16, 16});
    CAPTURE(r.transfer);
    CHECK(replay(with_warm_ups(found, 16), costs).seconds == doctest::Approx(r.seconds));
    int ours = 0, theirs = 0;
    for (std::size_t j = 0; j < 4; ++j) ours += found[j], theirs += r.depths[j];
    CHECK(ours <= theirs);
  }
  // For unequal stages, the step must be at most 1 % longer than the shortest one over all depths.
  std::mt19937 random(4);
  std::uniform_real_distribution<double> any(0.2, 2);
  for (int turn = 0; turn < 30; ++turn) {
    pipeline_costs costs;
    for (int j = 0; j < 3; ++j)
      costs.push_back({any(random), any(random), any(random), any(random), any(random)});
    int const m = 6;
    double least = 1e9;
    for (int a = 1; a <= m; ++a)
      for (int b = 1; b <= m; ++b)
        for (int c = 1; c <= m; ++c) {
          int const depths[]{a, b, c};
          auto const t = replay(with_warm_ups(depths, m), costs);
          if (t.complete) least = std::min(least, t.seconds);
        }
    auto const found = best_warm_ups(m, costs, {m, m, m});
    CHECK(replay(with_warm_ups(found, m), costs).seconds <= least * 1.01);
  }
  CHECK(best_warm_ups(8, equal(2, 1, 1, 1, 0), {1, 1}) == std::vector<int>{1, 1});
  // If memory limits the depth at an earlier position, the depths at later positions are limited
  // too.
  CHECK(best_warm_ups(16, equal(4, 1, 1, 1, 0.5), {2, 16, 16, 16}) == std::vector<int>{2, 2, 1, 1});
}

TEST_CASE("in the common order every send can wait for its receive") {
  for (int s = 1; s <= 6; ++s)
    for (int m : {1, 4, 6})
      for (auto const& made : all_schedules(s, m))
        for (double const c : {0., 0.5}) {
          auto const lines = lowered(made, equal(made.stages(), 1, c, 0.5, c));
          // Each part takes its lines one after another. A pass needs its input. A transfer needs
          // both of its parts at the same time.
          std::vector<std::vector<lowered_line const*>> own(static_cast<std::size_t>(s));
          std::size_t passes = 0;
          for (auto const& line : lines) {
            own[static_cast<std::size_t>(line.position)].push_back(&line);
            if (line.is_transfer) own[static_cast<std::size_t>(line.target)].push_back(&line);
            else ++passes;
          }
          std::size_t wanted = 0;
          for (auto const& order : made.order) wanted += order.size();
          CHECK(passes == wanted);
          std::size_t boundaries = 0;
          for (int k = 0; k + 1 < made.stages(); ++k)
            boundaries += made.position_of(k) != made.position_of(k + 1);
          CHECK(lines.size() - passes == 2 * boundaries * static_cast<std::size_t>(m));
          std::vector<std::size_t> next(own.size());
          std::set<std::pair<int, int>> x, dy;  // tensors that have arrived: stage, micro-batch
          std::set<std::pair<int, std::pair<int, bool>>> made_by;  // results of each stage
          bool right = true, moved = true;
          while (moved) {
            moved = false;
            for (std::size_t p = 0; p < own.size(); ++p) {
              if (next[p] == own[p].size()) continue;
              auto const& line = *own[p][next[p]];
              auto const& a = line.what;
              int const stage = made.stage_of(line.position, a.chunk);
              bool const forward = a.what == pass::forward;
              if (line.is_transfer) {
                auto const q = static_cast<std::size_t>(
                    static_cast<int>(p) == line.position ? line.target : line.position);
                if (next[q] == own[q].size() || own[q][next[q]] != &line) continue;
                right = right && made_by.count({stage, {a.micro_batch, forward}}) > 0;
                (forward ? x : dy).insert({stage + (forward ? 1 : -1), a.micro_batch});
                ++next[q];
              } else {
                bool const edge = forward ? stage == 0 : stage + 1 == made.stages();
                if (a.what != pass::weight_gradient && !edge)
                  right = right && (forward ? x : dy).count({stage, a.micro_batch}) > 0;
                if (a.what != pass::weight_gradient)
                  made_by.insert({stage, {a.micro_batch, forward}});
                int const to = stage + (forward ? 1 : -1);
                if (to >= 0 && to < made.stages() && a.what != pass::weight_gradient &&
                    made.position_of(to) == line.position)
                  (forward ? x : dy).insert({to, a.micro_batch});
              }
              ++next[p];
              moved = true;
            }
          }
          CHECK(right);
          for (std::size_t p = 0; p < own.size(); ++p) CHECK(next[p] == own[p].size());
        }
}

TEST_CASE("split schedules exist for all costs, within their limits") {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> any(0, 3);
  for (int turn = 0; turn < 60; ++turn) {
    int const s = 1 + turn % 5, m = 1 + turn % 7;
    for (int chunks : {1, 2}) {
      pipeline_costs costs;
      for (int k = 0; k < s * chunks; ++k)
        costs.push_back({any(random), any(random), any(random), any(random), any(random)});
      for (auto const& made : chunks == 1 ? std::vector{zb_h1(s, m, costs), zb_h2(s, m, costs)}
                                          : std::vector{zb_v(s, m, costs)}) {
        CHECK(fault_of(made) == "");
        CHECK(replay(made, costs).seconds >= bound(made, costs, true) * (1 - 1e-12));
        CHECK(in_flight(made, makes_weight_gradient) <= (chunks == 2 ? 2 * s : 2 * s - 1));
      }
      auto const least = split_backward(
          s, m, chunks, wiring::vee, costs,
          std::vector<split_limits>(std::size_t(s), {chunks, chunks}));
      CHECK(fault_of(least) == "");
      CHECK(in_flight(least, makes_weight_gradient) <= chunks);
    }
  }
  CHECK(has(message_of([] {
              split_backward(2, 2, 2, wiring::vee, equal(4, 1, 1, 1, 0), {{2, 2}, {1, 1}});
            }),
            "position 1 may have 1 in flight, but one micro-batch needs 2, one for each chunk. "
            "Raise the limit."));
}

TEST_CASE("a schedule that exceeds a limit of micro-batches in flight names the stage") {
  CHECK(in_flight_fault(one_f_one_b(4, 8), {4, 3, 2, 1}) == "");
  CHECK(in_flight_fault(zb_v(2, 4), std::vector<int>(4, 4)) == "");
  CHECK(message_of([] {
          refuse_in_flight(one_f_one_b(4, 8), {4, 2, 2, 1});
        }) ==
        "pipelines::refuse_in_flight: stage 1 may have at most 2 micro-batches in flight, but the "
        "schedule needs 3. Raise the limit, or choose a schedule that runs fewer forward passes "
        "ahead.");
  auto const own = parse_schedule("0: F0 F1 F2 B0 B1 B2\n1: F0 I0 F1 I1 W0 W1 F2 B2\n");
  CHECK(in_flight_fault(own, {3, 2}) == "");
  CHECK(has(in_flight_fault(own, {3, 1}), "stage 1 may have at most 1 "));
  CHECK(has(in_flight_fault(own, {2, 1}), "stage 0 may have at most 2 "));
  CHECK(in_flight_fault(own, {3}) ==
        "1 limits of micro-batches in flight are given, but the schedule has 2 stages. Give one "
        "for each stage.");
  for (int most = 1; most <= 5; ++most)
    for (auto const& made : {zb_h1(3, 8, {}, most), zb_h2(3, 8, {}, most)})
      CHECK(in_flight_fault(made, {most, most, most}) == "");
}

TEST_CASE("memory: what is in flight") {
  for (int s : {2, 4, 8}) {
    int const m = 4 * s;
    CHECK(in_flight(gpipe(s, m), makes_input_gradient) == m);
    CHECK(in_flight(one_f_one_b(s, m), makes_input_gradient) == s);
    CHECK(in_flight(eager(s, m), makes_input_gradient) == 2 * s - 1);
    CHECK(in_flight(zb_h1(s, m), makes_weight_gradient) <= s);
    CHECK(in_flight(zb_h2(s, m), makes_weight_gradient) <= 2 * s - 1);
    CHECK(in_flight(zb_v(s, m), makes_weight_gradient) <= 2 * s);
  }
}

TEST_CASE("bad schedules are refused in a sentence") {
  auto const fault = [](char const* text) { return fault_of(parse_schedule(text)); };
  CHECK(fault("0: F0 B0 F1 B1") == "");
  CHECK(fault("# two parts\n0: F0 F1 B0 B1\n1: F0 B0 F1 B1") == "");
  CHECK(fault("0: F0 F1 B0") ==
        "position 0: micro-batch 1 of chunk 0 has no gradient of the input.");
  CHECK(fault("0: B0 F0") == "position 0: B0 comes before its forward pass.");
  CHECK(fault("0: F1 F0 B0 B1") ==
        "position 0: F0 comes after that of micro-batch 1. Each stage takes the micro-batches in "
        "their order.");
  CHECK(fault("0: F0 W0 I0") == "position 0: W0 comes before the gradient of the input.");
  CHECK(
      fault("0: F0 B0 F1 B1\n1: F0 F1 B0 B1") ==
      "the positions wait for each other in a circle: position 0 at its pass 1, B0, position 1 at "
      "its pass 1, F1.");
  CHECK(fault("0: F999999.999999") ==
        "position 0: 1 passes are too few for 1000000 micro-batches and 1000000 chunks.");
  auto const message = [](char const* text) { return message_of([&] { parse_schedule(text); }); };
  CHECK(message("") == "parse_schedule: the text has no position.");
  CHECK(message("1: F0") ==
        "parse_schedule: line 1: expected the passes of position 0, as in \"0: F0 F1 B0\".");
  CHECK(
      message("0: F0\n1: F0 X3") ==
      "parse_schedule: line 2: \"X3\" is not a pass: F, B, I or W with a micro-batch, as in F3, or "
      "with a chunk, as in F3.1.");
  CHECK(has(message("0: F9999999"), "\"F9999999\" is not a pass"));
  CHECK(has(message_of([] { interleaved(4, 6, 2); }), "6 micro-batches cannot go in groups of 4"));
  CHECK(has(message_of([] { interleaved(0, 4, 2); }), "4 micro-batches cannot go in groups of 0"));
  int const none[]{1, 0};
  CHECK(has(message_of([&] { with_warm_ups(none, 4); }), "a warm-up depth is below 1"));
}

}  // namespace ashlar_test
