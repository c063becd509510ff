// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests that check and check_order find errors in the programs of training steps. The test makes
// mutants of small programs and runs them on two simulated ranks (step_explorer.hpp). The checks
// must reject a mutant that goes wrong in some run. They must also reject a mutant that runs
// correctly but breaks one of the rules of order below. They must accept all other mutants.
//
//   a recomputation comes after the forward pass of its element
//   the moves of a bucket begin directly one after another
//   a parameter is not read after its update, not even for a result that is not used

#include <algorithm>

#include <doctest/doctest.h>

#include <ashlar/step/check.hpp>
#include <ashlar/step/check_order.hpp>

#include "step_explorer.hpp"
#include "step_programs.hpp"

namespace ashlar_test {
namespace {

using search::action_kind;

bool breaks_stated_order(search::program const& p) {
  auto const& list = p.actions;
  int last_bucket = -1;
  std::vector<int> closed, updated;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].kind == action_kind::release) continue;
    for (int const v : list[i].reads)
      if (std::find(updated.begin(), updated.end(), v) != updated.end()) return true;
    if (list[i].kind == action_kind::update &&
        p.value_of(list[i].adds[0]).kind == search::value_kind::stored)
      updated.push_back(list[i].adds[0]);
    for (int const v : list[i].makes)
      if (int const old = replaced_by(p, v); old >= 0) updated.push_back(old);
    if (list[i].kind == action_kind::recompute &&
        std::any_of(list.begin() + static_cast<std::ptrdiff_t>(i), list.end(), [&](auto const& a) {
          return a.kind == action_kind::forward && a.element == list[i].element &&
                 a.micro_batch == list[i].micro_batch;
        }))
      return true;
    int const bucket = list[i].kind == action_kind::begin_move ? p.move_of(list[i]).bucket : -1;
    if (bucket != last_bucket && last_bucket >= 0) closed.push_back(last_bucket);
    if (bucket >= 0 && std::find(closed.begin(), closed.end(), bucket) != closed.end()) return true;
    last_bucket = bucket;
  }
  return false;
}

/// Calls f(mutant) for each program with one change: an action is deleted, duplicated, displaced or
/// swapped with another, a redistribution runs at a different place, or a value is released at a
/// different place.
template <class F>
void for_each_mutant(search::program const& p, F f) {
  auto const n = static_cast<std::ptrdiff_t>(p.actions.size());
  search::program mutant = p;
  auto& list = mutant.actions;
  auto const& was = p.actions;
  auto const begin = [&] { return list.begin(); };
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    list = was;
    list.erase(begin() + i);
    auto const without = list;
    f(mutant, "dropped");
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      list = without;
      list.insert(begin() + j, was[static_cast<std::size_t>(i)]);
      if (j != i) f(mutant, "moved");
      list = was;
      list.insert(begin() + j, was[static_cast<std::size_t>(i)]);
      f(mutant, "doubled");
      if (j <= i + 1) continue;
      list = was;
      std::iter_swap(begin() + i, begin() + j);
      f(mutant, "swapped");
    }
    action_kind const kind = was[static_cast<std::size_t>(i)].kind;
    if (kind == action_kind::begin_move && i + 1 < n &&
        was[static_cast<std::size_t>(i) + 1].move == was[static_cast<std::size_t>(i)].move) {
      auto rest = without;
      rest.erase(rest.begin() + i);
      for (std::ptrdiff_t j = 0; j <= n - 2; ++j) {
        list = rest;
        list.insert(begin() + j, was.begin() + i, was.begin() + i + 2);
        if (j != i) f(mutant, "a whole move elsewhere");
      }
    }
    if (kind != action_kind::release || was[static_cast<std::size_t>(i)].reads.size() < 2) continue;
    for (int const v : was[static_cast<std::size_t>(i)].reads)
      for (std::ptrdiff_t j = 0; j <= n; ++j) {
        list = was;
        auto& reads = list[static_cast<std::size_t>(i)].reads;
        search::value_list left;
        for (int const w : reads)
          if (w != v) left.push_back(w);
        reads = left;
        auto own = list[static_cast<std::size_t>(i)];
        own.reads = {v};
        list.insert(begin() + j, own);
        f(mutant, "released elsewhere");
      }
  }
}

struct tally {
  int mutants = 0, refused = 0, by_order = 0, waiting = 0;
};

