// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests programs whose renewals run at the same time as the next forward pass
// (step/renewal_first.hpp). A renewal moves an updated parameter from the placement of its update
// to the placement of its storage. These programs must pass the check, move the same bytes as
// without this overlap, stay within a memory limit, and be faster if links are slow. Programs that
// renew too late must be refused. tests/mpi/sync_strategies_test.cpp tests that losses and values
// have the same bits.

#include <doctest/doctest.h>

#include <ashlar/mesh/text.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/step/build.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/step/early_renewal.hpp>
#include <ashlar/step/overlapped.hpp>
#include <ashlar/step/renewal_first.hpp>
#include <ashlar/step/timeline.hpp>
#include <ashlar/step/traffic.hpp>
#include <ashlar/sync/named.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace search = ashlar::search;
namespace sync = ashlar::sync;

struct renewed_net {
  search::problem net = any_length(
      nn::describe<float>(nn::gpt({.layers = 2, .features = 16, .heads = 2, .vocabulary = 24}),
                          nn::token_batch{8, 8, 2}));
  ashlar::topology mesh;
  ashlar::machine machine{{1e-5, 1e-9}, {1e-5, 1e-9}, 1e9, 1e9, 0};

  explicit renewed_net(char const* t) : mesh(ashlar::parse_topology(t)) {}
  search::program by(std::string_view name) const {
    return build(net, sync::named(name, net, search::data_parallel(net, mesh, machine), machine),
                 machine);
  }
};

constexpr int all = std::numeric_limits<int>::max();

/// Moves the first action for which is_it(action) is true to the place behind the last action for
/// which after(action) is true.
template <class Is, class After>
search::program with_later(search::program p, Is is_it, After after) {
  auto const from = std::find_if(p.actions.begin(), p.actions.end(), is_it);
  auto const moved = *from;
  p.actions.erase(from);
  auto const to = std::find_if(p.actions.rbegin(), p.actions.rend(), after).base();
  p.actions.insert(to, moved);
  return p;
}

}  // namespace

TEST_CASE("renewals under the forward pass are right, with the same bytes and within the limit") {
  for (auto const* const t : {"gpu=4", "gpu=1", "node=2,gpu=3"}) {
    renewed_net const s(t);
    for (auto const name : {"zero1", "owners", "hybrid"})
      for (int const under_way : {1, 3, all}) {
        CAPTURE(std::string(t) + " " + name);
        auto const serial = s.by(name);
        auto const first = search::renewal_first(serial, s.machine, under_way);
        if (serial.mesh.ranks() == 1) {
          CHECK(timeline_of(first.made, s.machine).seconds ==
                timeline_of(serial, s.machine).seconds);
          continue;
        }
        CHECK(first.applied);
        CHECK(first.made.renews_first);
        auto const found = check(first.made);
        CHECK_MESSAGE(!found.found(), found.what);
        for (int r = 0; r < s.mesh.ranks(); ++r)
          CHECK(received_at(first.made, s.mesh.coordinates_of(r)) ==
                received_at(serial, s.mesh.coordinates_of(r)));
        auto const when = timeline_of(first.made, s.machine);
        CHECK(when.seconds <= serial_seconds(serial, s.machine).seconds() * (1 + 1e-9));
        CHECK(when.seconds >= std::max(when.work, when.busiest_link()) * (1 - 1e-9));
        auto const limit = high_water(serial).peak;
        auto const within = search::renewal_first(serial, s.machine, under_way, limit);
        CHECK(high_water(within.made).peak <= limit);
      }
  }
}

TEST_CASE("renewals hide under the next forward pass, and trainers get such programs") {
  renewed_net const s("gpu=4");
  auto const serial = s.by("zero1");
  double early = timeline_of(serial, s.machine).seconds, first = early;
  for (std::int64_t const bytes : {1000, 10'000, 1'000'000})
    early = std::min(early,
                     timeline_of(search::early_renewal(serial, bytes).made, s.machine).seconds);
  for (int const under_way : {2, all})
    first = std::min(
        first,
        timeline_of(search::renewal_first(serial, s.machine, under_way).made, s.machine).seconds);
  CHECK(first < early);
  auto const result = overlapped(serial, s.machine);
  CHECK(result.made.renews_first);
  search::overlap_options after;
  after.renews_first = false;
  CHECK_FALSE(overlapped(serial, s.machine, after).made.renews_first);
  CHECK(result.seconds < overlapped(serial, s.machine, after).seconds);
  CHECK_FALSE(overlapped(s.by("zero3"), s.machine).made.renews_first);
  auto const limit = high_water(serial).peak / 2;
  auto const refused = search::renewal_first(serial, s.machine, all, limit);
  CHECK(std::string(refused.reason) == "it would need more memory than the limit allows");
}

TEST_CASE("programs that renew too late are refused") {
  renewed_net const s("gpu=4");
  auto const p = search::renewal_first(s.by("zero1"), s.machine, 1).made;
  auto const is_renewal = [&](search::action const& a, search::action_kind kind) {
    return a.kind == kind && p.move_of(a).phase == search::phase::renew;
  };
  auto const ends = [&](auto const& a) { return is_renewal(a, search::action_kind::end_move); };
  auto const updates = [](auto const& a) { return a.kind == search::action_kind::update; };
  auto const found = check(with_later(p, ends, updates));
  CHECK(std::string(found.what) == "reads a parameter that is not renewed yet");
  auto unnamed = p;
  unnamed.renews_first = false;
  CHECK(std::string(check(unnamed).what) == "reads a parameter that is not updated yet");
}

}  // namespace ashlar_test
