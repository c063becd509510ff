// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The attention forward pass for bfloat16 on tensor cores, with the arrays and the recurrence of
// attention.hpp. A block has 128 query rows of one head, and each of the 4 warps of the block has
// 32 of these rows. Four neighbouring threads share a row. Each of them has the maximum of the row
// and a partial sum, and these sums are added at the end. Warps exchange no data. They only share
// tiles of 64 keys, and of the 64 values of the same tokens. Tile j needs three barriers:
//
//   barrier 1   Keys j have arrived. Values j are copied while S = Q K^T is computed.
//   barrier 2   No warp reads keys j any more. Keys j + 1 are copied while P V is computed.
//   barrier 3   Values j have arrived.
//
// With a causal mask, a block stops after the last key that any query row of the block attends to.
// The block skips the mask for a tile if all query rows of the block attend to all keys of the
// tile. Rows beyond the end of the sequence attend to the whole sequence, so that their maximum is
// finite too.

#include <cmath>
#include <cstdint>
#include <limits>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/attention_matrix.hpp>

namespace ashlar::cuda::detail {

template <int Dim>
struct attention_matrix_forward {
  static constexpr int launch_threads = matrix_threads;
  static constexpr int strips = 2;
  static constexpr int rows = matrix_rows<strips>;
  static constexpr int keys = 64;
  static constexpr int pitch = matrix_pitch<Dim>;

  device::attention_extents e;
  float scale;
  bfloat16 const* qkv;
  bfloat16* out;
  float* log_sum_exp;

  /// The variables of one thread. In each strip of 16 query rows, a thread has elements of two
  /// rows: g and g + 8, where g = (thread % 32) / 4. The elements [strip][0] of an array belong to
  /// row g, the elements [strip][1] to row g + 8.
  struct state {
    matrix_sums<strips, Dim> sums;
    matrix_sums<strips, keys> scores;
    matrix_weights<strips, keys> weights;
    float maximum[strips][2];
    float peak[strips][2];
    float total[strips][2];
  };

  std::int64_t tiles() const { return (e.sequence + rows - 1) / rows; }
  static constexpr std::int64_t shared_bytes() {
    return (rows + 2 * keys) * pitch * std::int64_t{sizeof(bfloat16)};
  }

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    auto* const q = reinterpret_cast<bfloat16*>(block.shared());
    bfloat16* const k = q + rows * pitch;
    bfloat16* const v = k + keys * pitch;
    std::int64_t const number = (e.sequence + rows - 1) / rows;
    division const place(block.index(), number);
    std::int64_t const pair = place.quotient;
    // With a causal mask, the last rows attend to the most keys. The blocks of these rows start
    // first, so that no long-running block starts last.
    std::int64_t const first = (number - 1 - place.remainder) * rows;
    std::int64_t const end = e.keys(first + rows < e.sequence ? first + rows : e.sequence);
    auto const k_rows = rows_of_qkv(e, qkv, pair, 1);
    auto const v_rows = rows_of_qkv(e, qkv, pair, 2);
    typename Block::template per_thread<state> threads(block);

    block.each_alone([&](int t) {
      copy_rows<rows, Dim>(block, t, rows_of_qkv(e, qkv, pair, 0), first, e, q);
      copy_rows<keys, Dim>(block, t, k_rows, 0, e, k);
      state& s = threads[t];
      s.sums.clear();
      for_each_row([&](int i, int half) {
        s.maximum[i][half] = -std::numeric_limits<float>::infinity();
        s.total[i][half] = 0.0f;
      });
    });
    block.commit_copies();
    for (std::int64_t key = 0; key < end; key += keys) {
      block.template wait_copies<0>();
      block.each_alone([&](int t) { copy_rows<keys, Dim>(block, t, v_rows, key, e, v); });
      block.commit_copies();
      multiply_rows<Dim, strips, keys>(block, q, k,
                                       [&](int t) -> auto& { return threads[t].scores; });
      block.each([&](int t) { find_peaks(t, threads[t], first, key); });
      if (key + keys < end) {
        block.each_alone([&](int t) { copy_rows<keys, Dim>(block, t, k_rows, key + keys, e, k); });
      }
      block.commit_copies();
      for_each_row([&](int i, int half) {
        block.fold_quads([&](int t) -> float& { return threads[t].peak[i][half]; },
                         [](float a, float b) { return a < b ? b : a; });
      });
      block.each_alone([&](int t) { weigh<Block>(t, threads[t]); });
      block.template wait_copies<1>();
      add_weighted<Dim, strips, keys>(
          block, [&](int t) -> auto& { return threads[t].weights; }, v,
          [&](int t) -> auto& { return threads[t].sums; });
    }
    for_each_row([&](int i, int half) {
      block.fold_quads([&](int t) -> float& { return threads[t].total[i][half]; },
                       [](float a, float b) { return a + b; });
    });
    block.each([&](int t) { finish(t, threads[t], pair, first); });
    write_rows<Dim, strips>(
        block, rows_of_out(e, out, pair), first, e, q,
        [&](int t) -> auto& { return threads[t].sums; },
        [&](int t, int i, int half) { return threads[t].total[i][half]; });
  }