void hold_against_explorer(search::program const& p, tally& count) {
  auto const right = explorer::symbols(p);
  REQUIRE(!right.empty());
  for_each_mutant(p, [&](search::program const& mutant, char const* how) {
    bool const alone = check(mutant).found();
    bool const order = breaks_stated_order(mutant);
    for (bool const both : {true, false}) {
      ++count.mutants;
      auto const wrong = explorer(p, both ? mutant : p, mutant).explore(right);
      search::program const pair[] = {both ? mutant : p, mutant};
      auto const together = check_order(pair);
      bool const refused = alone || together.found();
      count.waiting += !alone && std::string(together.what) == "waits forever";
      count.refused += refused;
      count.by_order += refused && wrong.empty();
      bool const is_wrong = !wrong.empty() || order;
      if (refused == is_wrong) continue;
      CAPTURE(how);
      CAPTURE(both);
      CAPTURE(wrong);
      CAPTURE(order);
      std::string const what = to_string(check(mutant), mutant);
      CAPTURE(what);
      CHECK(refused == is_wrong);
    }
  });
}

/// Returns a bit mask of the features of a program that mutants can break.
unsigned features(search::program const& p) {
  unsigned found = p.micro_batches > 1 ? 1u : 0u;
  unsigned groups = 0;
  for (auto const& m : p.moves) {
    if (m.bucket >= 0) found |= 2u;
    for (auto const& s : p.path_of(m).steps)
      if (communicates(s.kind)) groups |= 1u << ashlar::set_of(s.axes);
    if (p.path_of(m).steps.size() > 1 && !p.path_of(m).is_local()) found |= 4u;
    if (m.phase == search::phase::renew) found |= p.path_of(m).is_local() ? 1024u : 2048u;
  }
  if ((groups & (groups - 1)) != 0) found |= 8u;
  for (std::size_t i = 0; i < p.actions.size(); ++i) {
    auto const& a = p.actions[i];
    if (a.kind == action_kind::recompute) found |= 16u;
    if (a.kind == action_kind::weight_gradient) found |= 32u;
    if (a.kind == action_kind::exchange_halo) found |= 128u;
    if (a.kind == action_kind::add_halo) found |= 256u;
    bool const next = i + 1 < p.actions.size() && p.actions[i + 1].move == a.move;
    if (a.kind == action_kind::begin_move && !next) found |= 64u;
    // Bit 512: micro-batches take turns, so a forward pass follows an action of a later
    // micro-batch.
    if (i > 0 && computes(a.kind) && a.phase == search::phase::forward && (found & 64u) != 0 &&
        p.actions[i - 1].micro_batch > a.micro_batch)
      found |= 512u;
  }
  return found;
}

TEST_CASE("check refuses exactly the mutants that go wrong") {
  random_cases draw(21);
  tally count;
  unsigned seen = 0;
  for (int n = 0; (seen != 4095u || count.waiting == 0) && n < 3000; ++n) {
    CAPTURE(n);
    programmed const c(draw);
    if (c.serial.actions.size() > 34 || lasting_bytes(c.serial) == 0) continue;
    auto const made = c.passed();
    auto const& p = n % 3 == 0 ? c.serial : made[static_cast<std::size_t>(n) % made.size()];
    // Ranks may wait for each other if moves of two groups are under way at the same time.
    bool const may_wait = count.waiting == 0 && (features(p) & 72u) == 72u;
    if ((features(p) & ~seen) == 0 && !may_wait) continue;
    seen |= features(p);
    hold_against_explorer(p, count);
  }
  CHECK(seen == 4095u);
  MESSAGE(count.mutants, " mutants, ", count.refused, " refused, ", count.by_order,
          " of them for a rule of order, ", count.waiting, " that wait forever");
  CHECK(count.waiting > 0);
  CHECK(count.refused < count.mutants);
}

TEST_CASE("check refuses exactly the mutants of a program with delayed gradients that go wrong") {
  random_cases draw(22);
  tally count;
  int found = 0;
  for (int n = 0; found < 2 && n < 1000; ++n) {
    programmed c(draw);
    if (c.serial.actions.size() > 22 || lasting_bytes(c.serial) == 0) continue;
    c.delay(draw);
    auto const p = found == 0 ? c.serial : early_synchronization(c.serial, 0).made;
    // Takes only programs in which some delayed gradient moves between ranks and some gradient is
    // not delayed.
    bool crosses = false, delayed = false, plain = false;
    for (auto const& m : p.moves)
      crosses = crosses || (p.value_of(m.from).kind == search::value_kind::pending &&
                            !p.path_of(m).is_local());
    for (auto const& choice : c.plan.choices)
      for (auto const& it : choice.parameters) (it.delay > 0 ? delayed : plain) = true;
    if (!crosses || !delayed || !plain) continue;
    ++found;
    hold_against_explorer(p, count);
  }
  CHECK(found == 2);
  CHECK(count.refused > 100);
  CHECK(count.refused < count.mutants);
}

}  // namespace
}  // namespace ashlar_test
