// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the sum of each column of a rows x cols array, and adds these sums to an output of cols
// elements. The gradients of a bias, and of gamma and beta of a layer norm, are such sums, because
// all rows use the same bias, gamma and beta. There are two passes and no atomics, so that results
// are bitwise reproducible:
//
//   pass 1   A chunk is a group of chunk_rows consecutive rows. For each chunk and column, 8
//            threads each add up every 8th row, in order. Then one thread adds the 8 sums in order.
//   pass 2   The sums of all chunks are added to out[c]. For each column, 32 threads each add up
//            every 32nd chunk, in order. Then one thread adds the 32 sums in order.
//
// In both passes a thread reads several addends at once. If it read one addend at a time, it would
// wait for memory before each addition.
//
// The caller's `term` computes the addends. `term` may compute addends for several outputs at once,
// for example for gamma and beta:
//
//   term.get<Width>(row, c, values)   sets values[o][k] to the addend that this row contributes to
//                                     column c + k of output o
//
// The number of chunks depends only on the extents of the array.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/cuda/kernel/pack.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

/// Returns the number of rows of a chunk: the least multiple of `unit` for which there are at most
/// max(1, 2^19 / cols) chunks. The sums of one chunk are one row of the workspace, so all rows of
/// the workspace together have at most max(cols, 2^19) elements.
constexpr std::int64_t rows_of_chunk(std::int64_t rows, std::int64_t cols, std::int64_t unit) {
  std::int64_t const most = cols == 0 || cols > 524288 ? 1 : 524288 / cols;
  std::int64_t const units = (rows + most * unit - 1) / (most * unit);
  return units < 1 ? unit : units * unit;
}

constexpr std::int64_t column_chunk_rows(std::int64_t rows, std::int64_t cols) {
  return rows_of_chunk(rows, cols, 64);
}

constexpr std::int64_t column_chunks(std::int64_t rows, std::int64_t cols) {
  std::int64_t const chunk_rows = column_chunk_rows(rows, cols);
  return rows == 0 ? 1 : (rows + chunk_rows - 1) / chunk_rows;
}

namespace detail {

/// The first pass of column sums. A block processes 32 packs of columns of one chunk. A pack is a
/// group of Width columns, which a thread reads at once.
template <class Term, class A, int Width>
struct chunk_sums {
  static constexpr int launch_threads = 256;
  static constexpr int lanes = launch_threads / warp, block_cols = warp * Width;
  static constexpr std::int64_t shared_bytes = std::int64_t{Term::outputs} * lanes * block_cols *
                                               std::int64_t{sizeof(A)};
  Term term;
  std::int64_t rows, cols, chunk_rows, chunks;
  A* partial;  // [outputs, chunks, cols]

  std::int64_t blocks() const { return chunks * blocks_across(); }

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    A* const sums = reinterpret_cast<A*>(block.shared());  // [outputs, Width, lanes, warp]
    division const place(block.index(), blocks_across());
    std::int64_t const chunk = place.quotient, first_column = place.remainder * block_cols;
    std::int64_t const first = chunk * chunk_rows;
    std::int64_t const last = first + chunk_rows < rows ? first + chunk_rows : rows;
    block.each([&](int t) {
      std::int64_t const c = first_column + t % warp * Width;
      A totals[Term::outputs][Width] = {};
      if (c < cols) {
        std::int64_t r = first + t / warp;
        for (; r + (rows_at_once - 1) * lanes < last; r += rows_at_once * lanes)
          add<rows_at_once>(r, c, totals);
        for (; r < last; r += lanes) add<1>(r, c, totals);
      }
      for (int o = 0; o < Term::outputs; ++o)
        for (int k = 0; k < Width; ++k) sums[(o * Width + k) * launch_threads + t] = totals[o][k];
    });
    block.each([&](int t) {
      for (int i = t; i < Term::outputs * block_cols; i += launch_threads) {
        int const o = i / block_cols, k = i % block_cols / warp, lane_of_pack = i % warp;
        std::int64_t const c = first_column + lane_of_pack * Width + k;
        if (c >= cols) continue;
        A total = A(0);
        for (int lane = 0; lane < lanes; ++lane)
          total += sums[((o * Width + k) * lanes + lane) * warp + lane_of_pack];
        partial[(o * chunks + chunk) * cols + c] = total;
      }
    });
  }

 private:
  static constexpr int rows_at_once = 8 / Term::outputs;

  ASHLAR_HD std::int64_t blocks_across() const { return (cols + block_cols - 1) / block_cols; }

  /// Adds `Rows` rows to `totals`: the row `row` and every 8th row after it.
  template <int Rows>
  ASHLAR_HD void add(std::int64_t row, std::int64_t c, A (&totals)[Term::outputs][Width]) const {
    A values[Rows][Term::outputs][Width];
    ASHLAR_UNROLL for (int j = 0; j < Rows; ++j)
        term.template get<Width>(row + j * lanes, c, values[j]);
    ASHLAR_UNROLL for (int j = 0; j < Rows; ++j) for (int o = 0; o < Term::outputs;
                                                      ++o) for (int k = 0; k < Width; ++k)
        totals[o][k] += values[j][o][k];
  }
};