 private:
  template <class F>
  static ASHLAR_HD void for_each_row(F const& f) {
    ASHLAR_UNROLL for (int i = 0; i < strips; ++i) {
      ASHLAR_UNROLL for (int half = 0; half < 2; ++half) f(i, half);
    }
  }

  /// Sets this thread's scores to -inf for keys that a row does not attend to. Then sets `peak` of
  /// each row to the maximum of the thread's scores in this tile and of `maximum`. `maximum` is the
  /// largest score in the earlier tiles.
  ASHLAR_HD void find_peaks(int t, state& s, std::int64_t first, std::int64_t key) const {
    bool const is_masked = key + keys > e.sequence || (e.causal && key + keys > first + 1);
    if (is_masked) {
      s.scores.for_each(t, [&](int, int, int row, int column, float& score) {
        std::int64_t const at = first + row;
        std::int64_t const seen = e.causal && at < e.sequence ? at + 1 : e.sequence;
        if (key + column >= seen) score = -std::numeric_limits<float>::infinity();
      });
    }
    for_each_row([&](int i, int half) { s.peak[i][half] = s.maximum[i][half]; });
    s.scores.for_each(t, [&](int i, int half, int, int, float& score) {
      if (s.peak[i][half] < score) s.peak[i][half] = score;
    });
  }

  /// Replaces each score by e^(scale (score - peak)) and adds these weights to `total`, where
  /// `peak` is the new maximum of the row. Rescales `total` and the output sums of earlier tiles to
  /// the new maximum.
  template <class Block>
  ASHLAR_HD void weigh(int t, state& s) const {
    float const factor = scale * log2_e;
    float shift[strips][2];
    float keep[strips][2];
    for_each_row([&](int i, int half) {
      shift[i][half] = s.peak[i][half] * factor;
      keep[i][half] = Block::exp2(s.maximum[i][half] * factor - shift[i][half]);
      s.maximum[i][half] = s.peak[i][half];
      s.total[i][half] *= keep[i][half];
    });
    s.scores.for_each(t, [&](int i, int half, int, int, float& score) {
      score = Block::exp2(score * factor - shift[i][half]);
      s.total[i][half] += score;
    });
    s.sums.for_each(t, [&](int i, int half, int, int, float& sum) { sum *= keep[i][half]; });
    round_sums<Block>(s.scores, s.weights);
  }

  /// Writes log_sum_exp. Replaces `total` (the sum of the weights of a row) by the reciprocal of
  /// this sum. The caller multiplies the output sums by the reciprocal.
  ASHLAR_HD void finish(int t, state& s, std::int64_t pair, std::int64_t first) const {
    for_each_row([&](int i, int half) {
      std::int64_t const row = first + (t / warp * strips + i) * 16 +
                               place_in_c(t % warp, 2 * half).row;
      if (t % 4 == 0 && row < e.sequence) {
        log_sum_exp[pair * e.sequence + row] = s.maximum[i][half] * scale +
                                               std::log(s.total[i][half]);
      }
      s.total[i][half] = 1.0f / s.total[i][half];
    });
  }
};

}  // namespace ashlar::cuda::detail
