// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks that the compiler finds a redistribution plan on a mesh of three axes within its default
// limits. On such a mesh, a matrix can have 92 placements: each axis is B, P, S(0) or S(1), and
// axes that split the same dimension can do so in every order.

#include <ashlar/placement/tags.hpp>
#include <ashlar/plan/redistribution.hpp>

using namespace ashlar::placements;
using ashlar::sbp, ashlar::value_of;

namespace {
constexpr ashlar::topology cube{{"node", 2}, {"gpu", 2}, {"lane", 2}};
constexpr auto plan = ashlar::plan_redistribution({512, 4096}, 4, value_of<sbp<P, S<0>, S<1>>>,
                                                  value_of<sbp<S<1>, B, S<0>>>, cube,
                                                  ashlar::machine{});
static_assert(plan.steps.size() >= 1);
static_assert(plan.steps[0].from == plan.from);
static_assert(plan.steps.back().to == plan.to);
}  // namespace
