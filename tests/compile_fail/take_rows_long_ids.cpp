// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: take_rows: the ids are a tensor of std::int32_t. Convert them first, as in cast<std::int32_t>(ids).

// The kernels read ids of 32 bits.

#include <ashlar/tensor/cast.hpp>
#include <ashlar/tensor/rows.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B>> const& table, tensor<std::int64_t, 1, sbp<B>> const& ids) {
  return take_rows(table, ashlar::cast<std::int32_t>(ids));
}
#else
auto f(tensor<float, 2, sbp<B>> const& table, tensor<std::int64_t, 1, sbp<B>> const& ids) {
  return take_rows(table, ids);
}
#endif
