// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The attention backward pass for bfloat16 on tensor cores, with the formulas and the launches of
// attention_backward.hpp. There are two kernels:
//
//   attention_matrix_keys   A block has a tile of keys and their values, and loops over the query
//                           rows that attend to these keys. It computes P^T and dS^T (rows are
//                           keys), dV += P^T dO and dK += dS^T Q.
//   attention_matrix_rows   A block has a tile of query rows and loops over the keys that these
//                           rows attend to. It computes P, dS and dQ += dS K.
//
// Both kernels compute P and dS, which takes 7 matrix products in total instead of 5. The advantage
// is that no two blocks add to the same element, so atomics are not needed. While the current tile
// is processed, the next tile is copied into a second buffer. There is one barrier per tile.
//
// The following table has the numbers of rows and the sizes of shared memory. The "own" rows of a
// block stay in shared memory, and the block loops over tiles of "other" rows. Each pair of figures
// is for attention_matrix_keys / attention_matrix_rows:
//
//   Dim   own rows    other rows of a tile   shared memory
//   64    128 / 128   32 / 64                55 KiB / 73 KiB
//   128   64 / 64     32 / 32                69 KiB / 69 KiB

#include <cstddef>
#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/attention_matrix.hpp>

namespace ashlar::cuda::detail {

/// The base of both kernels.
///
///   Dim      head_dim rounded up to 64 or 128
///   Strips   the number of strips of 16 rows that each warp processes
///   Others   the number of rows of a tile that the block loops over
template <int Dim, int Strips, int Others>
struct attention_matrix_backward {
  static constexpr int launch_threads = matrix_threads;
  static constexpr int strips = Strips;
  static constexpr int rows = matrix_rows<Strips>;
  static constexpr int others = Others;
  static constexpr int pitch = matrix_pitch<Dim>;
  static_assert(rows % others == 0 && 2 * others <= matrix_threads);

  device::attention_extents e;
  float scale;
  bfloat16 const* dout;
  bfloat16 const* qkv;
  float const* log_sum_exp;
  float const* dots;
  bfloat16* dqkv;

  using scores = matrix_sums<strips, others>;
  using weights = matrix_weights<strips, others>;

  /// The layout of shared memory. First come two arrays of the block's own rows. Then come two
  /// buffers, each with two arrays of the rows that the block loops over ("other" rows). A buffer
  /// also has two floats for each other row: log_sum_exp and dot(dO, O). Only attention_matrix_keys
  /// uses these floats.
  struct shared_tiles {
    bfloat16* at;

    ASHLAR_HD explicit shared_tiles(std::byte* shared) : at(reinterpret_cast<bfloat16*>(shared)) {}
    ASHLAR_HD bfloat16* own(int array) const { return at + array * rows * pitch; }
    ASHLAR_HD bfloat16* other(int buffer, int array) const {
      return at + (2 * rows + (2 * buffer + array) * others) * pitch;
    }
    ASHLAR_HD float* numbers(int buffer) const {
      return reinterpret_cast<float*>(other(2, 0)) + buffer * 2 * others;
    }
  };

  ASHLAR_HD std::int64_t tiles() const { return (e.sequence + rows - 1) / rows; }
  static constexpr std::int64_t shared_bytes() {
    return (2 * rows + 4 * others) * pitch * std::int64_t{sizeof(bfloat16)} +
           4 * others * std::int64_t{sizeof(float)};
  }
};

}  // namespace ashlar::cuda::detail
