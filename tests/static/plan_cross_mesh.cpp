// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks that the compiler plans a redistribution from one part of a mesh to another, within its
// default limits.

#include <ashlar/placement/tags.hpp>
#include <ashlar/plan/cross_mesh.hpp>

using namespace ashlar::placements;
using ashlar::sbp, ashlar::value_of;

namespace {

constexpr ashlar::topology whole{{"node", 2}, {"gpu", 2}};

/// Plans the move of a 64x64 float tensor from the first node to the second one.
template <class From, class To>
constexpr auto planned() {
  auto const nodes = parts_along(whole, "node");
  return plan_cross_mesh({64, 64}, 4, nodes[0], value_of<From>, nodes[1], value_of<To>, whole,
                         ashlar::machines::gpu_cluster);
}

// Both ranks of the first node send their own rows, and nothing moves within nodes.
constexpr bool rows_cross_alone() {
  auto const plan = planned<sbp<S<0>>, sbp<S<0>>>();
  return plan.before.steps.empty() && plan.after.steps.empty() && plan.across.tasks.size() == 2 &&
         plan.seconds > 0;
}
static_assert(rows_cross_alone());

// A partial tensor is reduced before it crosses, because each of its addends is as large as the
// tensor.
constexpr bool sums_are_completed_first() {
  auto const plan = planned<sbp<P>, sbp<S<0>>>();
  return plan.before.steps.size() == 1 &&
         plan.before.steps[0].kind == ashlar::collective::reduce_scatter;
}
static_assert(sums_are_completed_first());

}  // namespace
