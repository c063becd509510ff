// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks that the compiler finds redistribution plans within its default limits, and that plans are
// values: they can be compared, and their steps can be template arguments.

#include <ashlar/placement/tags.hpp>
#include <ashlar/plan/redistribution.hpp>

using namespace ashlar::placements;
using ashlar::collective, ashlar::sbp, ashlar::value_of;

namespace {

constexpr ashlar::topology mesh{{"node", 2}, {"gpu", 2}};
constexpr ashlar::topology cluster{{"node", 4}, {"gpu", 8}};

template <class From, class To>
constexpr auto plan_on(ashlar::topology const& t, ashlar::shape const& extents) {
  return ashlar::plan_redistribution(extents, 4, value_of<From>, value_of<To>, t,
                                     ashlar::machines::gpu_cluster);
}

// This plan has one step, an all-gather along the last axis.
constexpr auto gather = plan_on<sbp<S<0>, S<1>>, sbp<S<0>, B>>(mesh, {512, 4096});
static_assert(gather.steps.size() == 1);
static_assert(gather.steps[0].kind == collective::all_gather);
static_assert(gather.steps[0].axes == ashlar::axis_list{1});
static_assert(gather.received_bytes(mesh, {}) == 4 * 256 * 2048);
static_assert(gather.peak_bytes == 4 * 256 * (2048 + 4096));
static_assert(gather.seconds > 0);
static_assert(!gather.is_local());

// This plan is a hierarchical all-reduce: a reduce-scatter within nodes, an all-reduce across
// nodes, and an all-gather within nodes.
constexpr auto reduce = plan_on<sbp<P, P>, sbp<B, B>>(cluster, {4096, 4096});
static_assert(reduce.steps.size() == 3);
static_assert(reduce.steps[0].kind == collective::reduce_scatter);
static_assert(reduce.steps[1].kind == collective::all_reduce);
static_assert(reduce.steps[2].kind == collective::all_gather);

// These redistributions need no communication.
constexpr auto cut = plan_on<sbp<B, B>, sbp<S<0>, S<1>>>(mesh, {512, 4096});
static_assert(cut.is_local());
static_assert(cut.seconds == 0);
static_assert(plan_on<sbp<S<0>, B>, sbp<S<0>, B>>(mesh, {512, 4096}).steps.empty());

// This plan leads from one kind of reduction to another.
static_assert(plan_on<sbp<Pmax, B>, sbp<B, P>>(mesh, {512, 4096}).to == value_of<sbp<B, P>>);

// Plans can be compared, and their steps can be template arguments.
static_assert(gather == plan_on<sbp<S<0>, S<1>>, sbp<S<0>, B>>(mesh, {512, 4096}));
static_assert(!(gather == reduce));
template <ashlar::redistribution_step Step>
inline constexpr collective kind_of = Step.kind;
static_assert(kind_of<gather.steps[0]> == collective::all_gather);

}  // namespace
