// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: shape: a tensor has at most 5 dimensions.

// A factory function gets six extents.

#include <ashlar/tensor/factory.hpp>

using namespace ashlar::placements;
using ashlar::sbp;

#ifdef ASHLAR_CONTROL
auto f(ashlar::mesh const& m) { return ashlar::zeros<float>(m, {1, 2, 3, 4, 5}, sbp<B>{}); }
#else
auto f(ashlar::mesh const& m) { return ashlar::zeros<float>(m, {1, 2, 3, 4, 5, 6}, sbp<B>{}); }
#endif
