// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests that `check`, which finds errors in the programs of training steps, accepts correct
// programs. The tested programs are those that `build` makes for many networks, meshes and plans,
// and the versions of these programs after the optimization passes.

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

}  // namespace
}  // namespace ashlar_test