/// The second pass of column sums: adds up the partial sums of all chunks (groups of rows). A block
/// processes 32 columns. The columns of all outputs are numbered consecutively.
template <class A, int Outputs>
struct chunk_fold {
  static constexpr int lanes = 32;
  static constexpr int launch_threads = warp * lanes;
  static constexpr std::int64_t shared_bytes = launch_threads * std::int64_t{sizeof(A)};
  A const* partial;
  std::int64_t chunks, cols;
  A* out[Outputs];

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    A* const sums = reinterpret_cast<A*>(block.shared());  // [lanes][warp]
    auto const column = [&](int t) { return block.index() * warp + t % warp; };
    block.each([&](int t) {
      A total = A(0);
      if (column(t) < Outputs * cols) {
        division const place(column(t), cols);
        A const* const from = partial + place.quotient * chunks * cols + place.remainder;
        std::int64_t k = t / warp;
        for (; k + 7 * lanes < chunks; k += 8 * lanes) add<8>(from + k * cols, total);
        for (; k + 3 * lanes < chunks; k += 4 * lanes) add<4>(from + k * cols, total);
        for (; k < chunks; k += lanes) add<1>(from + k * cols, total);
      }
      sums[t] = total;
    });
    block.each([&](int t) {
      if (t >= warp || column(t) >= Outputs * cols) return;
      division const place(column(t), cols);
      A total = A(0);
      for (int lane = 0; lane < lanes; ++lane) total += sums[lane * warp + t];
      out[place.quotient][place.remainder] += total;
    });
  }

 private:
  /// Adds to `total` the sums that `Count` chunks have for one column. `from` points to the sum of
  /// the first of these chunks. Each of the others is `lanes` chunks after the previous one.
  template <int Count>
  ASHLAR_HD void add(A const* from, A& total) const {
    A addends[Count];
    ASHLAR_UNROLL for (int j = 0; j < Count; ++j) addends[j] = from[j * lanes * cols];
    ASHLAR_UNROLL for (int j = 0; j < Count; ++j) total += addends[j];
  }
};

}  // namespace detail

/// Returns the number of workspace elements that launch_column_sums needs for `outputs` outputs.
constexpr std::int64_t column_sums_workspace(std::int64_t rows, std::int64_t cols, int outputs) {
  return outputs * column_chunks(rows, cols) * cols;
}

/// Adds to out[o][c] the sum over k < chunks of partial[(o * chunks + k) * cols + c].
template <class Launcher, class A, int Outputs>
void launch_chunk_fold(Launcher const& launch, char const* name, A const* partial,
                       std::int64_t chunks, std::int64_t cols, A* const (&out)[Outputs]) {
  detail::chunk_fold<A, Outputs> fold{partial, chunks, cols, {}};
  for (int o = 0; o < Outputs; ++o) fold.out[o] = out[o];
  launch.blocks(name, fold, (Outputs * cols + warp - 1) / warp, fold.launch_threads,
                fold.shared_bytes);
}

/// For each column c of each output o, sums the addends that `term` computes for all rows, and adds
/// this sum to out[o][c]. `packable` says whether the arrays that `term` reads are aligned to 16
/// bytes. The workspace has column_sums_workspace(rows, cols, Outputs) elements.
template <class T, class Launcher, class Term, class A, int Outputs>
void launch_column_sums(Launcher const& launch, char const* name, Term const& term,
                        std::int64_t rows, std::int64_t cols, bool packable, A* workspace,
                        A* const (&out)[Outputs]) {
  static_assert(Term::outputs == Outputs);
  if (rows == 0 || cols == 0) return;
  std::int64_t const chunks = column_chunks(rows, cols);
  std::int64_t const chunk_rows = column_chunk_rows(rows, cols);
  with_width<T>(packable && cols % widest<T> == 0, [&]<int Width>() {
    detail::chunk_sums<Term, A, Width> const sums{term, rows, cols, chunk_rows, chunks, workspace};
    launch.blocks(name, sums, sums.blocks(), sums.launch_threads, sums.shared_bytes);
  });
  launch_chunk_fold(launch, name, workspace, chunks, cols, out);
}

namespace detail {

template <class T>
struct column_value {
  static constexpr int outputs = 1;
  T const* x;
  std::int64_t cols;

  template <int Width, class A>
  ASHLAR_HD void get(std::int64_t row, std::int64_t c, A (&values)[1][Width]) const {
    auto const loaded = load<Width>(x + row * cols + c);
    for (int k = 0; k < Width; ++k) values[0][k] = static_cast<A>(loaded.at[k]);
  }
};

}  // namespace detail

/// Adds to sum[c] the sum over r of x[r, c]. The workspace has column_sums_workspace(rows, cols, 1)
/// elements.
template <launcher Launcher, class T>
void add_column_sums(Launcher const& launch, T const* x, std::int64_t rows, std::int64_t cols,
                     accumulation_t<T>* workspace, accumulation_t<T>* sum) {
  accumulation_t<T>* const out[] = {sum};
  launch_column_sums<T>(launch, "add_column_sums", detail::column_value<T>{x, cols}, rows, cols,
                        is_packable(x), workspace, out);
}

}  // namespace ashlar::cuda
