// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The backward pass of layer norm in one launch for dx and for the sums of dgamma and dbeta over
// chunks of rows, so that dy and x are read once. A block processes a chunk, which is a group of
// consecutive rows, and each of its warps every eighth row of the chunk. A thread keeps its packs
// of dy and x in registers, and its part of the sums. At the end of the chunk, the warps add their
// sums in order. A second launch adds the sums of all chunks (columns.hpp).

#include <algorithm>
#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/columns.hpp>
#include <ashlar/device/cuda/kernel/layer_norm_backward_row.hpp>

namespace ashlar::cuda::detail {

template <class T, int Width, int Packs>
struct layer_norm_backward_chunk {
  static constexpr int launch_threads = 256;
  static constexpr int warps = launch_threads / warp;
  using A = accumulation_t<T>;
  using partial = sum_pair<A>;
  struct column_sums {
    A dgamma[Packs][Width], dbeta[Packs][Width];
  };
  layer_norm_backward_op<T> op;
  std::int64_t rows, chunk_rows;
  A* partial_sums;  // [2, chunks, cols]

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    using columns = kept_columns<T, Width, 2, Packs>;
    typename Block::template per_thread<partial> parts(block);
    typename Block::template per_thread<columns> kept(block);
    typename Block::template per_thread<column_sums> sums(block);
    auto const share = [&](int t) {
      return kept_share<T, Width, 2, Packs>{op.cols, t % warp, warp, &kept[t]};
    };
    std::int64_t const begin = block.index() * chunk_rows;
    std::int64_t const end = begin + chunk_rows < rows ? begin + chunk_rows : rows;
    block.each_alone([&](int t) { sums[t] = {}; });
    for (std::int64_t first = begin; first < end; first += warps) {
      block.each_alone([&](int t) {
        // After the last row, warps read it again, because all threads take part in the fold.
        std::int64_t const row = first + t / warp;
        parts[t] = op.template gather<Width>(row < end ? row : end - 1, share(t));
      });
      block.fold_warps(parts,
                       [](partial const& a, partial const& b) { return partial::combine(a, b); });
      block.each_alone([&](int t) {
        std::int64_t const row = first + t / warp;
        if (row >= end) return;
        op.template apply<Width>(row, share(t), parts[t]);
        A const centre = op.mean[row], scale = op.rstd[row];
        share(t)([&](std::int64_t, int k) {
          for (int i = 0; i < Width; ++i) {
            A const g = static_cast<A>(kept[t].at[0][k].at[i]);
            sums[t].dgamma[k][i] += g * ((static_cast<A>(kept[t].at[1][k].at[i]) - centre) * scale);
            sums[t].dbeta[k][i] += g;
          }
        });
      });
    }
    add_warps(block, sums, share);
  }

  static std::int64_t shared_bytes(std::int64_t cols) {
    return 2 * cols * static_cast<std::int64_t>(sizeof(A));
  }

 private:
  /// Adds the sums of all warps, in order, and writes them to partial_sums.
  template <class Block, class Sums, class Share>
  ASHLAR_HD void add_warps(Block const& block, Sums& sums, Share const& share) const {
    A* const total = reinterpret_cast<A*>(block.shared());  // [2, cols]
    std::int64_t const cols = op.cols;
    for (int w = 0; w < warps; ++w) {
      block.each([&](int t) {
        if (t / warp != w) return;
        share(t)([&](std::int64_t c, int k) {
          for (int i = 0; i < Width; ++i) {
            A& dgamma = total[c + i];
            A& dbeta = total[cols + c + i];
            dgamma = w == 0 ? sums[t].dgamma[k][i] : dgamma + sums[t].dgamma[k][i];
            dbeta = w == 0 ? sums[t].dbeta[k][i] : dbeta + sums[t].dbeta[k][i];
          }
        });
      });
    }
    block.each([&](int t) {
      std::int64_t const chunks = block.count();
      for (std::int64_t c = t; c < cols; c += block.threads()) {
        partial_sums[block.index() * cols + c] = total[c];
        partial_sums[(chunks + block.index()) * cols + c] = total[cols + c];
      }
    });
  }
};

/// The most packs of a row that a thread keeps. With more, sums and packs would need more registers
/// than a thread has.
template <class T>
inline constexpr int chunk_packs = sizeof(T) <= 2 ? 4 : 8;

/// Returns whether rows of `cols` elements are short enough for layer_norm_backward_in_chunks.
template <class T>
bool fits_in_chunks(std::int64_t cols) {
  return cols % widest<T> == 0 && cols / widest<T> <= warp * chunk_packs<T>;
}

/// Computes dx, and adds to dgamma and dbeta. The arrays are aligned to packs. The workspace has
/// layer_norm_backward_workspace(rows, cols) elements.
template <class T, class Launcher>
void layer_norm_backward_in_chunks(Launcher const& launch, layer_norm_backward_op<T> const& op,
                                   std::int64_t rows, accumulation_t<T>* workspace,
                                   accumulation_t<T>* dgamma, accumulation_t<T>* dbeta) {
  if (rows == 0) return;
  using kernel = layer_norm_backward_chunk<T, widest<T>, chunk_packs<T>>;
  // Two blocks for each of 132 multiprocessors run at the same time.
  std::int64_t const wanted = std::min<std::int64_t>(column_chunks(rows, op.cols), 264);
  std::int64_t const chunk_rows = (rows + wanted - 1) / wanted;
  std::int64_t const chunks = (rows + chunk_rows - 1) / chunk_rows;
  launch.blocks("layer_norm_backward", kernel{op, rows, chunk_rows, workspace}, chunks,
                kernel::launch_threads, kernel::shared_bytes(op.cols));
  accumulation_t<T>* const out[] = {dgamma, dbeta};
  launch_chunk_fold(launch, "layer_norm_backward", static_cast<accumulation_t<T> const*>(workspace),
                    chunks, op.cols, out);
}

}  // namespace ashlar::cuda::detail
