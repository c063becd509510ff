// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Kernels on the rows of a rows x cols array: a block takes a row, each thread gathers what it needs of
// its columns, the block folds that, and each thread applies the result to its columns.
//
//   op.gather<Width>(row, columns)          -> Op::partial, of this thread's columns
//   Op::combine(a, b)                       -> Op::partial
//   op.apply<Width>(row, columns, total)    on the same columns; may overwrite what gather read
//   op.apply<Width>(row, columns)           of an op without partial: nothing is gathered or folded
//
// `columns` calls f(c) for the first column of each pack of this thread. A row is read again by `apply`
// from the cache. Blocks have 32 to 256 threads; the fold's order depends on the number of columns and
// on whether they are read in packs.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/cuda/kernel/pack.hpp>

namespace ashlar::cuda {

/// The columns of one thread.
template <int Width>
struct column_share {
  std::int64_t cols;
  int thread;
  int threads;

  template <class F>
  ASHLAR_HD void operator()(F const& f) const {
    std::int64_t const step = std::int64_t{threads} * Width;
    for (std::int64_t c = std::int64_t{thread} * Width; c < cols; c += step) f(c);
  }
  ASHLAR_HD bool is_first() const { return thread == 0; }
};

/// Whether an op needs something of the whole row first.
template <class Op>
concept folds_rows = requires {
  typename Op::partial;
};

template <int Width, class Op>
struct row_kernel {
  static constexpr int launch_threads = 256;
  Op op;
  std::int64_t rows;
  std::int64_t cols;

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    auto const share = [&](int t) { return column_share<Width>{cols, t, block.threads()}; };
    if constexpr (folds_rows<Op>) {
      using partial = typename Op::partial;
      auto* const scratch = reinterpret_cast<partial*>(block.shared());
      typename Block::template per_thread<partial> parts(block);
      for (std::int64_t row = block.index(); row < rows; row += block.count()) {
        block.each_alone([&](int t) { parts[t] = op.template gather<Width>(row, share(t)); });
        partial const total = block.fold(
            parts, scratch, [](partial const& a, partial const& b) { return Op::combine(a, b); });
        block.each_alone([&](int t) { op.template apply<Width>(row, share(t), total); });
      }
    } else {
      for (std::int64_t row = block.index(); row < rows; row += block.count())
        block.each_alone([&](int t) { op.template apply<Width>(row, share(t)); });
    }
  }
};

/// Launches op on all rows; T are the elements, `packable` whether the arrays' rows are whole packs.
template <class T, class Launcher, class Op>
void launch_rows(Launcher const& launch, char const* name, Op const& op, std::int64_t rows,
                 std::int64_t cols, bool packable) {
  std::int64_t const blocks = at_most(rows, 65536);
  auto const run = [&](auto const& kernel, std::int64_t units) {
    int const threads = threads_for(units);
    std::int64_t scratch = 0;
    if constexpr (folds_rows<Op>)
      scratch = threads / warp * static_cast<std::int64_t>(sizeof(typename Op::partial));
    launch.blocks(name, kernel, blocks, threads, scratch);
  };
  if (packable && cols % widest<T> == 0) {
    run(row_kernel<widest<T>, Op>{op, rows, cols}, cols / widest<T>);
  } else {
    run(row_kernel<1, Op>{op, rows, cols}, cols);
  }
}

}  // namespace ashlar::cuda
