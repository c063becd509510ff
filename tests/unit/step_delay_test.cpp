// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests programs with delayed gradients, for random nets and plans. The programs made by build()
// and by the passes must be correct. Programs made by build() must have the predicted memory. On
// the timeline, a program must take at least as long as its busiest resource, and at most as long
// as in serial order.

#include <algorithm>

#include <doctest/doctest.h>

#include <ashlar/step/check.hpp>
#include <ashlar/step/check_order.hpp>
#include <ashlar/step/serial_seconds.hpp>

#include "step_programs.hpp"

namespace ashlar_test {
namespace {

TEST_CASE("programs of random plans with delayed gradients are right, before and after passes") {
  random_cases draw(91);
  int early = 0;
  for (int n = 0; n < 150; ++n) {
    CAPTURE(n);
    programmed c(draw);
    c.delay(draw);
    CHECK(high_water(c.serial).peak == c.plan.memory);
    auto all = c.passed();
    all.push_back(c.serial);
    for (auto const& made : all) {
      auto const wrong = check(made);
      CHECK_MESSAGE(!wrong.found(), to_string(wrong, made));
      search::program const both[] = {made, made};
      CHECK(!check_order(both).found());
      auto const when = timeline_of(made, c.machine);
      CHECK(when.seconds >= std::max(when.work, when.busiest_link()) * (1 - 1e-9));
      CHECK(when.seconds <= serial_seconds(made, c.machine).seconds() * (1 + 1e-9));
      if (made.actions.empty()) continue;
      auto const& first = made.actions[0];
      early += first.kind == search::action_kind::begin_move &&
               first.phase == search::phase::synchronize;
    }
    // After all passes, a program is at least as fast as the serial program.
    CHECK(timeline_of(overlapped(c.serial, c.machine).made, c.machine).seconds <=
          timeline_of(c.serial, c.machine).seconds * (1 + 1e-9));
  }
  CHECK(early > 100);
}

TEST_CASE("a program that reads the sum of a delayed gradient in its own step is refused") {
  random_cases draw(92);
  int refused = 0;
  for (int n = 0; n < 60; ++n) {
    programmed c(draw);
    c.delay(draw);
    auto spoiled = c.serial;
    for (auto& a : spoiled.actions)
      for (int& v : a.reads) {
        auto const& is = spoiled.value_of(v);
        if (is.kind != search::value_kind::pending || a.kind != search::action_kind::update)
          continue;
        for (std::size_t k = 0; k < spoiled.values.size(); ++k)
          if (auto const& sum = spoiled.values[k]; sum.kind == search::value_kind::sum &&
                                                   sum.element == is.element &&
                                                   sum.index == is.index)
            v = static_cast<int>(k);
      }
    if (spoiled == c.serial) continue;
    auto const fault = check(spoiled);
    CHECK(fault.found());
    refused += std::string(fault.what) == "reads the sum of a delayed gradient in its own step";
  }
  CHECK(refused > 0);
}

}  // namespace
}  // namespace ashlar_test
