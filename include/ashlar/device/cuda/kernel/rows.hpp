// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Kernels on the rows of a rows x cols array, for example softmax. A thread block, or for short
// rows a warp, processes one row at a time. Each thread computes a partial result from its columns
// of the row. The block or warp combines the partial results of its threads into a total. Then each
// thread applies the total to its columns. A pack is a group of Width adjacent elements (16 bytes)
// that a thread reads at once. An operation `op` of type Op defines:
//
//   op.gather<Width>(row, share)            returns an Op::partial of this thread's columns
//   Op::combine(a, b)                       combines two Op::partial
//   op.apply<Width>(row, share, total)      processes the same columns; may overwrite the input of
//                                           gather
//
// An operation that needs no total does not define Op::partial, gather and combine. Such an
// operation only defines:
//
//   op.apply<Width>(row, share)             processes this thread's columns
//
// The argument `share` (row_shares.hpp) gives access to the columns of one thread:
//
//   share(f)                      calls f(c, k) for each pack of this thread: c is the pack's first
//                                 column, k its number among the thread's packs
//   share.keep<Slot>(data)        in gather: announces that `apply` will read the row at address
//                                 `data` again
//   share.read<Slot>(data, c, k)  returns the pack at column c of the row at address `data`
//   share.is_first()              whether this thread writes the values that exist once per row
//
// Op::kept is the number of arrays that `apply` reads again after `gather`. If an op defines
// Op::kept, the row determines how often an element is read:
//
//   row                         threads      each element is read from memory
//   up to 256 packs, aligned    32, a warp   once: each thread keeps up to 8 packs in registers
//   up to 1024 packs, aligned   256          once: each thread keeps up to 4 packs in registers
//   longer, or not aligned      up to 1024   twice, the second time from the cache: a long row gets
//                                            many threads, so that few rows share the cache
//
// Without Op::kept, each element is read once, and a row gets at most 256 threads. On a
// multiprocessor, eight blocks of 256 threads wait less for memory than two blocks of 1024.
//
// If cols is not a multiple of Width, most rows begin in the middle of a pack:
//
//   without Op::any_row   all rows are read element by element
//   with Op::any_row      the whole packs of each row are read as packs. The elements before the
//                         first and after the last whole pack are processed by gather<1> and
//                         apply<1>, at most one element in each thread.
//
// An op must not declare Op::any_row if all rows share one of its arrays, for example gamma of a
// layer norm.
//
// The order in which partial results are combined depends on the number of columns, on whether the
// columns are read in packs, and on where in a pack the row begins.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/cuda/kernel/pack.hpp>
#include <ashlar/device/cuda/kernel/row_shares.hpp>

namespace ashlar::cuda {

/// Says whether the operation Op computes a total of the row before `apply`, like the sum for a
/// softmax.
template <class Op>
concept folds_rows = requires { typename Op::partial; };

/// Says whether Op::apply rereads elements of the row that Op::gather has already read.
template <class Op>
concept keeps_rows = requires { Op::kept; };

/// Each warp processes one row at a time. A row has at most Packs packs for each lane of the warp.
template <class T, int Width, int Packs, class Op>
struct warp_row_kernel {
  static constexpr int launch_threads = 256;
  static constexpr std::int64_t rows_at_once = launch_threads / warp;
  Op op;
  std::int64_t rows;
  std::int64_t cols;

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    using partial = typename Op::partial;
    using columns = kept_columns<T, Width, Op::kept, Packs>;
    typename Block::template per_thread<partial> parts(block);
    typename Block::template per_thread<columns> kept(block);
    auto const share = [&](int t) {
      return kept_share<T, Width, Op::kept, Packs>{cols, t % warp, warp, &kept[t]};
    };
    for (std::int64_t first = block.index() * rows_at_once; first < rows;
         first += block.count() * rows_at_once) {
      block.each_alone([&](int t) {
        // Warps without a row of their own read the last row again, because all threads take part
        // in the fold.
        std::int64_t const row = first + t / warp;
        parts[t] = op.template gather<Width>(row < rows ? row : rows - 1, share(t));
      });
      block.fold_warps(parts, [](partial const& a, partial const& b) { return Op::combine(a, b); });
      block.each_alone([&](int t) {
        std::int64_t const row = first + t / warp;
        if (row < rows) op.template apply<Width>(row, share(t), parts[t]);
      });
    }
  }
};

