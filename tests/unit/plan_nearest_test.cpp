// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the planner's choice among several acceptable target placements. The planner must choose
// the target with the cheapest redistribution plan, but never one in which a further axis becomes
// partial. The test computes the costs of the plans to all acceptable targets.

#include <doctest/doctest.h>
#include <support/naive_placement.hpp>

#include <ashlar/mesh/text.hpp>
#include <ashlar/plan/nearest.hpp>

using namespace ashlar_test;
using ashlar::nearest_placement;

namespace {
constexpr ashlar::machine workstation = ashlar::machines::workstation;

bool adds_partial(placement const& from, placement const& to) {
  for (int a = 0; a < from.axes(); ++a)
    if (to[a].is_partial() && !from[a].is_partial()) return true;
  return false;
}
}  // namespace

TEST_CASE("no suitable placement is cheaper to reach") {
  std::mt19937 random(7);
  ashlar::shape const extents{96, 60};
  for (auto const& t : {ashlar::topology{{"gpu", 4}}, ashlar::topology{{"node", 2}, {"gpu", 3}}}) {
    auto const states = all_placements(2, t.axes());
    for (auto const& from : states) {
      std::vector<placement> chosen;
      for (auto const& p : states)
        if (uniform(random, 0, 3) == 0) chosen.push_back(p);
      auto const suits = [&](placement const& p) {
        return std::count(chosen.begin(), chosen.end(), p) != 0;
      };
      auto const seconds = [&](placement const& p) {
        return plan_redistribution(extents, 4, from, p, t, workstation).seconds;
      };
      auto const found = nearest_placement(extents, 4, from, t, workstation, suits);
      int candidates = 0;
      for (auto const& p : chosen) {
        if (adds_partial(from, p)) continue;
        ++candidates;
        REQUIRE(found.has_value());
        CHECK_MESSAGE(seconds(*found) <= seconds(p) + 1e-12, from << " to " << *found << ", " << p);
      }
      CHECK(found.has_value() == (candidates > 0));
      if (found) CHECK(suits(*found));
    }
  }
}

TEST_CASE("a suitable placement stays, and other axes stay if they can") {
  ashlar::topology const t{{"node", 2}, {"gpu", 4}};
  placement const from{ashlar::split(0), ashlar::split(1)};
  auto const nearest = [&](auto suits) {
    return *nearest_placement({64, 64}, 4, from, t, workstation, suits);
  };
  CHECK(nearest([](placement const&) { return true; }) == from);
  CHECK(nearest([](placement const& p) { return p[1].is_broadcast(); }) ==
        placement{ashlar::split(0), ashlar::broadcast()});
  CHECK(nearest([](placement const& p) { return p.split_count(1) == 0; }) ==
        placement{ashlar::split(0), ashlar::split(0)});
}
