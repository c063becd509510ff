// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests that the check of pipeline schedules is exact: it accepts a schedule if and only if the
// schedule cannot deadlock, even if every send waits for its receive. step_pipeline_explorer.hpp
// describes this model of execution and explores it.

#include <map>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include <ashlar/step/pipeline/check.hpp>
#include <ashlar/step/pipeline/lower.hpp>

#include "step_pipeline_explorer.hpp"
#include "step_pipeline_schedules.hpp"

namespace ashlar_test {
namespace {

using namespace ashlar::pipelines;

/// The number of compared schedules, of schedules that can run, and of schedules about which the
/// check and the explorer disagree.
struct comparison {
  int all = 0, run = 0, different = 0;

  void add(schedule const& s) {
    bool const accepted = fault_of(s).empty();
    bool same = some_run_ends(s) == accepted;
    // The costs determine where lower.hpp puts the receives, but not whether the schedule can run.
    if (accepted)
      for (double const transfer : {0., 1.5}) {
        auto const costs = equal(s.stages(), 1, 1, 0.5, transfer);
        same = same && every_lowered_run_ends(s, costs);
      }
    ++all;
    run += accepted;
    different += !same;
  }
};

schedule shape_of(int s, int m, int chunks, wiring wired) { return {s, m, chunks, wired, {}}; }

/// Returns whether each stage has all its passes, and each kind of pass in the order of
/// micro-batches.
bool is_complete_and_in_order(schedule const& s) {
  std::vector<int> each;
  for (int k = 0; k < s.micro_batches; ++k) each.push_back(k);
  for (auto const& own : s.order) {
    std::map<std::pair<int, int>, std::vector<int>> made;  // by chunk and kind of result
    for (auto const& a : own) {
      if (a.micro_batch >= s.micro_batches || a.chunk >= s.chunks) return false;
      if (a.what == pass::forward) made[{a.chunk, 0}].push_back(a.micro_batch);
      if (makes_input_gradient(a.what)) made[{a.chunk, 1}].push_back(a.micro_batch);
      if (makes_weight_gradient(a.what)) made[{a.chunk, 2}].push_back(a.micro_batch);
    }
    for (int c = 0; c < s.chunks; ++c)
      for (int k = 0; k < 3; ++k)
        if (made[{c, k}] != each) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("the check accepts exactly what the explorer runs: all orders of F and B") {
  comparison seen;
  for (int s = 1; s <= 3; ++s)
    for (int m = 1; m <= 4; ++m)
      for_each_schedule(shape_of(s, m, 1, wiring::straight), part_orders(1, m, false, false),
                        [&](schedule const& one) { seen.add(one); });
  CHECK(seen.different == 0);
  CHECK(seen.all > 343'000);
  CHECK(seen.run > 400);
}

TEST_CASE("the check accepts exactly what the explorer runs: all orders of F, I and W") {
  // Only orders that a part by itself could run are tried. There are too many schedules of three
  // parts and four micro-batches to try them all. A test case below tries a sample of them.
  comparison seen;
  for (int s = 1; s <= 3; ++s)
    for (int m = 1; m <= 4 - s / 3; ++m)
      for_each_schedule(shape_of(s, m, 1, wiring::straight), part_orders(1, m, true, true),
                        [&](schedule const& one) { seen.add(one); });
  CHECK(seen.different == 0);
  CHECK(seen.all > 287'000);
}

TEST_CASE("the check accepts exactly what the explorer runs: all orders of two chunks") {
  for (auto const wired : {wiring::straight, wiring::vee}) {
    comparison seen;
    for (int s = 1; s <= 2; ++s)
      for (int m = 1; m <= 2; ++m)
        for_each_schedule(shape_of(s, m, 2, wired), part_orders(2, m, false, true),
                          [&](schedule const& one) { seen.add(one); });
    CHECK(seen.different == 0);
    CHECK(seen.all > 78'000);
    CHECK(seen.run > 50);
  }
}

TEST_CASE("the check accepts exactly what the explorer runs: a sample of larger schedules") {
  std::mt19937 random(3);
  struct family {
    int s, m, chunks;
    bool split;
    wiring wired;
  };
  for (auto const& f : {family{3, 4, 1, true, wiring::straight},
                        {3, 2, 2, false, wiring::straight},
                        {3, 2, 2, false, wiring::vee},
                        {2, 1, 2, true, wiring::vee},
                        {3, 1, 2, true, wiring::straight},
                        {3, 1, 3, false, wiring::straight},
                        {3, 1, 3, false, wiring::vee}}) {
    part_orders const orders(f.chunks, f.m, f.split, true);
    std::uniform_int_distribution<std::size_t> any(0, orders.all().size() - 1);
    comparison seen;
    auto one = shape_of(f.s, f.m, f.chunks, f.wired);
    one.order.resize(static_cast<std::size_t>(f.s));
    for (int turn = 0; turn < 3000; ++turn) {
      for (auto& own : one.order) own = orders.all()[any(random)];
      // If all positions have the same order, a random schedule is more likely to run.
      if (turn % 3 == 0) one.order.assign(one.order.size(), one.order[0]);
      seen.add(one);
    }
    CAPTURE(f.s);
    CAPTURE(f.m);
    CAPTURE(f.chunks);
    CHECK(seen.different == 0);
    CHECK(seen.run > 0);
    CHECK(seen.run < seen.all);
  }
}

TEST_CASE("the common order matters: 1F1B deadlocks if parts receive just before they read") {
  auto const made = one_f_one_b(2, 2);
  CHECK(some_run_ends(made));
  CHECK(every_lowered_run_ends(made, equal(2, 1, 1, 1, 0)));
  CHECK_FALSE(
      pipeline_explorer::every_run_ends(made, pipeline_explorer::lines_without_common_order(made)));
  auto const serial = with_warm_ups(std::vector{1, 1}, 2);  // one micro-batch at a time
  CHECK(pipeline_explorer::every_run_ends(serial,
                                          pipeline_explorer::lines_without_common_order(serial)));
  for (int s = 1; s <= 3; ++s)
    for (int m = 1; m <= 4; ++m)
      for (auto const& one : all_schedules(s, m)) {
        CHECK(some_run_ends(one));
        CHECK(every_lowered_run_ends(one, equal(one.stages(), 1, 1, 0.5, 0.25)));
      }
}

TEST_CASE("the check refuses exactly the mutants that the explorer or a replay refuses") {
  std::mt19937 random(1);
  auto const below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  std::map<std::pair<int, int>, std::vector<schedule>> made;
  for (int s = 1; s <= 3; ++s)
    for (int m = 1; m <= 4; ++m) made[{s, m}] = all_schedules(s, m);
  int refused = 0, stuck = 0, different = 0;
  std::string first;
  for (int turn = 0; turn < 10'000; ++turn) {
    int const s = 1 + static_cast<int>(below(3)), m = 1 + static_cast<int>(below(4));
    auto const& all = made[{s, m}];
    auto mutant = all[below(all.size())];
    auto& order = mutant.order[below(mutant.order.size())];
    switch (below(5)) {
      case 0: std::swap(order[below(order.size())], order[below(order.size())]); break;
      case 1: order.erase(order.begin() + static_cast<std::ptrdiff_t>(below(order.size()))); break;
      case 2: order.push_back(order[below(order.size())]); break;
      case 3: order[below(order.size())].micro_batch = static_cast<int>(below(5)); break;
      default: {  // moves a pass
        auto const from = order.begin() + static_cast<std::ptrdiff_t>(below(order.size()));
        auto const moved = *from;
        order.erase(from);
        order.insert(order.begin() + static_cast<std::ptrdiff_t>(below(order.size() + 1)), moved);
      }
    }
    auto const fault = fault_of(mutant);
    auto const costs = equal(mutant.stages(), 1, 1, 1, 0);
    bool const right = is_complete_and_in_order(mutant);
    bool const runs = right && some_run_ends(mutant);
    bool const replays = right && replay(mutant, costs).complete;
    bool const lowers = !runs || every_lowered_run_ends(mutant, costs);
    if ((fault == "") != runs || runs != replays || !lowers) {
      ++different;
      if (first.empty()) first = fault + "\n" + to_string(mutant);
    }
    refused += fault != "";
    stuck += fault.find("in a circle") != std::string::npos;
  }
  CHECK_MESSAGE(different == 0, first);
  CHECK(refused > 5000);
  CHECK(refused < 9900);
  CHECK(stuck > 50);
}

}  // namespace ashlar_test
