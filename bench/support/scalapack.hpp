// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Declares the functions of BLACS and ScaLAPACK that the benchmarks call, because neither library
// has a C header. Two small classes wrap a process grid and the descriptor of a block-cyclic
// matrix. The local elements of such a matrix are stored in column-major order.

#include <array>
#include <utility>
#include <vector>

extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridmap(int* context, int* ranks, int leading, int rows, int columns);
void Cblacs_gridexit(int context);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
int numroc_(int const* n, int const* block, int const* process, int const* source,
            int const* processes);
void Cpdgemr2d(int m, int n, double const* a, int ia, int ja, int const* desc_a, double* b, int ib,
               int jb, int const* desc_b, int context);
void pdgemm_(char const*, char const*, int const* m, int const* n, int const* k,
             double const* alpha, double const* a, int const* ia, int const* ja, int const* desc_a,
             double const* b, int const* ib, int const* jb, int const* desc_b, double const* beta,
             double* c, int const* ic, int const* jc, int const* desc_c);
void psgemm_(char const*, char const*, int const* m, int const* n, int const* k, float const* alpha,
             float const* a, int const* ia, int const* ja, int const* desc_a, float const* b,
             int const* ib, int const* jb, int const* desc_b, float const* beta, float* c,
             int const* ic, int const* jc, int const* desc_c);
}

namespace ashlar_bench {

/// A BLACS process grid. Construction and destruction are collective over MPI_COMM_WORLD.
class blacs_grid {
 public:
  /// Makes a grid whose process (i, j) is the rank ranks[i + j * rows].
  blacs_grid(std::vector<int> ranks, int rows, int columns) {
    Cblacs_get(0, 0, &context_);
    Cblacs_gridmap(&context_, ranks.data(), rows, rows, columns);
    Cblacs_gridinfo(context_, &rows_, &columns_, &row_, &column_);
  }
  /// Places the ranks in row-major order.
  blacs_grid(int rows, int columns) : blacs_grid(row_major(rows, columns), rows, columns) {}
  blacs_grid(blacs_grid&& other) noexcept
      : context_(std::exchange(other.context_, -1)), rows_(other.rows_), columns_(other.columns_),
        row_(other.row_), column_(other.column_) {}
  blacs_grid& operator=(blacs_grid&&) = delete;
  ~blacs_grid() {
    if (context_ >= 0) Cblacs_gridexit(context_);
  }

  int context() const { return context_; }
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  int row() const { return row_; }
  int column() const { return column_; }

 private:
  static std::vector<int> row_major(int rows, int columns) {
    std::vector<int> ranks;
    for (int j = 0; j < columns; ++j)
      for (int i = 0; i < rows; ++i) ranks.push_back(i * columns + j);
    return ranks;
  }
  int context_ = -1, rows_ = 0, columns_ = 0, row_ = 0, column_ = 0;
};

/// The descriptor of an m x n block-cyclic matrix on a process grid, and the extents of the part
/// that this process stores.
struct blacs_matrix {
  std::array<int, 9> descriptor{};
  int local_rows = 0, local_columns = 0;

  blacs_matrix() = default;
  blacs_matrix(blacs_grid const& grid, int m, int n, int block_rows, int block_columns) {
    int const zero = 0, rows = grid.rows(), columns = grid.columns();
    int const row = grid.row(), column = grid.column();
    local_rows = numroc_(&m, &block_rows, &row, &zero, &rows);
    local_columns = numroc_(&n, &block_columns, &column, &zero, &columns);
    int const leading = local_rows > 0 ? local_rows : 1;
    descriptor = {1, grid.context(), m, n, block_rows, block_columns, 0, 0, leading};
  }
};

}  // namespace ashlar_bench
