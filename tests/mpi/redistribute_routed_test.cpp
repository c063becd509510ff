// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8

// Tests redistributions of routed tensors (layout/routing.hpp). Such a tensor has rows only for the
// experts to which tokens go. The tests cover pairs of placements on all meshes and both
// transports, and both blocking redistributions and redistributions in the background. In some
// cases all experts get equally many tokens, in others some experts get none. The values must be
// right, and the moved bytes must be those that follow from the routes. For even routes, they must
// also be the bytes that the cost model predicts.

#include <doctest/doctest.h>
#include <support/naive_placement.hpp>
#include <support/placed.hpp>
#include <support/routed_cases.hpp>
#include <support/routed_traffic.hpp>
#include <support/traffic_check.hpp>

#include <ashlar/tensor/redistribute_async.hpp>

namespace ashlar_test {
namespace {

using any = ashlar::any_tensor<ashlar::device::host::processor>;

std::shared_ptr<ashlar::prepared_plan const> plan_for(ashlar::mesh const& m,
                                                      ashlar::shape const& extents,
                                                      placement const& from, placement const& to) {
  return m.prepared(extents, sizeof(double), from, to);
}

any moved_in_background(std::shared_ptr<ashlar::prepared_plan const> const& plan, any const& x) {
  ashlar::detail::running_plan<ashlar::device::host::processor> run(x, plan);
  x.mesh().progress();
  x.mesh().wait(run);
  return run.result();
}

/// Moves a tensor between all pairs of placements, or between a sample of the pairs if there are
/// many, and compares the values and the traffic. check(plan) returns the traffic that a plan must
/// have.
template <class Check>
void move_all(ashlar::mesh const& m, routed_case const& c, transport on, Check const& check) {
  auto const all = all_placements(c.extents.rank(), m.axes());
  std::size_t turn = 0;
  std::size_t const step = std::max<std::size_t>(1, all.size() * all.size() / 150) | 1u;
  auto const whole = placement::all_broadcast(m.axes());
  any const expected = routed_tensor(m, c, whole);
  for (auto const& from : all)
    for (auto const& to : all) {
      if (turn++ % step != 0) continue;
      INFO(c.name, ": ", ashlar::to_string(from), " to ", ashlar::to_string(to), ", ",
           to_string(on));
      auto const plan = plan_for(m, c.extents, from, to);
      auto const x = routed_tensor(m, c, from);
      any moved, behind;
      {
        traffic_check traffic(m, on);
        moved = ashlar::detail::run_plan(x, *plan);
        auto const expected_traffic = check(plan->plan);
        auto wrong = traffic.difference(expected_traffic);
        REQUIRE_MESSAGE(wrong == "", wrong);
        traffic.clear();
        behind = moved_in_background(plan, x);
        wrong = traffic.difference(expected_traffic);
        REQUIRE_MESSAGE(wrong == "", wrong);
      }
      REQUIRE(same_shards(behind, moved));
      if (!to.has_partial()) REQUIRE(same_shards(moved, routed_tensor(m, c, to)));
      auto const back = plan_for(m, c.extents, to, whole);
      REQUIRE(same_shards(ashlar::detail::run_plan(moved, *back), expected));
    }
}

}  // namespace

TEST_CASE("rows arrive where they belong, with the bytes that the routes need") {
  for (auto const on : {transport::messages, transport::shared_memory})
    for (auto const& t : world_topologies()) {
      ashlar::mesh const m = mesh_on(on, t);
      for (auto const& c : uneven_routes())
        move_all(m, c, on, [&](auto const& plan) { return counted(m, plan, *c.routes); });
    }
}

TEST_CASE("even routes need the bytes that the cost model predicts") {
  if (world_size() > 4) return;
  for (auto const& t : world_topologies()) {
    ashlar::mesh const m = mesh_on(transport::messages, t);
    auto const c = even_routes();
    move_all(m, c, transport::messages, [&](auto const& plan) {
      CHECK(counted(m, plan, *c.routes) == predicted(m, plan));
      return predicted(m, plan);
    });
  }
}

TEST_CASE("rows move to an owner and from it") {
  int const n = world_size();
  ashlar::mesh const m = mesh_on(transport::messages, {{"gpu", n}});
  auto const whole = placement::all_broadcast(1);
  for (auto const& c : uneven_routes())
    for (int const owner : {0, n - 1})
      for (auto const& p : all_placements(c.extents.rank(), 1)) {
        placement const home{ashlar::owned(owner)};
        INFO(c.name, ": ", ashlar::to_string(home), " and ", ashlar::to_string(p));
        auto const moved = [&](any const& x, placement const& from, placement const& to) {
          return ashlar::detail::run_plan(x, *plan_for(m, c.extents, from, to));
        };
        auto const there = moved(routed_tensor(m, c, p), p, home);
        CHECK(same_shards(there, routed_tensor(m, c, home)));
        auto const back = moved(there, home, p);
        CHECK(same_shards(moved(back, p, whole), routed_tensor(m, c, whole)));
      }
}

TEST_CASE("rows of several tensors move at the same time, and beside other transfers") {
  for (auto const on : {transport::messages, transport::shared_memory}) {
    ashlar::mesh const m = mesh_on(on, {{"gpu", world_size()}});
    auto const by_token = placement{ashlar::split(0)};
    auto const whole = placement::all_broadcast(1);
    std::vector<routed_case> cases;
    for (auto const& c : uneven_routes())
      if (c.extents.rank() == 3) cases.push_back(c);
    cases.push_back(even_routes());
    auto const by_expert = placement{ashlar::split(1)};
    using rows_tensor = ashlar::tensor<double, 3>;
    // These two moves create the communicators of the group before the traffic is counted.
    for (auto const& to : {by_expert, whole})
      ashlar::detail::run_plan(routed_tensor(m, cases[0], by_token),
                               *plan_for(m, cases[0].extents, by_token, to));
    traffic_check const traffic(m, on);
    std::vector<ashlar::moving_tensor<rows_tensor>> there, back;
    exchanges expected;
    for (auto const& c : cases) {
      auto const x = routed_tensor(m, c, by_token).as<rows_tensor>();
      there.push_back(ashlar::redistribute_async(x, by_expert));
      for (auto const& e : counted(m, plan_for(m, c.extents, by_token, by_expert)->plan, *c.routes))
        expected.push_back(e);
    }
    // This redistribute() of a dense tensor waits for its result. Its transfer begins only when the
    // transfers of rows that were requested before it have ended.
    auto const dense_rows = placed<double, 1>(m, dense({7}, 3.0), by_token);
    for (auto const& e : predicted(m, plan_redistribution(dense_rows, whole).plan))
      expected.push_back(e);
    CHECK(ashlar::redistribute(dense_rows, whole).local_elements() == 7);
    for (std::size_t k = cases.size(); k-- > 0;) {  // from the last one to the first one
      auto const& c = cases[k];
      auto const arrived = there[k].wait();
      CHECK(same_shards(arrived, routed_tensor(m, c, by_expert)));
      back.push_back(ashlar::redistribute_async(arrived, whole));
      for (auto const& e : counted(m, plan_for(m, c.extents, by_expert, whole)->plan, *c.routes))
        expected.push_back(e);
    }
    for (std::size_t k = 0; k < back.size(); ++k)
      CHECK(same_shards(back[k].wait(), routed_tensor(m, cases[back.size() - 1 - k], whole)));
    auto const wrong = traffic.difference(expected, false);
    CHECK_MESSAGE(wrong == "", wrong);
  }
}

TEST_CASE("a mesh keeps the plans of rows apart by how full the fullest rank is") {
  ashlar::mesh const m = mesh_on(transport::messages, {{"gpu", world_size()}});
  auto const by_token = placement{ashlar::split(0)}, by_expert = placement{ashlar::split(1)};
  auto extents = even_routes().extents;
  for (int const fullest : {1000, 2000}) {
    extents.fullest = fullest;
    CHECK(plan_for(m, extents, by_token, by_expert)->plan ==
          ashlar::plan_redistribution(extents, sizeof(double), by_token, by_expert, m.topology(),
                                      m.machine()));
  }
}

TEST_CASE("what cannot be done with routed rows is refused on all ranks") {
  ashlar::mesh const m = mesh_on(transport::shared_memory, world_topologies()[0]);
  auto const c = even_routes();
  auto const whole = ashlar::placement::all_broadcast(m.topology().axes());
  using rows_tensor = ashlar::tensor<double, 3>;
  auto const x = ashlar::make_routed<rows_tensor>(m, c.extents, whole, c.routes);
  CHECK_THROWS_WITH_AS(x.clone(), doctest::Contains("of routed rows is made by make_routed"),
                       ashlar::error);
  auto others = c.extents;
  others[0] += 1;
  CHECK_THROWS_WITH_AS(ashlar::make_routed<rows_tensor>(m, others, whole, c.routes),
                       doctest::Contains("experts, but the extents are"), ashlar::error);
}

}  // namespace ashlar_test
