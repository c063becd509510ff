// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The backward pass of layer norm for complete rows. One launch computes dx, and for each chunk of
// rows the sums that make up dgamma and dbeta. So dy and x are read only once. A chunk is a group
// of consecutive rows, which one block processes, 8 rows at a time. A block of more than 256
// threads processes only 4 rows at a time, because each of its threads has fewer registers. A
// thread has one pack (16 bytes) of each row, always in the same columns. So the thread keeps gamma
// and its sums of dgamma and dbeta in registers, and no other thread of the block has sums of these
// columns. A second launch adds up the sums of all chunks (columns.hpp).

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/columns.hpp>
#include <ashlar/device/cuda/kernel/layer_norm_backward_row.hpp>

namespace ashlar::cuda::detail {

/// The two sums that the backward pass of layer norm needs, for each of `Rows` rows: g[j] is the
/// sum of g = dy gamma over row j, and g_difference[j] is the sum of g (x - mean).
template <class A, int Rows>
struct row_sums {
  A g[Rows], g_difference[Rows];

  static ASHLAR_HD row_sums combine(row_sums const& a, row_sums const& b) {
    row_sums total;
    ASHLAR_UNROLL for (int j = 0; j < Rows; ++j) {
      total.g[j] = a.g[j] + b.g[j];
      total.g_difference[j] = a.g_difference[j] + b.g_difference[j];
    }
    return total;
  }
};

/// Processes one chunk of rows in each block. A block has at most `Threads` threads, and a row has
/// at most one pack for each thread.
template <class T, int Width, int Threads>
struct layer_norm_backward_chunk {
  static constexpr int launch_threads = Threads;
  static constexpr int rows_at_once = Threads <= 256 ? 8 : 4;
  using A = accumulation_t<T>;
  using partial = row_sums<A, rows_at_once>;
  layer_norm_backward_op<T> op;
  std::int64_t rows, chunk_rows;
  A* partial_sums;  // [2, chunks, cols]

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    typename Block::template per_thread<packs_of_rows> packs(block);
    typename Block::template per_thread<column_sums> sums(block);
    typename Block::template per_thread<partial> parts(block);
    auto* const scratch = reinterpret_cast<partial*>(block.shared());
    std::int64_t const begin = block.index() * chunk_rows;
    std::int64_t const end = begin + chunk_rows < rows ? begin + chunk_rows : rows;
    block.each_alone([&](int t) {
      sums[t] = {};
      if (t * Width < op.cols) packs[t].gamma = load<Width>(op.gamma + t * Width);
    });
    for (std::int64_t first = begin; first < end; first += rows_at_once) {
      block.each_alone([&](int t) {
        parts[t] = {};
        if (t * Width < op.cols) gather(first, end, t * Width, packs[t], parts[t]);
      });
      partial const total = block.fold(parts, scratch, [](partial const& a, partial const& b) {
        return partial::combine(a, b);
      });
      block.each_alone([&](int t) {
        if (t * Width < op.cols) apply(first, end, t * Width, total, packs[t], sums[t]);
      });
    }
    block.each_alone([&](int t) {
      if (t * Width >= op.cols) return;
      for (int k = 0; k < Width; ++k) {
        std::int64_t const c = t * Width + k;
        partial_sums[block.index() * op.cols + c] = sums[t].dgamma[k];
        partial_sums[(block.count() + block.index()) * op.cols + c] = sums[t].dbeta[k];
      }
    });
  }

 private:
  struct packs_of_rows {
    pack<T, Width> dy[rows_at_once], x[rows_at_once], gamma;
  };
  struct column_sums {
    A dgamma[Width], dbeta[Width];
  };

