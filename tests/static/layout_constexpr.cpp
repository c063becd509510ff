// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks that layouts, topologies and costs can be computed in constant expressions.

#include <ashlar/layout/layout.hpp>
#include <ashlar/machine/link.hpp>
#include <ashlar/placement/tags.hpp>

using namespace ashlar::placements;
using ashlar::balanced_part, ashlar::interval, ashlar::sbp, ashlar::value_of;

namespace {
constexpr ashlar::topology mesh{{"node", 2}, {"gpu", 3}};
constexpr auto box(ashlar::shape const& s, ashlar::placement const& p, int rank) {
  return local_box(s, mesh, p, mesh.coordinates_of(rank));
}
static_assert(mesh.ranks() == 6);
static_assert(mesh.ranks_per_node() == 3);
static_assert(mesh.rank_of({1, 2}) == 5);
static_assert(balanced_part({0, 7}, 3, 0) == interval{0, 3});
static_assert(balanced_part({0, 7}, 3, 2) == interval{5, 2});
static_assert(balanced_part({0, 2}, 3, 2) == interval{2, 0});
static_assert(box({7, 5}, value_of<sbp<S<0>, S<1>>>, 5)[0] == interval{4, 3});
static_assert(box({7, 5}, value_of<sbp<S<0>, S<1>>>, 5)[1] == interval{4, 1});
static_assert(box({7}, value_of<sbp<S<0>, S<0>>>, 1)[0] == interval{2, 1});
static_assert(box({7}, value_of<sbp<S<0, 1>, S<0, 0>>>, 1)[0] == interval{3, 1});
static_assert(max_local_elements({7, 5}, mesh, value_of<sbp<P, S<0>>>) == 3 * 5);
static_assert(group_link(ashlar::machine{}, mesh, {1}, ashlar::collective::all_gather) ==
              ashlar::machine{}.intra);
static_assert(collective_traffic(ashlar::collective::all_reduce, 4, 8, 8, 8, 0) ==
              ashlar::traffic{6, 12});
}  // namespace
