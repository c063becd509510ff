// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: add_rows: the table has no dimension, the rows have more than 5, or the operands differ in element type or processor. The rows have the dimensions of the ids and those of the table after the first.

// add_rows adds one row for each id, so `rows` must be a matrix and not a vector.

#include <ashlar/tensor/rows.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B>> const& table, tensor<std::int32_t, 1, sbp<B>> const& ids,
       tensor<float, 2, sbp<B>> const& rows) {
  return add_rows(table, ids, rows);
}
#else
auto f(tensor<float, 2, sbp<B>> const& table, tensor<std::int32_t, 1, sbp<B>> const& ids,
       tensor<float, 1, sbp<B>> const& rows) {
  return add_rows(table, ids, rows);
}
#endif
