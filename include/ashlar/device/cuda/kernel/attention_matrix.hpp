// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Functions that the attention kernels on tensor cores share (Dao: FlashAttention-2, 2023). A
// thread block of 4 warps has a tile of "own" rows, which stay in shared memory, and loops over
// tiles of "other" rows:
//
//                           own rows     other rows
//   forward pass, and dQ    query rows   keys and values
//   dK and dV               keys         query rows
//
// Each warp processes `Tiles` strips of 16 own rows, and reads all other rows. Elements are
// bfloat16 and sums are float.
//
//   copy_rows      copies rows of a head to shared memory, asynchronously, 16 bytes at a time; rows
//                  beyond the end are set to zero
//   multiply_rows  sums = own rows times transposed other rows          S = Q K^T, dP = dO V^T, ...
//   round_sums     rounds P or dS to bfloat16. These "weights" stay in registers (warp_matrix.hpp).
//   add_weighted   sums += weights times other rows                     O += P V, dQ += dS K, ...
//   write_rows     copies sums to shared memory and from there to global memory, so that each write
//                  to global memory has 16 bytes
//
//   Dim            head_dim rounded up to 64 or 128; columns beyond head_dim are zero
//   pitch          the distance between rows in shared memory: Dim + 8 elements, so that the 8 rows
//                  of an 8 x 8 matrix (ldmatrix) are in different banks
//   registers      sums and scores take fewer than 200 of the 255 registers of a thread

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/attention_extents.hpp>
#include <ashlar/device/cuda/kernel/attention_tile.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/cuda/kernel/pack.hpp>
#include <ashlar/device/cuda/kernel/warp_matrix.hpp>

namespace ashlar::cuda {

/// Returns whether attention runs on tensor cores. The requirements are:
///
///   head_dim   a multiple of 8 elements (16 bytes), at most 128
///   scale      positive
///   arrays     aligned to 16 bytes
template <class... T>
bool attention_on_matrices(device::attention_extents const& e, float scale, T const*... arrays) {
  return e.head_dim > 0 && e.head_dim <= 128 && e.head_dim % 8 == 0 && scale > 0 &&
         is_packable(arrays...);
}

}  // namespace ashlar::cuda

namespace ashlar::cuda::detail {

inline constexpr int matrix_threads = 128;
inline constexpr float log2_e = 1.4426950408889634f;

template <int Dim>
inline constexpr int matrix_pitch = Dim + 8;

/// The number of rows that a thread block processes if each of its warps has `Tiles` strips of 16
/// rows.
template <int Tiles>
inline constexpr int matrix_rows = matrix_threads / warp * 16 * Tiles;

/// One thread's float results of tensor core products for `Tiles` strips of 16 rows and `Columns`
/// columns. A product has 8 columns, and a thread has 4 values of each product (c in
/// warp_matrix.hpp).
template <int Tiles, int Columns>
struct matrix_sums {
  float at[Tiles][Columns / 8][4];

