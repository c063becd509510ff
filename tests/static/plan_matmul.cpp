// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks that the compiler finds plans of matrix products within its default limits, and that these
// plans are constant expressions.

#include <ashlar/placement/tags.hpp>
#include <ashlar/plan/matmul_layouts.hpp>

using namespace ashlar::placements;
using ashlar::collective, ashlar::sbp, ashlar::value_of;

namespace {

constexpr ashlar::topology mesh{{"node", 2}, {"gpu", 2}};

template <class A, class B, class C>
constexpr ashlar::matmul_plan plan_on(ashlar::topology const& t, ashlar::shape const& a,
                                      ashlar::shape const& b,
                                      ashlar::matmul_options const& wanted = {}) {
  return ashlar::plan_matmul(a, value_of<A>, b, value_of<B>, false, false, value_of<C>, 8, t,
                             ashlar::machines::workstation, wanted);
}

// With operands in 2-D blocks, the planner finds the SUMMA algorithm: each operand is gathered
// along one axis.
constexpr auto blocks = plan_on<sbp<S<0>, S<1>>, sbp<S<0>, S<1>>, sbp<S<0>, S<1>>>(mesh, {512, 512},
                                                                                   {512, 512});
static_assert(blocks.a.to == value_of<sbp<S<0>, B>> && blocks.b.to == value_of<sbp<B, S<1>>>);
static_assert(blocks.gemm == ashlar::gemm_extents{1, 256, 256, 512});
// The peak of memory is reached while the operand a is gathered into a'. A rank then holds a, b, a'
// and the buffers of the all-gather (plan/packing.hpp). Two rounds of the all-gather are in flight.
// Each round has one chunk of 256 KiB for each rank of the group and each direction.
static_assert(blocks.peak_bytes == 8 * 256 * (256 + 256 + 512) + 2 * 2 * 2 * 256 * 1024);

// The gathered operands a' and b' need not exist as a whole. With four panels along k, a rank
// gathers a quarter of a' and a quarter of b' at a time. It holds at most two panels of each
// operand while it accumulates the product.
constexpr auto panels = plan_on<sbp<S<0>, S<1>>, sbp<S<0>, S<1>>, sbp<S<0>, S<1>>>(
    mesh, {512, 512}, {512, 512}, {0, 'k', 4});
static_assert(panels.panels.letter == 'k' && panels.panels.count == 4);
static_assert(panels.panels.chunks == ashlar::inplace_vector<int, ashlar::max_axes>{2});
static_assert(panels.peak_bytes < blocks.peak_bytes);
static_assert(received_bytes(panels, mesh, {}) == received_bytes(blocks, mesh, {}));
static_assert(!(panels == blocks));

// If the contracted dimension is long and split, only the partial result is communicated.
constexpr auto inner = plan_on<sbp<S<1>>, sbp<S<0>>, sbp<B>>({{"gpu", 4}}, {64, 8192}, {8192, 64});
static_assert(inner.a.is_local() && inner.b.is_local());
static_assert(inner.c.steps.size() == 1 && inner.c.steps[0].kind == collective::all_reduce);

// The planner chooses the placements here: it splits the long contracted dimension, and only the
// small result is communicated. The mesh has one axis, because on two axes the evaluation would
// take more than a million steps, which is Clang's default limit.
constexpr ashlar::topology row{{"gpu", 4}};
constexpr auto free = ashlar::plan_matmul_layouts(64, 64, 8192, row, 8,
                                                  ashlar::machines::workstation);
static_assert(free.a == value_of<sbp<S<1>>> && free.b == value_of<sbp<S<0>>>);
static_assert(free.c == value_of<sbp<S<0>>>);
static_assert(received_bytes(free.plan, row, {}) == 8 * 64 * 64 * 3 / 4);

}  // namespace
