// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests programs in which rows of tokens move to their experts, or back, in the background. If two
// micro-batches take turns, the timeline must equal HiDup's closed form (step/duplex_seconds.hpp).
// search::check must refuse a program in which the actions of such a move are in a wrong order. No
// plan may be faster than the bound of the search for the least overlapped time.

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <support/relative.hpp>

#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/moe.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/choices.hpp>
#include <ashlar/search/cost.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/search/overlap/overlapped_plan.hpp>
#include <ashlar/step/build.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/step/duplex_seconds.hpp>
#include <ashlar/step/early_moves.hpp>
#include <ashlar/step/timeline.hpp>

namespace {

namespace nn = ashlar::nn;
namespace search = ashlar::search;
using search::action_kind;

search::problem two_mixtures(int micro_batches, int turns) {
  nn::moe_options const o{.experts = 4, .chosen = 2, .hidden = 12, .balance = 0.1};
  auto net = search::any_length(
      nn::describe(nn::chain(nn::moe(8, o), nn::moe(8, o)), ashlar::shape{12, 8}, micro_batches));
  net.interleaved = turns;
  return net;
}

/// Returns a machine whose links take this many seconds per byte. With the values of `bytes_take`,
/// moves take between a small fraction and a multiple of the seconds of the work.
ashlar::machine machine_with(double seconds_of_a_byte) {
  ashlar::machine m;
  m.intra = {1e-7, seconds_of_a_byte};
  m.flops = 1e9;
  return m;
}
constexpr double bytes_take[] = {1e-10, 1e-9, 3e-9, 1e-8, 1e-7};

bool moves_rows(search::program const& p, search::action const& a) {
  return a.move >= 0 && p.path_of(p.move_of(a)).extents.is_routed() &&
         !p.path_of(p.move_of(a)).is_local();
}

/// Returns HiDup's stages of the first micro-batch, without the synchronization of gradients. A
/// stage consists of moves and of the computations after them.
std::vector<search::duplex_stage> stages_of(search::program const& p) {
  std::vector<search::duplex_stage> list{{}};
  bool computed = false;  // since the last move
  for (auto const& a : p.actions) {
    if (a.micro_batch > 0 || a.phase == search::phase::synchronize) continue;
    if (a.kind == action_kind::begin_move && !p.path_of(p.move_of(a)).is_local()) {
      if (std::exchange(computed, false)) list.push_back({});
      list.back().communication += p.path_of(p.move_of(a)).seconds;
    }
    computed = computed || computes(a.kind);
    list.back().work += a.seconds;
  }
  return list;
}

}  // namespace

TEST_CASE("with rows in the background, two micro-batches take the seconds of HiDup's form") {
  ashlar::topology const t{{"gpu", 2}};
  for (double const byte : bytes_take) {
    auto const m = machine_with(byte);
    auto const net = two_mixtures(2, 2);
    auto const plan = search::expert_parallel(net, t, m);
    auto const serial = build(net, plan, m);
    auto const early = search::early_moves(serial).made;
    CHECK(!search::check(early).found());
    auto const when = timeline_of(early, m);
    std::size_t end = 0;
    int behind = 0, rows = 0;
    while (end < early.actions.size() && early.actions[end].phase != search::phase::synchronize) {
      auto const& a = early.actions[end++];
      if (a.kind != action_kind::begin_move || !moves_rows(early, a)) continue;
      ++rows;
      auto const& next = early.actions[end];
      behind += next.kind != action_kind::end_move || next.move != a.move;
    }
    // Each mixture has four moves of rows in each micro-batch. A move begins as soon as its source
    // is made, and at least half of these moves have other actions before their ends.
    CHECK(rows == 16);
    CHECK(behind >= 8);
    double const seconds = search::duplex_seconds(stages_of(serial));
    CHECK(when.actions[end - 1].end == ashlar_test::relative(seconds));
    CHECK(when.seconds < timeline_of(serial, m).seconds);
  }
}

