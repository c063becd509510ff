// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: normal, uniform: random tensors must be of float, double or bfloat16. Make integers with from_index.

#include <ashlar/tensor/factory.hpp>

using namespace ashlar::placements;
using ashlar::sbp;

#ifdef ASHLAR_CONTROL
using element = float;
#else
using element = std::int32_t;
#endif

auto f(ashlar::mesh const& m) { return ashlar::normal<element>(m, {2, 3}, sbp<S<0>>{}); }
