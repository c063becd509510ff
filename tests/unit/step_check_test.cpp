// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests that `check`, which finds errors in the programs of training steps, accepts correct
// programs. The tested programs are those that `build` makes for many networks, meshes and plans,
// and the versions of these programs after the optimization passes. Also tests that `check` refuses
// exchanges of halos with wrong values.

#include <doctest/doctest.h>

#include <ashlar/step/check.hpp>
#include <ashlar/step/check_order.hpp>

#include "step_programs.hpp"

namespace ashlar_test {
namespace {

TEST_CASE("check accepts the programs that build and the passes make of any plan") {
  random_cases draw(7);
  int applied = 0;
  for (int n = 0; n < 300; ++n) {
    CAPTURE(n);
    programmed const c(draw);
    auto const found = check(c.serial);
    CHECK_MESSAGE(!found.found(), to_string(found, c.serial));
    for (auto const& made : c.passed()) {
      auto const wrong = check(made);
      CHECK_MESSAGE(!wrong.found(), to_string(wrong, made));
      applied += !(made == c.serial);
      search::program const both[] = {made, made};
      CHECK(!check_order(both).found());
    }
  }
  CHECK(applied > 500);
}

TEST_CASE("check refuses an exchange of halos between other values") {
  random_cases draw(8);
  int exchanged = 0, added = 0;
  for (int n = 0; n < 200; ++n) {
    programmed const c(draw);
    for (std::size_t i = 0; i < c.serial.actions.size(); ++i) {
      if (c.serial.actions[i].halo < 0) continue;
      bool const back = c.serial.actions[i].kind == search::action_kind::add_halo;
      ++(back ? added : exchanged);
      auto p = c.serial;
      auto& values = p.values;
      auto const& a = p.actions[i];
      auto const said = [&] { return std::string(check(p).what); };
      values[static_cast<std::size_t>(a.makes[0])].kind = search::value_kind::x;
      CHECK(said() == "exchanges a halo into another value");
      p = c.serial;
      if (back) {
        values[static_cast<std::size_t>(a.reads[0])].kind = search::value_kind::dy;
        CHECK(said() == "adds the halo of another gradient");
        p = c.serial;
      }
      p.actions[i].reads.push_back(p.actions[i].reads[0]);
      CHECK(said() == "exchanges a halo of several values");
    }
  }
  CHECK(exchanged > 20);
  CHECK(added > 20);
}

}  // namespace
}  // namespace ashlar_test
