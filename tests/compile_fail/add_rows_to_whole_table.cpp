// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: add_rows: on one mesh axis the table, the ids and the rows do not fit.

// The table is replicated and the rows are split. Each rank would add only its own rows, so the
// ranks' copies of the table would differ.

#include <ashlar/tensor/rows.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<P>> const& table, tensor<std::int32_t, 1, sbp<S<0>>> const& ids,
       tensor<float, 2, sbp<S<0>>> const& rows) {
  return add_rows(table, ids, rows);
}
#else
auto f(tensor<float, 2, sbp<B>> const& table, tensor<std::int32_t, 1, sbp<S<0>>> const& ids,
       tensor<float, 2, sbp<S<0>>> const& rows) {
  return add_rows(table, ids, rows);
}
#endif
