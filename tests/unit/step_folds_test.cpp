// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The folds of a program equal what the search predicts of its plan.

#include <doctest/doctest.h>

#include <ashlar/search/breakdown.hpp>
#include <ashlar/step/traffic.hpp>

#include "step_programs.hpp"

namespace ashlar_test {
namespace {

/// Whether two sums are equal but for the order of their addends.
bool same_sum(double a, double b) {
  return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
}

TEST_CASE("the serial seconds of a program are those of its plan") {
  random_cases draw(11);
  for (int n = 0; n < 300; ++n) {
    CAPTURE(n);
    programmed const c(draw);
    auto const cost = total_cost(c.net, c.plan, c.machine);
    auto const time = serial_seconds(c.serial, c.machine);
    CHECK(same_sum(time.work, cost.work));
    CHECK(same_sum(time.communication, cost.communication));
    CHECK(same_sum(time.seconds(), c.plan.seconds));
  }
}

TEST_CASE("the table of elements is the breakdown of the plan") {
  random_cases draw(12);
  for (int n = 0; n < 200; ++n) {
    CAPTURE(n);
    programmed const c(draw);
    auto const parts = breakdown(c.net, c.plan, c.machine);
    auto const table = element_table(c.serial);
    REQUIRE(table.size() == parts.elements.size());
    double received = 0;
    for (std::size_t i = 0; i < table.size(); ++i) {
      CHECK(same_sum(table[i].work, parts.elements[i].work));
      CHECK(same_sum(table[i].activations, parts.elements[i].activations));
      CHECK(same_sum(table[i].gradients, parts.elements[i].gradients));
      CHECK(same_sum(table[i].parameters, parts.elements[i].parameters));
      CHECK(table[i].received == parts.elements[i].received);
      received += table[i].received;
    }
    CHECK(received_at_most(c.serial).bytes() == received);
    for (int rank = 0; rank < c.mesh.ranks(); ++rank)
      CHECK(received_at(c.serial, c.mesh.coordinates_of(rank)).bytes() <= received);
  }
}

TEST_CASE("timelines lie between the busiest resource and serial order") {
  random_cases draw(13);
  for (int n = 0; n < 200; ++n) {
    CAPTURE(n);
    programmed const c(draw);
    auto programs = c.passed();
    programs.push_back(c.serial);
    for (auto const& p : programs) {
      auto const time = timeline_of(p, c.machine);
      auto const serial = serial_seconds(p, c.machine);
      double const eps = 1e-9 * serial.seconds();
      CHECK(time.seconds <= serial.seconds() + eps);
      CHECK(time.seconds >= std::max(time.work, time.busiest_link()) - eps);
      CHECK(same_sum(time.work, serial.work));
      CHECK(std::abs(time.communication - serial.communication) <= eps);
      CHECK(std::abs(time.work + time.exposed - time.seconds) <= eps);
      double exposed = 0;
      for (auto const& e : time.elements) {
        CHECK(e.hidden() >= -eps);
        exposed += e.exposed;
      }
      CHECK(std::abs(exposed - time.exposed) <= eps);
      for (auto const& m : time.moves) CHECK(m.exposed <= m.busy + eps);
    }
    CHECK(close(timeline_of(c.serial, c.machine).seconds, c.plan.seconds));
    auto const best = overlapped(c.serial, c.machine);
    CHECK(best.seconds <= c.plan.seconds * (1 + 1e-9));
  }
}

TEST_CASE("a serial program holds no more than its plan says") {
  random_cases draw(14);
  int above = 0, tighter = 0;
  for (int n = 0; n < 500; ++n) {
    CAPTURE(n);
    programmed const c(draw);
    auto const most = high_water(c.serial);
    if (most.peak > c.plan.memory) {
      ++above;
      auto const& a = c.serial.actions[static_cast<std::size_t>(most.fullest)];
      std::printf("%d: %ld > %ld (%.3f) at %s of %d %s\n", n, long(most.peak), long(c.plan.memory),
                  double(most.peak) / double(c.plan.memory), to_string(a.kind), a.element,
                  c.net.spec(a.element).name.text);
    }
    tighter += most.peak < c.plan.memory;
  }
  std::printf("above %d tighter %d\n", above, tighter);
}

}  // namespace
}  // namespace ashlar_test
