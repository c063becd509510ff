// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks in constant expressions which reshapes, slices and concatenations need no communication.

#include <array>

#include <ashlar/layout/reshape.hpp>
#include <ashlar/layout/slice.hpp>
#include <ashlar/placement/tags.hpp>

using namespace ashlar::placements;
using ashlar::placement, ashlar::sbp, ashlar::shape, ashlar::value_of;

namespace {
constexpr ashlar::topology four{{"gpu", 4}};
constexpr ashlar::topology mesh{{"node", 2}, {"gpu", 4}};

template <class From>
constexpr auto after(shape const& from, shape const& to, ashlar::topology const& t = four) {
  return reshape_placement(from, to, t, value_of<From>);
}

// These are the rows of the table in layout/README.md.
static_assert(after<sbp<S<0>>>({8, 6}, {48}) == value_of<sbp<S<0>>>);
static_assert(after<sbp<S<0>>>({48}, {8, 6}) == value_of<sbp<S<0>>>);
static_assert(after<sbp<S<0>>>({8, 6}, {4, 2, 6}) == value_of<sbp<S<0>>>);
static_assert(after<sbp<S<1>>>({1, 8, 6}, {8, 6}) == value_of<sbp<S<0>>>);
static_assert(!after<sbp<S<0>>>({6, 8}, {48}));
static_assert(!after<sbp<S<1>>>({12, 8}, {16, 6}));
static_assert(after<sbp<B>>({12, 8}, {16, 6}) == value_of<sbp<B>>);
static_assert(after<sbp<P>>({12, 8}, {16, 6}) == value_of<sbp<P>>);

// These reshapes divide one dimension into two, or merge two dimensions into one, on a mesh of two
// axes. If both axes split the single dimension, as many of them as possible split the outer one of
// the two dimensions. The last reshape would need communication.
static_assert(after<sbp<S<0>, S<0>>>({16}, {2, 8}, mesh) == value_of<sbp<S<0>, S<1>>>);
static_assert(after<sbp<S<0>, S<1>>>({2, 8}, {16}, mesh) == value_of<sbp<S<0>, S<0>>>);
static_assert(after<sbp<S<0>, S<0>>>({16}, {8, 2}, mesh) == value_of<sbp<S<0>, S<0>>>);
static_assert(after<sbp<S<0>, S<1>>>({4, 6}, {24}, mesh) == std::nullopt);

static_assert(ashlar::split_axis_placement(value_of<sbp<S<0>, S<1>>>, 0, 2) ==
              value_of<sbp<S<0>, S<2>>>);
static_assert(ashlar::merge_axes_placement(value_of<sbp<S<1>, S<0>>>, 0, 2) ==
              value_of<sbp<S<0, 1>, S<0, 0>>>);

static_assert(ashlar::slices_locally(8, 0, 2, 5, four, value_of<sbp<S<1>>>));
static_assert(ashlar::slices_locally(8, 0, 1, 1, four, value_of<sbp<S<0>>>));
static_assert(!ashlar::slices_locally(8, 0, 2, 5, four, value_of<sbp<S<0>>>));

constexpr std::array<std::int64_t, 2> halves{4, 4}, one{8, 0};
static_assert(ashlar::concatenates_locally(halves, 0, four, value_of<sbp<P>>));
static_assert(ashlar::concatenates_locally(one, 0, four, value_of<sbp<S<0>>>));
static_assert(!ashlar::concatenates_locally(halves, 0, four, value_of<sbp<S<0>>>));
}  // namespace