TEST_CASE("a program whose lines of a move of rows are in a wrong order is refused") {
  ashlar::topology const t{{"gpu", 2}};
  auto const m = machine_with(1e-9);
  for (int const turns : {1, 2, 3}) {
    auto const net = two_mixtures(3, turns);
    auto const p = search::early_moves(build(net, search::expert_parallel(net, t, m), m)).made;
    REQUIRE(!search::check(p).found());
    auto const index_of = [&](auto const& wanted) {
      return std::find_if(p.actions.begin(), p.actions.end(), wanted) - p.actions.begin();
    };
    int tried = 0;
    for (std::size_t i = 0; i < p.actions.size(); ++i) {
      auto const& begin = p.actions[i];
      if (begin.kind != action_kind::begin_move || !moves_rows(p, begin)) continue;
      auto const& move = p.move_of(begin);
      auto const end = index_of(
          [&](auto const& a) { return a.kind == action_kind::end_move && a.move == begin.move; });
      auto const makes = index_of([&](auto const& a) {
        return std::find(a.makes.begin(), a.makes.end(), move.from) != a.makes.end();
      });
      auto const reads = index_of([&](auto const& a) {
        return computes(a.kind) &&
               std::find(a.reads.begin(), a.reads.end(), move.to) != a.reads.end();
      });
      auto const refused = [&](auto const& change) {
        auto wrong = p;
        change(wrong.actions);
        CHECK(search::check(wrong).found());
        ++tried;
      };
      auto const at = static_cast<std::ptrdiff_t>(i);
      using actions = std::vector<search::action>;
      refused([&](actions& a) { a.erase(a.begin() + end); });
      refused([&](actions& a) { a.erase(a.begin() + at); });
      refused([&](actions& a) { a.insert(a.begin() + at, begin); });
      refused(
          [&](actions& a) { std::rotate(a.begin() + makes, a.begin() + at, a.begin() + at + 1); });
      refused([&](actions& a) {
        std::rotate(a.begin() + end, a.begin() + end + 1, a.begin() + reads + 1);
      });
    }
    CHECK(tried == 3 * 8 * 5);
  }
}

TEST_CASE("no plan of nets with experts is faster than the bound of the search") {
  std::mt19937 random(4);
  for (double const byte : bytes_take)
    for (int const turns : {1, 2, 3}) {
      CAPTURE(byte);
      CAPTURE(turns);
      auto net = two_mixtures(3, turns);
      ashlar::topology const t{{"gpu", 2}};
      auto const m = machine_with(byte);
      auto const seconds_of = [&](search::plan const& p) {
        return search::detail::overlapped_program(net, p, m).seconds;
      };
      auto asked = net;
      asked.overlap = true;
      auto const found = search::optimal(asked, t, m);
      double const bound = found.seconds * (1 - found.gap);
      CHECK(found.seconds == ashlar_test::relative(seconds_of(found)));
      std::vector<search::plan> plans{search::optimal(net, t, m), search::data_parallel(net, t, m),
                                      search::expert_parallel(net, t, m)};
      for (int k = 0; k < 20; ++k) {
        search::plan plan;
        plan.mesh = t;
        for (int i = 0; i < net.size(); ++i) {
          auto const list = search::layer_choices(net.spec(i), t);
          plan.choices.push_back(list[random() % list.size()]);
        }
        predict(plan, net, m);
        plans.push_back(plan);
      }
      for (auto& p : plans) {
        predict(p, net, m);
        CHECK(seconds_of(p) >= bound * (1 - 1e-9));
      }
      // The search also prices the plan of least serial seconds and a data-parallel plan, so its
      // own plan must not be slower than the first two of `plans`.
      for (std::size_t k = 0; k < 2; ++k) CHECK(found.seconds <= seconds_of(plans[k]) * (1 + 1e-9));
    }
}
