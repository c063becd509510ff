// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8

// Tests redistributions of routed tensors between all pairs of placements, on all meshes and both
// transports. The loads of the experts range from even to empty. The values must be right, and the
// moved bytes must be those that follow from the routes. For even routes, they must also be the
// bytes that the cost model predicts.

#include <doctest/doctest.h>
#include <support/naive_placement.hpp>
#include <support/placed.hpp>
#include <support/routed_cases.hpp>
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

/// Returns the number of elements in the routed rows that box `b` contains, by counting row by row.
std::int64_t rows_times_features(routed_case const& c, ashlar::box const& b) {
  std::int64_t elements = 0, token = 0;
  int const dims = c.extents.rank() - 2;
  for_each_index(
      [&] {
        index all;
        for (int d = 0; d < dims; ++d) all.push_back(static_cast<int>(c.extents[d]));
        return all;
      }(),
      [&](index const& at) {
        bool inside = true;
        for (int d = 0; d < dims; ++d)
          inside = inside && at[static_cast<std::size_t>(d)] >= b[d].begin &&
                   at[static_cast<std::size_t>(d)] < b[d].end();
        for (int k = 0; inside && k < c.routes->chosen; ++k) {
          auto const e = c.routes->experts_of(token)[k];
          if (e >= b[dims].begin && e < b[dims].end()) elements += b[dims + 1].size;
        }
        ++token;
      });
  return elements;
}

/// Returns the collectives of a plan, each with the bytes that this rank receives. The bytes follow
/// from the case's routes and from the boxes that the rank holds before and after the step.
exchanges counted(ashlar::mesh const& m, routed_case const& c,
                  ashlar::redistribution_plan const& plan) {
  exchanges all;
  auto const& t = m.topology();
  auto const here = m.coordinate();
  for (auto const& s : plan.steps) {
    if (!communicates(s.kind)) continue;
    auto const before = local_box(c.extents, t, s.from, here);
    auto const after = local_box(c.extents, t, s.to, here);
    auto const old = rows_times_features(c, before), made = rows_times_features(c, after);
    auto const kept = rows_times_features(c, intersect(before, after));
    int const p = t.group_size(s.axes);
    std::int64_t received = made - kept;
    if (s.kind == ashlar::collective::reduce_scatter) received = (p - 1) * made;
    if (s.kind == ashlar::collective::all_reduce) {
      auto const own = ashlar::balanced_part({0, old}, p, t.index_in_group(here, s.axes)).size;
      received = (p - 1) * own + old - own;
    }
    if (s.kind == ashlar::collective::permute && is_pairwise(s, t))
      received = permute_partner(s, here) == here ? 0 : made;
    all.push_back({s.kind, s.axes, received * std::int64_t(sizeof(double))});
  }
  return all;
}

/// Moves a tensor between all pairs of placements (on meshes with several axes: between a sample of
/// them) and compares the values. check(plan) returns the traffic that a plan must have.
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
      any moved;
      {
        traffic_check traffic(m, on);
        moved = ashlar::detail::run_plan(routed_tensor(m, c, from), *plan);
        auto const wrong = traffic.difference(check(plan->plan));
        REQUIRE_MESSAGE(wrong == "", wrong);
      }
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
        move_all(m, c, on, [&](auto const& plan) { return counted(m, c, plan); });
    }
}

TEST_CASE("even routes need the bytes that the cost model predicts") {
  if (world_size() > 4) return;
  for (auto const& t : world_topologies()) {
    ashlar::mesh const m = mesh_on(transport::messages, t);
    auto const c = even_routes();
    move_all(m, c, transport::messages, [&](auto const& plan) {
      CHECK(counted(m, c, plan) == predicted(m, plan));
      return predicted(m, plan);
    });
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
  CHECK_THROWS_WITH_AS(ashlar::redistribute_async(x, whole),
                       doctest::Contains("rows of experts do not move in the background."),
                       ashlar::error);
  auto others = c.extents;
  others[0] += 1;
  CHECK_THROWS_WITH_AS(ashlar::make_routed<rows_tensor>(m, others, whole, c.routes),
                       doctest::Contains("experts, but the extents are"), ashlar::error);
}

}  // namespace ashlar_test
