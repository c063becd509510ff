// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests pipeline schedules in which skips carry values from one stage to a later one: the times of
// their replays, and the common order of the passes and transfers of all parts.
// - Skips whose transfers take no time do not change the times of a replay. Each pass waits for the
//   transfers whose values it reads.
// - The times of the transfers are those of links that carry one transfer at a time.
// - If parts take their passes and transfers from the common order one at a time, and every
//   transfer waits for both of its ends, all parts finish.

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include <doctest/doctest.h>

#include <ashlar/step/pipeline/lower.hpp>
#include <ashlar/step/pipeline/text.hpp>

#include "step_pipeline_schedules.hpp"

namespace ashlar_test {
namespace {

using namespace ashlar::pipelines;

skip_transfers draw_skips(int stages, std::mt19937& random) {
  auto const below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  skip_transfers skips;
  for (int k = below(4); k >= 0 && stages > 1; --k) {
    int const from = below(stages - 1), to = from + 1 + below(stages - 1 - from);
    skips.push_back({from, to, 0.25 * below(8), 0.25 * below(8)});
  }
  return skips;
}

/// Returns a description of what is wrong with a common order, or an empty text.
std::string fault_of_lines(schedule const& s, skip_transfers const& skips,
                           std::vector<lowered_line> const& lines) {
  // The transfers so far, each as (receiving stage, whether it is forward, micro-batch, skip).
  std::set<std::tuple<int, bool, int, int>> there;
  std::vector<std::vector<action>> passes(static_cast<std::size_t>(s.positions));
  lowered_line const* last = nullptr;
  for (auto const& line : lines) {
    bool const forward = line.what.what == pass::forward;
    int const stage = s.stage_of(line.position, line.what.chunk), m = line.what.micro_batch;
    if (line.is_transfer) {
      if (last == nullptr || last->position != line.position || !(last->what == line.what))
        return "a transfer does not follow the pass that makes it";
      int const to = line.skip < 0 ? stage + (forward ? 1 : -1)
                     : forward     ? skips[static_cast<std::size_t>(line.skip)].to
                                   : skips[static_cast<std::size_t>(line.skip)].from;
      if (line.target != s.position_of(to)) return "a transfer goes to another part";
      if (!there.insert({to, forward, m, line.skip}).second) return "a transfer is there twice";
      continue;
    }
    last = &line;
    passes[static_cast<std::size_t>(line.position)].push_back(line.what);
    if (line.what.what == pass::weight_gradient) continue;
    for (int k = 0; k < static_cast<int>(skips.size()); ++k) {
      auto const& it = skips[static_cast<std::size_t>(k)];
      if (s.position_of(it.from) == s.position_of(it.to)) continue;
      if ((forward ? it.to : it.from) == stage && !there.count({stage, forward, m, k}))
        return "a pass comes before the transfer of what it reads";
    }
  }
  return passes == s.order ? "" : "the passes are in another order";
}

/// Returns a description of what is wrong with the times of the transfers, or an empty text.
std::string fault_of_transfers(schedule const& s, pipeline_costs const& costs,
                               skip_transfers const& skips, timeline const& times) {
  struct link_state {
    double free = 0;
    std::ptrdiff_t pass = -1;  ///< the pass of the sender that used the link last
  };
  /// A part that has run a pass, and the time at which it can begin the sends of the pass.
  struct sender_state {
    std::ptrdiff_t pass = -1;
    double ready = 0;
  };
  std::map<std::pair<int, int>, link_state> links;
  std::vector<sender_state> senders(s.order.size());
  for (auto const& t : times.transfers) {
    auto const at = static_cast<std::size_t>(t.position);
    auto const& own = s.order[at];
    auto const pass = std::find(own.begin(), own.end(), t.what) - own.begin();
    bool const forward = t.what.what == ashlar::pipelines::pass::forward;
    auto const& cost = costs[static_cast<std::size_t>(s.stage_of(t.position, t.what.chunk))];
    double seconds = forward ? cost.send_forward : cost.send_backward;
    if (t.skip >= 0) {
      auto const& skip = skips[static_cast<std::size_t>(t.skip)];
      seconds = forward ? skip.forward : skip.backward;
    }
    auto& link = links[{t.position, t.target}];
    auto& sender = senders[at];
    if (sender.pass != pass) sender = {pass, times.passes[at][static_cast<std::size_t>(pass)].end};
    // The sends of earlier passes to the same part must have ended.
    if (link.pass != pass) sender.ready = std::max(sender.ready, link.free);
    if (t.begin != std::max(link.free, sender.ready))
      return "a transfer does not begin when it can";
    if (t.end != t.begin + seconds) return "a transfer takes other seconds";
    auto const next = static_cast<std::size_t>(pass) + 1;
    if (next < own.size() && times.passes[at][next].begin < sender.ready)
      return "a part goes on although it cannot send yet";
    link = {t.end, pass};
  }
  return "";
}

}  // namespace

TEST_CASE("replays of schedules with skips over stages") {
  std::mt19937 random(3);
  int sent = 0;
  for (int s = 1; s <= 5; ++s)
    for (int m : {1, 3, s, 2 * s + 1})
      for (auto const& order : all_schedules(s, m)) {
        INFO(to_string(order));
        auto const costs = equal(order.stages(), 1, 0.75, 0.5, 0.25 * int(random() % 4));
        for (int turn = 0; turn < 3; ++turn) {
          auto skips = draw_skips(order.stages(), random);
          auto const with = replay(order, costs, skips);
          CHECK(with.complete);
          double end = 0;
          for (double const e : ends_of(order, costs, skips)) end = std::max(end, e);
          CHECK(end == with.seconds);
          CHECK(with.seconds >= seconds_of(order, costs));
          auto const lines = lowered(order, costs, skips);
          CHECK(fault_of_lines(order, skips, lines) == "");
          for (auto const& line : lines) sent += line.skip >= 0;
          CHECK(fault_of_transfers(order, costs, skips, with) == "");
          CHECK(with.transfers.size() ==
                std::size_t(std::count_if(lines.begin(), lines.end(),
                                          [](auto const& line) { return line.is_transfer; })));
          for (auto& it : skips) it.forward = it.backward = 0;
          auto no_sends = costs;
          for (auto& c : no_sends) c.send_forward = c.send_backward = 0;
          CHECK(replay(order, no_sends, skips).seconds == seconds_of(order, no_sends));
        }
      }
  CHECK(sent > 1000);
}

TEST_CASE("one micro-batch takes the longest way from the begin of a skip to its end") {
  pipeline_costs const costs(3, {1, 1, 1, 0.5, 0.25});
  auto const seconds = [&](skip_transfers const& skips) {
    return replay(one_f_one_b(3, 1), costs, skips).seconds;
  };
  CHECK(seconds({}) == 10.5);
  CHECK(seconds({{0, 2, 2, 0}}) == 10.5);  // takes as long as the way through stage 1
  CHECK(seconds({{0, 2, 3, 0}}) == 11.5);
  CHECK(seconds({{0, 2, 3, 5}}) == 14);                  // through stage 1 the gradient takes 2.5
  CHECK(seconds({{0, 2, 3, 0}, {0, 2, 1, 0}}) == 12.5);  // both skips use one link in turn
  CHECK(seconds({{0, 1, 3, 0}}) == 13.5);                // the output of stage 0 goes first
}

}  // namespace ashlar_test
