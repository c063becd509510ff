// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The kernel that computes dK and dV on tensor cores (attention_matrix_backward.hpp). A block has a
// tile of keys and their values, and loops over the query rows that attend to these keys. The block
// computes the scores transposed: rows are keys, and columns are query rows. `dot` is dot(dO, O) of
// a query row.
//
//   P^T = e^(scale K Q^T - log_sum_exp of the column)       dV += P^T dO
//   dS^T = P^T (V dO^T - dot of the column)                 dK += dS^T Q
//
// dK is multiplied by scale at the end.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/attention_matrix_backward.hpp>

namespace ashlar::cuda::detail {

template <int Dim>
struct attention_matrix_keys : attention_matrix_backward<Dim, Dim == 64 ? 2 : 1, 32> {
  using base = attention_matrix_backward<Dim, Dim == 64 ? 2 : 1, 32>;
  using base::e;
  using base::others;
  using base::rows;
  using base::strips;
  using typename base::shared_tiles;

  struct state {
    matrix_sums<strips, Dim> dk, dv;
    typename base::scores scores, gradients;
    typename base::weights p, ds;
  };

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    shared_tiles const tile(block.shared());
    division const place(block.index(), this->tiles());
    std::int64_t const pair = place.quotient;
    std::int64_t const key = place.remainder * rows;
    typename Block::template per_thread<state> threads(block);
    auto const copy_queries = [&](int t, std::int64_t first, int buffer) {
      copy_rows<others, Dim>(block, t, rows_of_qkv(e, this->qkv, pair, 0), first, e,
                             tile.other(buffer, 0));
      copy_rows<others, Dim>(block, t, rows_of_out(e, this->dout, pair), first, e,
                             tile.other(buffer, 1));
      std::int64_t const row = first + t % others;
      bool const valid = row < e.sequence;
      float const* const from = t < others ? this->log_sum_exp : this->dots;
      if (t < 2 * others) {
        block.template copy_async<4>(tile.numbers(buffer) + t,
                                     from + (valid ? pair * e.sequence + row : 0), valid);
      }
    };
    block.each_alone([&](int t) {
      copy_rows<rows, Dim>(block, t, rows_of_qkv(e, this->qkv, pair, 1), key, e, tile.own(0));
      copy_rows<rows, Dim>(block, t, rows_of_qkv(e, this->qkv, pair, 2), key, e, tile.own(1));
      copy_queries(t, e.causal ? key : 0, 0);
      threads[t].dk.clear();
      threads[t].dv.clear();
    });
    block.commit_copies();
    int now = 0;
    for (std::int64_t first = e.causal ? key : 0; first < e.sequence; first += others) {
      block.template wait_copies<0>();
      if (first + others < e.sequence)
        block.each_alone([&](int t) { copy_queries(t, first + others, 1 - now); });
      block.commit_copies();
      bfloat16 const* const q = tile.other(now, 0);
      bfloat16 const* const grad = tile.other(now, 1);
      multiply_rows<Dim, strips, others>(block, tile.own(0), q,
                                         [&](int t) -> auto& { return threads[t].scores; });
      multiply_rows<Dim, strips, others>(block, tile.own(1), grad,
                                         [&](int t) -> auto& { return threads[t].gradients; });
      block.each_alone([&](int t) { weigh<Block>(t, threads[t], key, first, tile.numbers(now)); });
      add_weighted<Dim, strips, others>(
          block, [&](int t) -> auto& { return threads[t].p; }, grad,
          [&](int t) -> auto& { return threads[t].dv; });
      add_weighted<Dim, strips, others>(
          block, [&](int t) -> auto& { return threads[t].ds; }, q,
          [&](int t) -> auto& { return threads[t].dk; });
      now = 1 - now;
    }
    block.each([](int) {});
    write_rows<Dim, strips>(
        block, rows_of_qkv(e, this->dqkv, pair, 1), key, e, tile.own(0),
        [&](int t) -> auto& { return threads[t].dk; }, [&](int, int, int) { return this->scale; });
    write_rows<Dim, strips>(
        block, rows_of_qkv(e, this->dqkv, pair, 2), key, e, tile.own(1),
        [&](int t) -> auto& { return threads[t].dv; }, [](int, int, int) { return 1.0f; });
  }

 private:
  /// Computes P^T and dS^T from the scores and from V dO^T. Query rows beyond the end of the
  /// sequence need no mask: Q and dO of such rows are zero, so these rows add nothing to dK and dV.
  template <class Block>
  ASHLAR_HD void weigh(int t, state& s, std::int64_t key, std::int64_t first,
                       float const* numbers) const {
    float const factor = this->scale * log2_e;
    bool const is_masked = e.causal && first < key + rows - 1;
    ASHLAR_UNROLL for (int i = 0; i < strips; ++i) {
      ASHLAR_UNROLL for (int n = 0; n < others / 8; ++n) {
        ASHLAR_UNROLL for (int v = 0; v < 4; ++v) {
          auto const at = place_in_c(t % warp, v);
          int const column = n * 8 + at.column;
          std::int64_t const own = key + (t / warp * strips + i) * 16 + at.row;
          float& score = s.scores.at[i][n][v];
          float& gradient = s.gradients.at[i][n][v];
          score = Block::exp2(score * factor - numbers[column] * log2_e);
          if (is_masked && own > first + column) score = 0.0f;
          gradient = score * (gradient - numbers[others + column]);
        }
      }
    }
    round_sums<Block>(s.scores, s.p);
    round_sums<Block>(s.gradients, s.ds);
  }
};

}  // namespace ashlar::cuda::detail