  ASHLAR_HD void clear() {
    ASHLAR_UNROLL for (int i = 0; i < Tiles; ++i) {
      ASHLAR_UNROLL for (int n = 0; n < Columns / 8; ++n) {
        ASHLAR_UNROLL for (int v = 0; v < 4; ++v) at[i][n][v] = 0.0f;
      }
    }
  }
  /// Calls f(i, half, row, column, value) for each value of thread t.
  ///
  ///   i             the number of the strip of 16 rows in the warp
  ///   half          0 in the first 8 rows of the strip, 1 in the last 8 rows
  ///   row, column   the position in the block's tile
  template <class F>
  ASHLAR_HD void for_each(int t, F const& f) {
    ASHLAR_UNROLL for (int i = 0; i < Tiles; ++i) {
      ASHLAR_UNROLL for (int n = 0; n < Columns / 8; ++n) {
        ASHLAR_UNROLL for (int v = 0; v < 4; ++v) {
          auto const place = place_in_c(t % warp, v);
          f(i, v / 2, (t / warp * Tiles + i) * 16 + place.row, n * 8 + place.column, at[i][n][v]);
        }
      }
    }
  }
};

/// The values of matrix_sums, rounded to bfloat16, in the layout of the left operand of the next
/// tensor core product (`a` in warp_matrix.hpp).
template <int Tiles, int Columns>
struct matrix_weights {
  std::uint32_t at[Tiles][Columns / 16][4];
};

template <class Block, int Tiles, int Columns>
ASHLAR_HD void round_sums(matrix_sums<Tiles, Columns> const& sums,
                          matrix_weights<Tiles, Columns>& weights) {
  ASHLAR_UNROLL for (int i = 0; i < Tiles; ++i) {
    ASHLAR_UNROLL for (int k = 0; k < Columns / 16; ++k) {
      ASHLAR_UNROLL for (int w = 0; w < 4; ++w) {
        float const* const pair = sums.at[i][2 * k + w / 2] + w % 2 * 2;
        weights.at[i][k][w] = Block::pack_bfloat16(pair[0], pair[1]);
      }
    }
  }
}

/// Starts this thread's part of an asynchronous copy of rows [first, first + Rows) of a head to
/// shared memory. Elements beyond the sequence or beyond head_dim are set to zero.
template <int Rows, int Dim, class Block>
ASHLAR_HD void copy_rows(Block const& block, int t, head_rows<bfloat16 const> from,
                         std::int64_t first, device::attention_extents const& e, bfloat16* to) {
  constexpr int packs = Dim / 8;
  constexpr int step = matrix_threads / packs;  // rows that the block copies at a time
  static_assert(Rows % step == 0);
  int const column = t % packs * 8;
  std::int64_t row = first + t / packs;
  bfloat16 const* source = from.data + row * from.stride + column;
  bfloat16* target = to + t / packs * matrix_pitch<Dim> + column;
  ASHLAR_UNROLL for (int i = 0; i < Rows / step; ++i) {
    bool const valid = row < e.sequence && column < e.head_dim;
    block.template copy_async<16>(target, valid ? source : from.data, valid);
    row += step;
    source += step * from.stride;
    target += step * matrix_pitch<Dim>;
  }
}

/// Multiplies the block's own rows by the transpose of `Columns` other rows, for example S = Q K^T.
/// The own rows and the other rows are in shared memory. Dim is the length of a row. sums(t)
/// receives the results of thread t.
template <int Dim, int Tiles, int Columns, class Block, class Sums>
ASHLAR_HD void multiply_rows(Block const& block, bfloat16 const* own, bfloat16 const* other,
                             Sums const& sums) {
  struct operands {
    std::uint32_t a[Tiles][4];
    std::uint32_t b[4];
  };
  constexpr int pitch = matrix_pitch<Dim>;
  typename Block::template per_thread<operands> parts(block);
  block.each_alone([&](int t) { sums(t).clear(); });
  ASHLAR_UNROLL for (int k = 0; k < Dim; k += 16) {
    ASHLAR_UNROLL for (int i = 0; i < Tiles; ++i) {
      block.template load_matrices<false>([&](int t) {
        auto const at = row_for_a(t % warp);
        int const row = (t / warp * Tiles + i) * 16 + at.row;
        return matrix_load{own + row * pitch + k + at.column, parts[t].a[i]};
      });
    }
    ASHLAR_UNROLL for (int n = 0; n < Columns; n += 16) {
      block.template load_matrices<false>([&](int t) {
        auto const at = row_for_b(t % warp);
        return matrix_load{other + (n + at.row) * pitch + k + at.column, parts[t].b};
      });
      ASHLAR_UNROLL for (int i = 0; i < Tiles; ++i) {
        ASHLAR_UNROLL for (int h = 0; h < 2; ++h) {
          block.mma([&](int t) {
            return mma_operands{sums(t).at[i][n / 8 + h], parts[t].a[i], parts[t].b + 2 * h};
          });
        }
      }
    }
  }
}

/// Adds weights times `other` to the sums, for example O += P V. `other` has `Rows` rows in shared
/// memory, and `weights` has one column for each of these rows. weights(t) and sums(t) are the
/// registers of thread t.
template <int Dim, int Tiles, int Rows, class Block, class Weights, class Sums>
ASHLAR_HD void add_weighted(Block const& block, Weights const& weights, bfloat16 const* other,
                            Sums const& sums) {
  struct operand {
    std::uint32_t b[4];
  };
  constexpr int pitch = matrix_pitch<Dim>;
  typename Block::template per_thread<operand> parts(block);
  ASHLAR_UNROLL for (int k = 0; k < Rows; k += 16) {
    ASHLAR_UNROLL for (int n = 0; n < Dim; n += 16) {
      block.template load_matrices<true>([&](int t) {
        auto const at = row_for_b_transposed(t % warp);
        return matrix_load{other + (k + at.row) * pitch + n + at.column, parts[t].b};
      });
      ASHLAR_UNROLL for (int i = 0; i < Tiles; ++i) {
        ASHLAR_UNROLL for (int h = 0; h < 2; ++h) {
          block.mma([&](int t) {
            return mma_operands{sums(t).at[i][n / 8 + h], weights(t).at[i][k / 16],
                                parts[t].b + 2 * h};
          });
        }
      }
    }
  }
}

/// Writes the sums to global memory: to the rows of a head, starting at row `first`. Each sum is
/// first multiplied by factor(t, i, half). Overwrites `tile` in shared memory, in which the sums
/// are collected.
///
///   t      the thread that has the sum
///   i      the strip of 16 rows of the sum
///   half   0 in the first 8 rows of the strip, 1 in the last 8 rows
template <int Dim, int Tiles, class Block, class Sums, class Factor>
ASHLAR_HD void write_rows(Block const& block, head_rows<bfloat16> to, std::int64_t first,
                          device::attention_extents const& e, bfloat16* tile, Sums const& sums,
                          Factor const& factor) {
  constexpr int pitch = matrix_pitch<Dim>;
  block.each([&](int t) {
    ASHLAR_UNROLL for (int i = 0; i < Tiles; ++i) {
      ASHLAR_UNROLL for (int n = 0; n < Dim / 8; ++n) {
        ASHLAR_UNROLL for (int half = 0; half < 2; ++half) {
          auto const at = place_in_c(t % warp, 2 * half);
          int const row = (t / warp * Tiles + i) * 16 + at.row;
          float const* const pair = sums(t).at[i][n] + 2 * half;
          float const scale = factor(t, i, half);
          *reinterpret_cast<std::uint32_t*>(tile + row * pitch + n * 8 +
                                            at.column) = Block::pack_bfloat16(pair[0] * scale,
                                                                              pair[1] * scale);
        }
      }
    }
  });
  block.each([&](int t) {
    constexpr int packs = Dim / 8;
    for (int i = t; i < matrix_rows<Tiles> * packs; i += matrix_threads) {
      int const row = i / packs;
      int const column = i % packs * 8;
      if (first + row < e.sequence && column < e.head_dim)
        store<8>(to.data + (first + row) * to.stride + column,
                 load<8>(tile + row * pitch + column));
    }
  });
}

/// Calls run.operator()<64>() if head_dim is at most 64, otherwise run.operator()<128>().
template <class Run>
void with_matrix_dim(device::attention_extents const& e, Run const& run) {
  if (e.head_dim <= 64) return run.template operator()<64>();
  run.template operator()<128>();
}

}  // namespace ashlar::cuda::detail
