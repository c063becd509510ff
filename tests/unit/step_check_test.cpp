// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests that `check`, which finds errors in the programs of training steps, accepts correct
// programs. The tested programs are those that `build` makes for many networks, meshes and plans,
// and the versions of these programs after the optimization passes. Also tests that `check` refuses
// exchanges of halos with wrong values, and that `check_order` knows the exchanges of rows.

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include <ashlar/machine/presets.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/embedding.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/step/check_order.hpp>
#include <ashlar/sync/rows.hpp>

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

TEST_CASE("ranks exchange rows and begin moves of the same group in the same order") {
  namespace nn = ashlar::nn;
  auto const net = any_length(nn::describe<float>(
      nn::chain(nn::embedding(64, 16), nn::linear(16, 64)), nn::token_batch{8, 4}));
  ashlar::topology const mesh{{"gpu", 2}};
  auto const& m = ashlar::machines::workstation;
  auto const plan = ashlar::sync::rows{}(net, search::data_parallel(net, mesh, m), m);
  auto const p = build(net, plan, m);
  std::ptrdiff_t const n = std::ssize(p.actions);
  std::ptrdiff_t rows = 0;
  while (rows < n && p.actions[static_cast<std::size_t>(rows)].rows < 0) ++rows;
  // The first gradient that moves after the exchange of rows.
  std::ptrdiff_t begin = rows;
  while (begin < n &&
         p.actions[static_cast<std::size_t>(begin)].kind != search::action_kind::begin_move)
    ++begin;
  REQUIRE(begin + 1 < n);
  // In `p` the move begins after the exchange. In `early` it begins before the exchange and ends
  // after it. In `late` it begins and ends before the exchange.
  auto early = p, late = p;
  std::rotate(early.actions.begin() + rows, early.actions.begin() + begin,
              early.actions.begin() + begin + 1);
  std::rotate(late.actions.begin() + rows, late.actions.begin() + rows + 1,
              late.actions.begin() + begin + 2);
  for (auto const& made : {p, early, late}) {
    auto const wrong = check(made);
    CHECK_MESSAGE(!wrong.found(), to_string(wrong, made));
    search::program const both[] = {made, made};
    CHECK(!check_order(both).found());
  }
  for (auto const& other : {early, late}) {
    search::program const both[] = {p, other};
    auto const fault = check_order(both);
    CHECK(fault.which == 1);
    CHECK(std::string(fault.what) == "begins a transfer out of order within its group of ranks");
  }
  search::program const both[] = {early, late};
  CHECK(!check_order(both).found());
}

}  // namespace
}  // namespace ashlar_test
