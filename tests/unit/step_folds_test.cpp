// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the folds, which compute seconds, memory and bytes from the program of a step. The computed
// values must equal the values that the search predicts for the plan.

#include <doctest/doctest.h>

#include <ashlar/search/breakdown.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/step/timeline.hpp>
#include <ashlar/step/traffic.hpp>

#include "step_programs.hpp"

namespace ashlar_test {
namespace {

/// Returns whether two sums of the same addends in different orders are equal up to rounding.
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

TEST_CASE("if sums do not round, the seconds of moves and halos are the same numbers") {
  random_cases draw(18);
  int halos = 0;
  for (int n = 0; n < 200; ++n) {
    CAPTURE(n);
    programmed c(draw);
    for (auto& axis : c.plan.mesh.axis) axis.tier = ashlar::link_tier::intra_node;
    c.machine.intra = {3, 1};
    auto const p = build(c.net, c.plan, c.machine);
    CHECK(serial_seconds(p, c.machine).communication ==
          total_cost(c.net, c.plan, c.machine).communication);
    CHECK(timeline_of(p, c.machine).communication == serial_seconds(p, c.machine).communication);
    for (auto const& a : p.actions) halos += a.halo_seconds > 0;
  }
  CHECK(halos > 20);
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

/// Multiplies every extent of a network by `times`.
void scale(search::problem& net, std::int64_t times) {
  for (auto& spec : net.layers) {
    double const before = count(spec.x);
    auto const enlarge = [&](shape& s) {
      for (auto& n : s.extent) n *= times;
    };
    enlarge(spec.x);
    enlarge(spec.y);
    for (auto& p : spec.parameters) enlarge(p.extents);
    for (auto& s : spec.statistics) enlarge(s);
    spec.saved_values *= count(spec.x) / before;
  }
}

TEST_CASE("the folds of nets with branches, and the programs of all passes") {
  random_cases draw(19, true);
  int branches = 0, recomputed = 0;
  for (int n = 0; n < 300; ++n) {
    CAPTURE(n);
    programmed const c(draw);
    auto const cost = total_cost(c.net, c.plan, c.machine);
    auto const time = serial_seconds(c.serial, c.machine);
    CHECK(same_sum(time.work, cost.work));
    CHECK(same_sum(time.communication, cost.communication));
    CHECK(high_water(c.serial).peak == c.plan.memory);
    CHECK(!check(c.serial).found());
    auto const table = element_table(c.serial);
    auto const parts = breakdown(c.net, c.plan, c.machine);
    for (std::size_t i = 0; i < table.size(); ++i)
      CHECK(table[i].received == parts.elements[i].received);
    for (auto const& program : c.passed()) CHECK(!check(program).found());
    branches += has_branches(c.net);
    recomputed += has_branches(c.net) && c.plan.recomputed > 0;
  }
  CHECK(branches > 150);
  CHECK(recomputed > 50);
}

TEST_CASE("a serial program holds the memory that its plan says") {
  random_cases draw(14);
  int recomputed = 0, residuals = 0;
  for (int n = 0; n < 1500; ++n) {
    CAPTURE(n);
    programmed c(draw);
    if (n % 3 > 0) {  // extents are so large that buffers are split into chunks
      scale(c.net, 24);
      predict(c.plan, c.net, c.machine);
      c.serial = build(c.net, c.plan, c.machine);
    }
    CHECK(high_water(c.serial).peak == c.plan.memory);
    CHECK(c.plan.memory >= lasting_bytes(c.serial));
    recomputed += c.plan.recomputed > 0;
    for (auto const& e : c.net.elements) residuals += e.kind == search::element_kind::residual_end;
  }
  CHECK(recomputed > 200);
  CHECK(residuals > 200);
}

TEST_CASE("slices of a program compose") {
  random_cases draw(15);
  for (int n = 0; n < 50; ++n) {
    programmed const c(draw);
    auto const& actions = c.serial.actions;
    auto const slice = [&](std::size_t from, std::size_t to) {
      search::memory_change all;
      for (std::size_t i = from; i < to; ++i) all = all.then(memory_of(c.serial, actions[i]));
      return all;
    };
    auto const whole = slice(0, actions.size());
    CHECK(lasting_bytes(c.serial) + whole.peak == high_water(c.serial).peak);
    for (std::size_t cut = 0; cut <= actions.size(); cut += 7)
      CHECK(slice(0, cut).then(slice(cut, actions.size())) == whole);
  }
}

TEST_CASE("no pass exceeds a limit") {
  random_cases draw(16);
  int refused = 0;
  for (int n = 0; n < 100; ++n) {
    programmed const c(draw);
    auto const limit = high_water(c.serial).peak;
    std::vector<search::pass_result> results{
        early_moves(c.serial, limit), early_synchronization(c.serial, 64, limit),
        prefetch(c.serial, {1, search::gathered::each_pass}, limit),
        prefetch(c.serial, {1, search::gathered::once_a_step}, limit)};
    for (auto const& r : results) {
      CHECK(high_water(r.made).peak <= limit);
      CHECK(r.applied == !(r.made == c.serial));
      CHECK(r.applied == std::string(r.reason).empty());
      CHECK(!check(r.made, limit).found());
      refused += std::string(r.reason).find("memory") != std::string::npos;
    }
    if (limit > 1) CHECK(check(c.serial, limit - 1).found());
  }
  CHECK(refused > 20);
}

TEST_CASE("gathered parameters are kept as long as they fit") {
  random_cases draw(17);
  int partly = 0;
  for (int n = 0; n < 300; ++n) {
    programmed const c(draw);
    search::prefetch_options const each{1, search::gathered::each_pass},
        once{1, search::gathered::once_a_step};
    auto const most = prefetch(c.serial, once).made, least = prefetch(c.serial, each).made;
    auto const needed = high_water(most).peak, enough = high_water(least).peak;
    if (needed <= enough || most.moves.size() == least.moves.size()) continue;
    CHECK(prefetch(c.serial, once, needed).made == most);
    auto const some = prefetch(c.serial, once, (needed + enough) / 2);
    CHECK(high_water(some.made).peak < needed);
    partly += some.applied && some.made.moves.size() < least.moves.size();
  }
  CHECK(partly > 0);
}

}  // namespace
}  // namespace ashlar_test