  /// Reads the packs at column c of rows_at_once rows, starting at row `first`, and adds what they
  /// contribute to the sums of these rows. In place of rows from `end` on, reads row end - 1 again.
  ASHLAR_HD void gather(std::int64_t first, std::int64_t end, std::int64_t c, packs_of_rows& packs,
                        partial& part) const {
    ASHLAR_UNROLL for (int j = 0; j < rows_at_once; ++j) {
      std::int64_t const row = first + j < end ? first + j : end - 1;
      packs.dy[j] = load<Width>(op.dy + row * op.cols + c);
      packs.x[j] = load<Width>(op.x + row * op.cols + c);
    }
    ASHLAR_UNROLL for (int j = 0; j < rows_at_once; ++j) {
      A const centre = op.mean[first + j < end ? first + j : end - 1];
      ASHLAR_UNROLL for (int k = 0; k < Width; ++k) {
        A const g = static_cast<A>(packs.dy[j].at[k]) * static_cast<A>(packs.gamma.at[k]);
        part.g[j] += g;
        part.g_difference[j] += g * (static_cast<A>(packs.x[j].at[k]) - centre);
      }
    }
  }

  /// Writes dx at column c of rows_at_once rows, starting at row `first`. Adds what these rows
  /// contribute to the sums of dgamma and dbeta of these columns.
  ASHLAR_HD void apply(std::int64_t first, std::int64_t end, std::int64_t c, partial const& total,
                       packs_of_rows const& packs, column_sums& sums) const {
    ASHLAR_UNROLL for (int j = 0; j < rows_at_once; ++j) {
      std::int64_t const row = first + j;
      if (row >= end) return;
      A const centre = op.mean[row], scale = op.rstd[row];
      device::layer_norm_gradient<A> const formula(
          centre, scale, total.g[j], scale * total.g_difference[j], op.share_of_column);
      pack<T, Width> dx;
      ASHLAR_UNROLL for (int k = 0; k < Width; ++k) {
        A const dy = static_cast<A>(packs.dy[j].at[k]), x = static_cast<A>(packs.x[j].at[k]);
        dx.at[k] = static_cast<T>(formula(dy, x, static_cast<A>(packs.gamma.at[k])));
        sums.dgamma[k] += dy * ((x - centre) * scale);
        sums.dbeta[k] += dy;
      }
      store<Width>(op.dx + row * op.cols + c, dx);
    }
  }
};

constexpr std::int64_t layer_norm_chunk_rows(std::int64_t rows, std::int64_t cols) {
  return rows_of_chunk(rows, cols, 16);
}

/// Returns whether layer_norm_backward_in_chunks can process rows of `cols` elements. Such rows
/// consist of whole packs, at most 512.
template <class T>
bool fits_in_chunks(std::int64_t cols) {
  return cols % widest<T> == 0 && cols / widest<T> <= 512;
}

/// Computes dx, and adds to dgamma and dbeta. The arrays are aligned to packs. The workspace has
/// layer_norm_backward_workspace(rows, cols) elements.
template <class T, class Launcher>
void layer_norm_backward_in_chunks(Launcher const& launch, layer_norm_backward_op<T> const& op,
                                   std::int64_t rows, accumulation_t<T>* workspace,
                                   accumulation_t<T>* dgamma, accumulation_t<T>* dbeta) {
  if (rows == 0) return;
  std::int64_t const packs = op.cols / widest<T>;
  std::int64_t const chunk_rows = layer_norm_chunk_rows(rows, op.cols);
  std::int64_t const chunks = (rows + chunk_rows - 1) / chunk_rows;
  int const threads = static_cast<int>((packs + warp - 1) / warp * warp);
  auto const run = [&]<int Threads>() {
    using kernel = layer_norm_backward_chunk<T, widest<T>, Threads>;
    launch.blocks("layer_norm_backward", kernel{op, rows, chunk_rows, workspace}, chunks, threads,
                  threads / warp * static_cast<std::int64_t>(sizeof(typename kernel::partial)));
  };
  if (threads <= 256) run.template operator()<256>();
  else run.template operator()<512>();
  accumulation_t<T>* const out[] = {dgamma, dbeta};
  launch_chunk_fold(launch, "layer_norm_backward", static_cast<accumulation_t<T> const*>(workspace),
                    chunks, op.cols, out);
}

}  // namespace ashlar::cuda::detail