/// Each block processes one row at a time. A row has at most Packs packs for each thread of the
/// block.
template <class T, int Width, int Packs, class Op>
struct kept_row_kernel {
  static constexpr int launch_threads = 256;
  Op op;
  std::int64_t rows;
  std::int64_t cols;

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    using partial = typename Op::partial;
    using columns = kept_columns<T, Width, Op::kept, Packs>;
    auto* const scratch = reinterpret_cast<partial*>(block.shared());
    typename Block::template per_thread<partial> parts(block);
    typename Block::template per_thread<columns> kept(block);
    auto const share = [&](int t) {
      return kept_share<T, Width, Op::kept, Packs>{cols, t, block.threads(), &kept[t]};
    };
    for (std::int64_t row = block.index(); row < rows; row += block.count()) {
      block.each_alone([&](int t) { parts[t] = op.template gather<Width>(row, share(t)); });
      partial const total = block.fold(
          parts, scratch, [](partial const& a, partial const& b) { return Op::combine(a, b); });
      block.each_alone([&](int t) { op.template apply<Width>(row, share(t), total); });
    }
  }
};

template <class Op>
concept takes_any_row = requires { Op::any_row; };

template <int Width, class Op>
struct cut_row_kernel {
  static constexpr int launch_threads = folds_rows<Op> ? 1024 : 256;
  Op op;
  std::int64_t rows;
  std::int64_t cols;

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    auto const edge = [&](std::int64_t row, int t) {
      return edge_share<Width>(row_cut<Width>(row, cols), t, block.threads());
    };
    auto const body = [&](std::int64_t row, int t) {
      return body_share<Width>(row_cut<Width>(row, cols), t, block.threads());
    };
    if constexpr (folds_rows<Op>) {
      using partial = typename Op::partial;
      auto* const scratch = reinterpret_cast<partial*>(block.shared());
      typename Block::template per_thread<partial> parts(block);
      for (std::int64_t row = block.index(); row < rows; row += block.count()) {
        block.each_alone([&](int t) {
          parts[t] = Op::combine(op.template gather<1>(row, edge(row, t)),
                                 op.template gather<Width>(row, body(row, t)));
        });
        partial const total = block.fold(
            parts, scratch, [](partial const& a, partial const& b) { return Op::combine(a, b); });
        block.each_alone([&](int t) {
          op.template apply<1>(row, edge(row, t), total);
          op.template apply<Width>(row, body(row, t), total);
        });
      }
    } else {
      for (std::int64_t row = block.index(); row < rows; row += block.count()) {
        block.each_alone([&](int t) {
          op.template apply<1>(row, edge(row, t));
          op.template apply<Width>(row, body(row, t));
        });
      }
    }
  }
};

template <int Width, class Op>
struct row_kernel {
  static constexpr int launch_threads = folds_rows<Op> ? 1024 : 256;
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

/// Launches the operation `op` on all rows. T is the element type. `packable` must be true only if
/// the arrays are aligned to packs (16 bytes).
template <class T, class Launcher, class Op>
void launch_rows(Launcher const& launch, char const* name, Op const& op, std::int64_t rows,
                 std::int64_t cols, bool packable) {
  std::int64_t const blocks = at_most(rows, 65536);
  auto const run = [&](auto const& kernel, int threads) {
    std::int64_t scratch = 0;
    if constexpr (folds_rows<Op>)
      scratch = threads / warp * static_cast<std::int64_t>(sizeof(typename Op::partial));
    launch.blocks(name, kernel, blocks, threads, scratch);
  };
  auto const run_streamed = [&](auto const& kernel, std::int64_t units) {
    run(kernel, keeps_rows<Op> && units > 1024 ? 1024 : threads_for(units));
  };
  constexpr int w = widest<T>;
  if constexpr (takes_any_row<Op>) {
    if (packable && cols % w != 0)
      return run_streamed(cut_row_kernel<w, Op>{op, rows, cols}, cols / w + 1);
  }
  if (!packable || cols % w != 0) return run_streamed(row_kernel<1, Op>{op, rows, cols}, cols);
  if constexpr (keeps_rows<Op>) {
    auto const run_warps = [&]<int Packs>() {
      using kernel = warp_row_kernel<T, w, Packs, Op>;
      launch.blocks(name, kernel{op, rows, cols},
                    at_most((rows + kernel::rows_at_once - 1) / kernel::rows_at_once, 65536),
                    kernel::launch_threads, 0);
    };
    std::int64_t const packs = cols / w;
    if (packs <= warp * 4) return run_warps.template operator()<4>();
    if (packs <= warp * 8) return run_warps.template operator()<8>();
    if (packs <= 256 * 4) return run(kept_row_kernel<T, w, 4, Op>{op, rows, cols}, 256);
  }
  run_streamed(row_kernel<w, Op>{op, rows, cols}, cols / w);
}

}  // namespace ashlar::cuda
