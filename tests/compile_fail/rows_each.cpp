// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: take_rows: the table has no dimension, the rows have more than 5, or the operands differ in element type or processor. The rows have the dimensions of the ids and those of the table after the first.
// expect: add_rows: the ids are a tensor of std::int32_t. Convert them first, as in cast<std::int32_t>(ids).

// The ids of `taken` have four dims, and the table has two dims after its first. So the rows would
// have six dims, one more than a tensor may have. The ids of `added` are of type int64.

#include <ashlar/tensor/rows.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

using table = tensor<float, 3, sbp<B>>;
#ifdef ASHLAR_CONTROL
using many = tensor<std::int32_t, 3, sbp<B>>;
using ids = tensor<std::int32_t, 1, sbp<B>>;
#else
using many = tensor<std::int32_t, 4, sbp<B>>;
using ids = tensor<std::int64_t, 1, sbp<B>>;
#endif

auto taken(table const& x, many const& at) { return ashlar::take_rows(x, at); }
auto added(table const& x, ids const& at) { return ashlar::add_rows(x, at, x); }
