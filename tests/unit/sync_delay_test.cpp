// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests plans with delayed gradients (sync/delayed.hpp): their memory by formula, the predicted
// seconds of their steps, reports, plan files, headers and fingerprints.

#include <algorithm>
#include <fstream>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/temporary_folder.hpp>

#include <ashlar/io/json/pipeline_file.hpp>
#include <ashlar/io/plan_header.hpp>
#include <ashlar/search/overlap/overlap_breakdown.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/step/pass_trial.hpp>
#include <ashlar/sync/delayed.hpp>
#include <ashlar/sync/encoded.hpp>
#include <ashlar/sync/explain.hpp>
#include <ashlar/sync/named.hpp>
#include <ashlar/sync/optimal.hpp>
#include <ashlar/sync/pinned.hpp>

#include "tied_gpt_problem.hpp"

namespace ashlar_test {
namespace {

namespace io = ashlar::io;
namespace nn = ashlar::nn;
namespace search = ashlar::search;
namespace sync = ashlar::sync;
using nlohmann::json;

struct delayed_net : tied_gpt_problem {
  search::plan by(char const* name, int delay) const {
    return sync::delayed{delay}(net, sync::named(name, net, plain, machine), machine);
  }
  /// Returns the bytes that the gradients of all parameters have on a rank at the placement that
  /// `at` returns. Gradients of later uses of tied parameters count only if `later` is true.
  template <class At>
  std::int64_t bytes(search::plan const& plan, bool later, At at) const {
    std::int64_t sum = 0;
    for (int i = 0; i < net.size(); ++i)
      for (int k = 0; k < plan[i].parameters.size(); ++k) {
        auto const& spec = net.spec(i).parameters[k];
        if (spec.tie == search::tie_role::later && !later) continue;
        sum += 4 * max_local_elements(spec.extents, mesh, at(plan[i].parameters[k]));
      }
    return sum;
  }
};

}  // namespace

TEST_CASE("a delay takes the memory of a second sum, and of the synchronized gradients it keeps") {
  delayed_net const s;
  for (auto const* name : {"all-reduce", "zero1", "zero3", "owners"}) {
    CAPTURE(std::string(name));
    auto const plain = s.by(name, 0);
    auto const sums = s.bytes(plain, true, [](auto const& p) { return p.grad; });
    auto const kept = s.bytes(plain, false, [](auto const& p) { return p.updated_at(); });
    for (int const delay : {1, 2, 5}) {
      auto const plan = s.by(name, delay);
      CHECK(plan.memory - plain.memory == sums + (delay - 1) * kept);
      auto const program = build(s.net, plan, s.machine);
      CHECK(!check(program).found());
      CHECK(high_water(program).peak == plan.memory);
      CHECK(plan.seconds == plain.seconds);  // nothing overlaps
    }
  }
}

TEST_CASE("with delays, a step takes as long as its passes or as its synchronization") {
  delayed_net s;
  s.net.overlap = true;
  auto const plan = s.by("all-reduce", 1);
  // The first link hardly takes any time. The last link takes much longer than the computations.
  for (double const beta : {1e-12, 1e-9, 1e-7, 1e-5}) {
    ashlar::machine const machine{{1e-7, beta}, {1e-7, beta}, 1e9, 1e10, 0};
    auto const before = search::overlap_of(s.net, s.plain, machine);
    auto const after = search::overlap_of(s.net, plan, machine);
    CHECK(!check(after.made).found());
    double const longer = std::max(after.when.work, after.when.busiest_link());
    CHECK(after.seconds() >= longer * (1 - 1e-9));
    CHECK(after.seconds() <= longer * 1.02);
    CHECK(after.seconds() <= before.seconds() * (1 + 1e-9));
  }
}

TEST_CASE("synchronizations of delayed gradients let other moves pass") {
  // Here the link also carries the gathers of parameters for each pass.
  delayed_net s;
  s.net.overlap = true;
  auto const plan = s.by("zero3", 1);
  ashlar::machine const machine{{1e-7, 2e-9}, {1e-7, 2e-9}, 1e9, 1e10, 0};
  auto const when = search::overlap_of(s.net, plan, machine);
  auto const serial = build(s.net, plan, machine);
  auto const at_once = early_synchronization(serial, 0).made;
  auto const numbers = search::buckets_of_size(serial, 0);
  auto const spread =
      early_synchronization(serial, numbers, 0, spread_starts(serial, numbers, machine)).made;
  CHECK(!check(spread).found());
  double const waits = timeline_of(at_once, machine).seconds,
               passes = timeline_of(spread, machine).seconds;
  CHECK(passes < waits);
  CHECK(when.seconds() <= passes);
  // The passes that reorder a program are heuristics, so the delayed step need not be the faster
  // one.
  CHECK(when.seconds() <= 1.02 * search::overlap_of(s.net, s.by("zero3", 0), machine).seconds());
}

TEST_CASE("the report says how old gradients are and what is hidden") {
  delayed_net s;
  auto const plan = s.by("zero1", 2);
  auto text = sync::explain(s.net, plan, s.machine);
  CHECK_MESSAGE(has(text, "ZeRO-1 along gpu, delay 2"), text);
  CHECK_MESSAGE(has(text, "parameters take gradients that are 2 steps old; nothing overlaps here"),
                text);
  CHECK(!has(sync::explain(s.net, s.plain, s.machine), "delay"));
  s.net.overlap = true;
  ashlar::machine const machine{{1e-7, 1e-10}, {1e-7, 1e-10}, 1e9, 1e10, 0};
  text = sync::explain(s.net, s.by("all-reduce", 1), machine);
  CHECK_MESSAGE(has(text, " parameters take gradients that are 1 step old;\n"), text);
  CHECK_MESSAGE(has(text, "of their synchronization run under the passes of the next step"), text);
  auto const facts = sync::detail::explained(s.net, s.by("all-reduce", 1), machine);
  double seconds = 0, exposed = 0;
  for (auto const& p : facts.parameters) {
    seconds += p.delayed_seconds;
    exposed += p.delayed_exposed;
  }
  CHECK(seconds > 0);
  CHECK(exposed < 1e-9 * seconds);
  CHECK(has(sync::diff(s.net, s.plain, s.by("all-reduce", 1), machine), "delay 1"));
}

TEST_CASE("builders, optimal and pinned keep delays") {
  delayed_net const s;
  auto const plan = s.by("all-reduce", 1);
  auto const all = [](search::plan const& p, int delay) {
    return !any_parameter(p, [&](auto const& it) { return it.delay != delay; });
  };
  CHECK(all(plan, 1));
  CHECK(all(sync::zero<1>{}(s.net, plan, s.machine), 1));
  CHECK(all(sync::owners{}(s.net, plan, s.machine), 1));
  CHECK(all(sync::encoded{ashlar::wires::int8}(s.net, plan, s.machine), 1));
  CHECK(all(sync::delayed{0}(s.net, plan, s.machine), 0));
  for (bool const overlap : {false, true}) {
    auto net = s.net;
    net.overlap = overlap;
    auto const best = sync::optimal(net, plan, s.machine);
    CHECK(all(best.chosen, 1));
    CHECK(best.chosen.memory == search::memory_per_rank(net, best.chosen));
  }
  auto const one = sync::pinned(s.net, s.plain, s.machine, "embedding.table", sync::delayed{2});
  CHECK(one[0].parameters[0].delay == 2);
  CHECK(one[s.net.ties[0].later].parameters[0].delay == 2);
  CHECK(has_delays(one));
  CHECK(!has_delays(without_delays(one)));
  CHECK(fingerprint(one) != fingerprint(s.plain));
  CHECK(fingerprint(plan) != fingerprint(s.by("all-reduce", 2)));
  static_assert(search::most_delay == 1000);  // error messages contain this number
}

TEST_CASE("gradients with wires after plain steps are not delayed") {
  delayed_net const s;
  sync::encoded const later{.wire = ashlar::wires::int8, .plain_steps = 3};
  auto const refused = [](auto const& work, std::string const& where) {
    CHECK(has(message_of(work), where + "gradients are delayed, but those under way when plain "
                                        "steps end would be lost."));
  };
  auto const wired = later(s.net, s.plain, s.machine);
  refused([&] { sync::delayed{1}(s.net, wired, s.machine); }, "sync::delayed: ");
  refused([&] { later(s.net, s.by("all-reduce", 1), s.machine); }, "sync::encoded: ");
  auto delayed = s.by("all-reduce", 1);
  delayed.plain_steps = 3;
  refused([&] { sync::optimal(s.net, delayed, s.machine, {.wires = {ashlar::wires::int8}}); },
          "sync::optimal: int8: ");
}

TEST_CASE("delays are kept in plan files, in version 7, and in headers") {
  temporary_folder const f;
  delayed_net const s;
  auto const path = f.file("plan.json");
  auto const load = [&](json const& j) {
    std::ofstream(path) << j;
    return io::load_plan(path, s.net, s.mesh, s.machine);
  };
  auto const plan = s.by("zero1", 3);
  io::save_plan(path, s.net, plan);
  auto j = json::parse(std::ifstream(path));
  CHECK(j["version"] == 7);
  auto& delay = j["elements"][0]["parameters"][0]["delay"];
  CHECK(delay == 3);
  auto const loaded = load(j);
  CHECK(loaded.choices == plan.choices);
  CHECK(loaded.memory == plan.memory);
  CHECK(fingerprint(loaded) == fingerprint(plan));
  for (auto const& bad : {json(-1), json(1001), json(4294967297)}) {
    delay = bad;
    CHECK(has(message_of([&] { load(j); }), "delay: a gradient is delayed by 0 to 1000 steps."));
  }
  for (auto const& bad : {json(1.5), json("1"), json(true)}) {
    delay = bad;
    CHECK(has(message_of([&] { load(j); }), "delay"));
  }
  delay = 3;
  j["elements"][0]["parameters"][0]["rows"] = true;
  CHECK(has(message_of([&] { load(j); }), "delay: a gradient in rows is not delayed"));
  j["elements"][0]["parameters"][0].erase("rows");
  j["version"] = 6;
  CHECK(has(message_of([&] { load(j); }), "\"delay\" is not a known key"));
  // A plan without delays is saved in an older version.
  io::save_plan(path, s.net, s.by("zero1", 0));
  CHECK(json::parse(std::ifstream(path))["version"] == 4);
  CHECK(!has_delays(io::load_plan(path, s.net, s.mesh, s.machine)));
  auto const text = io::plan_header_text(s.net, plan, "p");
  CHECK(has(text, ", false, wires::exact, 3}"));
  CHECK(has(text, "store[, update, in rows, wire, delay]}"));
}

}  // namespace ashlar_test
