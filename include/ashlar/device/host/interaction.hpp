// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The two special layers of a recommendation model such as DLRM (Naumov et al., 2019). Each sample
// has n vectors of d columns.
//
//   interaction   x [batch, n, d] -> y [batch, kept + n (n - 1) / 2]
//                 The output of a sample has the first vector of the sample (kept is d, or 0 to
//                 omit this vector), and then the dot products x_i · x_j of all pairs of vectors of
//                 the sample: for i = 1 .. n - 1, for j < i.
//   tables        ids [batch, n], values [n, rows, d] -> y [batch, n, d]
//                 Looks up one row in each of n embedding tables for each sample.
//
// The columns of the vectors may be split over ranks. Then each rank computes a partial sum of the
// interaction: the rank's part of every dot product, and the first vector with zeros outside the
// rank's columns. The rows of the tables may be split over ranks too. Then a rank has the rows
// [first, first + rows) of each table, and ids of other rows give zeros.

#include <algorithm>
#include <cstdint>

#include <ashlar/device/host/gemm.hpp>
#include <ashlar/device/host/map.hpp>

namespace ashlar::device::host {

/// The extents of the interaction layer on one rank. The rank may have only a part of the columns
/// of each vector.
struct interaction_extents {
  std::int64_t batch;
  std::int64_t vectors;
  std::int64_t columns;  ///< the number of columns that this rank has
  std::int64_t kept;     ///< the columns of a complete vector; 0: y omits the first vector
  std::int64_t first;    ///< the first column that this rank has

  constexpr std::int64_t pairs() const { return vectors * (vectors - 1) / 2; }
  constexpr std::int64_t outputs() const { return kept + pairs(); }
};

/// Returns the number of elements of the workspace that interaction_forward and
/// interaction_backward need.
constexpr std::int64_t interaction_workspace(interaction_extents const& e) {
  return e.vectors * e.vectors;
}

/// Computes y [batch, outputs()] from x [batch, vectors, columns]: for each sample, the first
/// vector of the sample (if e.kept > 0) and the dot products of all pairs of vectors of the sample.
/// The workspace has interaction_workspace(e) elements.
template <class T>
void interaction_forward(T const* x, interaction_extents const& e, T* workspace, T* y) {
  std::int64_t const n = e.vectors, d = e.columns;
  for (std::int64_t b = 0; b < e.batch; ++b, x += n * d) {
    if (e.kept > 0) {
      std::fill_n(y, e.kept, T(0));
      std::copy_n(x, d, y + e.first);
      y += e.kept;
    }
    gemm(false, true, n, n, d, T(1), x, d, x, d, T(0), workspace, n);
    for (std::int64_t i = 1; i < n; ++i) y = std::copy_n(workspace + i * n, i, y);
  }
}

/// Overwrites dx with the gradient of x, computed from dy and x. The workspace has
/// interaction_workspace(e) elements.
template <class T>
void interaction_backward(T const* dy, T const* x, interaction_extents const& e, T* workspace,
                          T* dx) {
  std::int64_t const n = e.vectors, d = e.columns;
  for (std::int64_t b = 0; b < e.batch; ++b, x += n * d, dx += n * d, dy += e.outputs()) {
    T const* pair = dy + e.kept;
    for (std::int64_t i = 0; i < n; ++i) {
      workspace[i * n + i] = T(0);
      for (std::int64_t j = 0; j < i; ++j) workspace[i * n + j] = workspace[j * n + i] = *pair++;
    }
    gemm(false, false, n, d, n, T(1), workspace, n, x, d, T(0), dx, d);
    if (e.kept > 0) add_inplace(dy + e.first, d, dx);
  }
}

/// The extents of the embedding tables on one rank. The rank may have only a part of the rows of
/// each table.
struct table_extents {
  std::int64_t batch;
  std::int64_t tables;
  std::int64_t rows;   ///< the number of rows that this rank has of each table
  std::int64_t first;  ///< the first row that this rank has
  std::int64_t columns;
};

namespace detail {

/// Calls visit(i, row) for each index i of `ids` [batch, tables]. `row` is the row of `values`
/// [tables * rows, columns] that ids[i] selects, or -1 if this rank does not have that row.
template <class Visit>
void for_each_look_up(std::int32_t const* ids, table_extents const& e, Visit visit) {
  for (std::int64_t i = 0; i < e.batch * e.tables; ++i) {
    std::int64_t const row = ids[i] - e.first;
    visit(i, row < 0 || row >= e.rows ? -1 : i % e.tables * e.rows + row);
  }
}

}  // namespace detail

/// Computes y [batch, tables, columns] from values [tables, rows, columns] and ids [batch, tables].
/// y[b, j] is row ids[b, j] of table j, or zeros if this rank does not have that row.
template <class T>
void embedding_tables_forward(T const* values, std::int32_t const* ids, table_extents const& e,
                              T* y) {
  detail::for_each_look_up(ids, e, [=](std::int64_t i, std::int64_t row) {
    if (row < 0) std::fill_n(y + i * e.columns, e.columns, T(0));
    else std::copy_n(values + row * e.columns, e.columns, y + i * e.columns);
  });
}

/// Adds each row dy[b, j] to the gradient of row ids[b, j] of table j, if this rank has that row.
/// row_of(i) returns a pointer to the gradient of row i of `values` [tables * rows, columns].
template <class T, class RowOf>
  requires requires(RowOf row_of) { *row_of(std::int64_t()) += T(); }
void embedding_tables_backward(T const* dy, std::int32_t const* ids, table_extents const& e,
                               RowOf row_of) {
  detail::for_each_look_up(ids, e, [=](std::int64_t i, std::int64_t row) {
    if (row >= 0) add_inplace(dy + i * e.columns, e.columns, row_of(row));
  });
}

/// Adds each row dy[b, j] to row ids[b, j] of table j in `dvalues` [tables, rows, columns], if this
/// rank has that row.
template <class T>
void embedding_tables_backward(T const* dy, std::int32_t const* ids, table_extents const& e,
                               T* dvalues) {
  embedding_tables_backward(dy, ids, e,
                            [=](std::int64_t row) { return dvalues + row * e.columns; });
}

}  // namespace ashlar::device::host
