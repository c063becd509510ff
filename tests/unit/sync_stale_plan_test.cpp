// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests plans with stale parameters (step/staleness.hpp): the reasons to refuse a plan, the formula
// of the memory, reports, plan files, headers and fingerprints.

#include <algorithm>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/temporary_folder.hpp>

#include <ashlar/io/json/plan_file.hpp>
#include <ashlar/io/plan_header.hpp>
#include <ashlar/sync/delayed.hpp>
#include <ashlar/sync/encoded.hpp>
#include <ashlar/sync/explain.hpp>
#include <ashlar/sync/named.hpp>
#include <ashlar/sync/pinned.hpp>

#include "tied_gpt_problem.hpp"

namespace ashlar_test {
namespace {

namespace io = ashlar::io;
namespace nn = ashlar::nn;
namespace search = ashlar::search;
namespace sync = ashlar::sync;
using nlohmann::json;

struct stale_net : tied_gpt_problem {
  search::plan by(int staleness) const {
    return sync::owners{.staleness = staleness}(net, plain, machine);
  }
};

std::string staleness_text_of(stale_net const& s, search::plan const& plan) {
  char const* const wrong = search::staleness_fault(s.net, plan, s.machine);
  return wrong == nullptr ? "" : wrong;
}

}  // namespace

TEST_CASE("owners with a staleness are owners whose plan says so") {
  stale_net const s;
  auto const owned = sync::owners{}(s.net, s.plain, s.machine);
  CHECK(!is_stale(owned));
  for (int const staleness : {0, 4, sync::asynchronous}) {
    auto const plan = s.by(staleness);
    CHECK(plan.staleness == staleness);
    CHECK(plan.choices == owned.choices);
    CHECK(plan.seconds == owned.seconds);
    CHECK(staleness_text_of(s, plan) == "");
    CHECK(fingerprint(plan) != fingerprint(owned));
    CHECK(with_capacity<64>(plan).staleness == staleness);
    // Other builders make the plan synchronous again.
    CHECK(!is_stale(sync::named("zero1", s.net, plan, s.machine)));
  }
  CHECK(fingerprint(s.by(0)) != fingerprint(s.by(1)));
  CHECK(has(sync::explain(s.net, s.by(4), s.machine),
            "a rank reads values that miss gradients of at most 4 steps of the others"));
  CHECK(has(sync::explain(s.net, s.by(sync::asynchronous), s.machine), "any number of steps"));
}

TEST_CASE("letters take the memory of the formula") {
  stale_net const s;
  auto const owned = sync::owners{}(s.net, s.plain, s.machine);
  // The owner of the tied table receives gradients of both its uses, and returns one value.
  std::int64_t const table = 12 * 8;
  std::int64_t values = 0;
  for (int i = 0; i < s.net.size(); ++i)
    for (auto const& p : s.net.spec(i).parameters)
      if (p.tie != search::tie_role::later) values += p.extents.elements();
  std::int64_t most[2]{};
  for (int r = 0; r < 4; ++r) {
    std::int64_t own = 0;
    bool has_table = false;
    for (int i = 0; i < s.net.size(); ++i)
      for (int k = 0; k < owned[i].parameters.size(); ++k) {
        auto const& p = s.net.spec(i).parameters[k];
        if (p.tie == search::tie_role::later || owned[i].parameters[k].update[0].owner != r)
          continue;
        own += p.extents.elements();
        has_table = has_table || p.tie == search::tie_role::first;
      }
    for (int const copies : {1, 2})
      most[copies - 1] = std::max(most[copies - 1],
                                  4 * 4 * (copies * (own + (has_table ? table : 0)) + own));
  }
  std::int64_t const all = 4 * (values + table) + 2 * 4 * values;
  CHECK(s.by(1).memory - owned.memory == all + most[0]);
  CHECK(s.by(0).memory - owned.memory == all + most[1]);
}

TEST_CASE("plans that cannot train with a staleness are refused") {
  stale_net const s;
  auto const plan = s.by(2);
  auto const refused = [&](auto const& work, char const* text) {
    auto const message = message_of(work);
    CAPTURE(message);
    CHECK(has(message, text));
  };
  refused([&] { s.by(-1); }, "sync::owners: a staleness is 0 steps or more.");
  refused(
      [&] {
        (sync::owners{.values = sync::reads::at_use, .staleness = 1}(s.net, s.plain, s.machine));
      },
      "sync::owners: a plan with staleness sends all gradients to owners, and ranks read copies.");
  refused([&] { sync::delayed{1}(s.net, plan, s.machine); },
          "sync::delayed: gradients of a plan with staleness are sent as they are, at once");
  refused([&] { sync::pinned(s.net, plan, s.machine, "embedding.table", sync::zero<1>{}); },
          "the staleness belongs to the whole plan, whose parameters all have owners.");
  auto const on = [&](ashlar::topology const& t, auto const& layout) {
    return [&s, t, layout] {
      sync::owners{.staleness = 1}(s.net, layout(s.net, t, s.machine), s.machine);
    };
  };
  auto const by_data = [](auto const& net, auto const& t, auto const& m) {
    return search::data_parallel(net, t, m);
  };
  refused(on({{"node", 2}, {"gpu", 2}}, by_data),
          "does not have exactly one axis with several ranks.");
  refused(on({{"gpu", 1}}, by_data), "does not have exactly one axis with several ranks.");
  on({{"node", 1}, {"gpu", 4}}, by_data)();
  refused(on({{"gpu", 2}}, [](auto const& net, auto const& t,
                              auto const& m) { return search::tensor_parallel(net, t, m); }),
          "Give all parameters sync::owners{.staleness = K} in a plan that splits only the batch");
  refused([&] { sync::encoded{ashlar::wires::int8}(s.net, plan, s.machine); },
          "sync::encoded: gradients of a plan with staleness are sent as they are, at once");
  auto wired = plan;
  wired.choices[0].parameters[0].wire = ashlar::wires::int8;
  CHECK(has(staleness_text_of(s, wired), "are sent as they are"));
  // All parameters of this plan have owners, but the input of the last layer is replicated. So the
  // passes move activations between ranks.
  auto moved = plan;
  auto& turned = moved.choices.back();
  for (auto* p : {&turned.x, &turned.dx}) *p = ashlar::placement::all_broadcast(1);
  CHECK(has(staleness_text_of(s, moved),
            "other moves of the plan use the axis along which parameters are stale"));
}

TEST_CASE("plan files and headers have the staleness") {
  stale_net const s;
  temporary_folder const f;
  auto const path = f.file("stale.json");
  for (int const staleness : {0, 3, sync::asynchronous}) {
    auto const plan = s.by(staleness);
    io::save_plan(path, s.net, plan);
    auto const loaded = io::load_plan(path, s.net, s.mesh, s.machine);
    CHECK(loaded.staleness == staleness);
    CHECK(fingerprint(loaded) == fingerprint(plan));
    CHECK(loaded.memory == plan.memory);
  }
  json j;
  std::ifstream(path) >> j;
  CHECK(j["version"] == 10);
  auto const text_of = [&](auto const& change) {
    auto changed = j;
    change(changed);
    std::ofstream(path) << changed;
    return message_of([&] { io::load_plan(path, s.net, s.mesh, s.machine); });
  };
  for (auto const& bad : {json(-1), json(-2147483648LL), json(1LL << 40)})
    CHECK(has(text_of([&](json& it) { it["staleness"] = bad; }),
              "staleness: a staleness is 0 steps or more."));
  CHECK(has(text_of([](json& it) { it["staleness"] = "2"; }), "staleness"));
  CHECK(has(text_of([](json& it) { it["version"] = 9; }), "\"staleness\" is not a known key"));
  CHECK(has(text_of([](json& it) { it["elements"][0]["parameters"][0].erase("update"); }),
            "staleness: a plan with staleness sends all gradients to owners"));
  CHECK(has(io::plan_header_text(s.net, s.by(3), "p"), "plan.staleness = 3;"));
  CHECK(!has(io::plan_header_text(s.net, s.plain, "p"), "staleness"));
}

}  // namespace ashlar_test
