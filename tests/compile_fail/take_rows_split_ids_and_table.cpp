// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: take_rows: on one mesh axis the table and the ids do not fit

// A rank would have ids whose rows are on other ranks.

#include <ashlar/tensor/rows.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>>> const& table, tensor<std::int32_t, 1, sbp<B>> const& ids) {
  return take_rows(table, ids);
}
#else
auto f(tensor<float, 2, sbp<S<0>>> const& table, tensor<std::int32_t, 1, sbp<S<0>>> const& ids) {
  return take_rows(table, ids);
}
#endif
