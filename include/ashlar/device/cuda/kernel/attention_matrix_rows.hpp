// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The kernel that computes dQ on tensor cores (attention_matrix_backward.hpp). A block has a tile
// of query rows and loops over the keys that these rows attend to. `dot` is dot(dO, O) of a query
// row.
//
//   P = e^(scale Q K^T - log_sum_exp)       dS = P (dO V^T - dot)
//   dQ += dS K, multiplied by scale at the end

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/attention_matrix_backward.hpp>

namespace ashlar::cuda::detail {

template <int Dim>
struct attention_matrix_rows
    : attention_matrix_backward<Dim, Dim == 64 ? 2 : 1, Dim == 64 ? 64 : 32> {
  using base = attention_matrix_backward<Dim, Dim == 64 ? 2 : 1, Dim == 64 ? 64 : 32>;
  using base::e;
  using base::others;
  using base::rows;
  using base::strips;
  using typename base::shared_tiles;

  struct state {
    matrix_sums<strips, Dim> dq;
    typename base::scores scores, gradients;
    typename base::weights ds;
    float shift[strips][2], dot[strips][2];
  };

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    shared_tiles const tile(block.shared());
    division const place(block.index(), this->tiles());
    std::int64_t const pair = place.quotient;
    std::int64_t const first = (this->tiles() - 1 - place.remainder) * rows;
    std::int64_t const end = e.keys(first + rows < e.sequence ? first + rows : e.sequence);
    typename Block::template per_thread<state> threads(block);
    auto const copy_keys = [&](int t, std::int64_t key, int buffer) {
      copy_rows<others, Dim>(block, t, rows_of_qkv(e, this->qkv, pair, 1), key, e,
                             tile.other(buffer, 0));
      copy_rows<others, Dim>(block, t, rows_of_qkv(e, this->qkv, pair, 2), key, e,
                             tile.other(buffer, 1));
    };
    block.each_alone([&](int t) {
      copy_rows<rows, Dim>(block, t, rows_of_qkv(e, this->qkv, pair, 0), first, e, tile.own(0));
      copy_rows<rows, Dim>(block, t, rows_of_out(e, this->dout, pair), first, e, tile.own(1));
      copy_keys(t, 0, 0);
      state& s = threads[t];
      s.dq.clear();
      ASHLAR_UNROLL for (int i = 0; i < strips; ++i) {
        ASHLAR_UNROLL for (int half = 0; half < 2; ++half) {
          std::int64_t const row = first + (t / warp * strips + i) * 16 +
                                   place_in_c(t % warp, 2 * half).row;
          bool const valid = row < e.sequence;
          s.shift[i][half] = valid ? this->log_sum_exp[pair * e.sequence + row] * log2_e : 0.0f;
          s.dot[i][half] = valid ? this->dots[pair * e.sequence + row] : 0.0f;
        }
      }
    });
    block.commit_copies();
    int now = 0;
    for (std::int64_t key = 0; key < end; key += others) {
      block.template wait_copies<0>();
      if (key + others < end) block.each_alone([&](int t) { copy_keys(t, key + others, 1 - now); });
      block.commit_copies();
      bfloat16 const* const k = tile.other(now, 0);
      multiply_rows<Dim, strips, others>(block, tile.own(0), k,
                                         [&](int t) -> auto& { return threads[t].scores; });
      multiply_rows<Dim, strips, others>(block, tile.own(1), tile.other(now, 1),
                                         [&](int t) -> auto& { return threads[t].gradients; });
      block.each_alone([&](int t) { weigh<Block>(t, threads[t], first, key); });
      add_weighted<Dim, strips, others>(
          block, [&](int t) -> auto& { return threads[t].ds; }, k,
          [&](int t) -> auto& { return threads[t].dq; });
      now = 1 - now;
    }
    block.each([](int) {});
    write_rows<Dim, strips>(
        block, rows_of_qkv(e, this->dqkv, pair, 0), first, e, tile.own(0),
        [&](int t) -> auto& { return threads[t].dq; }, [&](int, int, int) { return this->scale; });
  }

 private:
  /// Computes the score gradients dS = P (dO V^T - dot). dS is zero for keys that a row does not
  /// attend to.
  template <class Block>
  ASHLAR_HD void weigh(int t, state& s, std::int64_t first, std::int64_t key) const {
    float const factor = this->scale * log2_e;
    bool const is_masked = key + others > e.sequence || (e.causal && key + others > first + 1);
    ASHLAR_UNROLL for (int i = 0; i < strips; ++i) {
      ASHLAR_UNROLL for (int n = 0; n < others / 8; ++n) {
        ASHLAR_UNROLL for (int v = 0; v < 4; ++v) {
          auto const at = place_in_c(t % warp, v);
          std::int64_t const row = first + (t / warp * strips + i) * 16 + at.row;
          std::int64_t const seen = e.causal && row < e.sequence ? row + 1 : e.sequence;
          float& gradient = s.gradients.at[i][n][v];
          float const p = Block::exp2(s.scores.at[i][n][v] * factor - s.shift[i][v / 2]);
          gradient = p * (gradient - s.dot[i][v / 2]);
          if (is_masked && key + n * 8 + at.column >= seen) gradient = 0.0f;
        }
      }
    }
    round_sums<Block>(s.gradients, s.ds);
  }
};

}  // namespace ashlar::cuda::detail
