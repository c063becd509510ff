// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The two kernels of the attention backward pass (attention_backward.hpp) that do not use tensor
// cores. They run for float and double, and for bfloat16 if the requirements of the kernels on
// tensor cores are not met (attention_matrix.hpp). Shared memory has tiles of q, dO, k and v, and
// the tiles of P and dS that are computed from them. Sums are in registers.
//
//   attention_keys_block   computes dK and dV: a block has a tile of keys and loops over the query
//                          rows that attend to these keys
//   attention_rows_block   computes dQ: a block has a tile of query rows and loops over the keys
//                          that these rows attend to

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/attention_tile.hpp>
#include <ashlar/device/math.hpp>

namespace ashlar::cuda::detail {

/// The base of both kernels. It loads tiles of q, dO, k and v into shared memory and computes the
/// probabilities P and the score gradients dS from these tiles.
template <class T, int Dim>
struct attention_backward_tiles {
  static constexpr int launch_threads = side * side;
  using A = accumulation_t<T>;
  static constexpr int tile = attention_tile<A, Dim>;
  static constexpr int per = tile / side;
  static constexpr std::int64_t weight_pitch = pitch_of(tile);

  device::attention_extents e;
  A scale;
  T const* dout;
  T const* qkv;
  A const* log_sum_exp;
  A const* dots;
  T* dqkv;

  struct shared_tiles {
    A* q;
    A* grad;
    A* k;
    A* v;
    A* p;
    A* ds;
  };

  ASHLAR_HD std::int64_t tiles() const { return (e.sequence + tile - 1) / tile; }
  std::int64_t shared_bytes() const {
    return (4 * tile * pitch_of(e.head_dim) + 2 * tile * weight_pitch) * std::int64_t{sizeof(A)};
  }
  template <class Block>
  ASHLAR_HD shared_tiles shared(Block const& block) const {
    std::int64_t const panel = tile * pitch_of(e.head_dim);
    A* const at = reinterpret_cast<A*>(block.shared());
    A* const weights = at + 4 * panel;
    return {at, at + panel, at + 2 * panel, at + 3 * panel, weights, weights + tile * weight_pitch};
  }

  ASHLAR_HD void load_rows(int t, std::int64_t pair, std::int64_t first,
                           shared_tiles const& s) const {
    load_tile<tile>(t, launch_threads, rows_of_qkv(e, qkv, pair, 0), first, e.sequence, e.head_dim,
                    s.q);
    load_tile<tile>(t, launch_threads, rows_of_out(e, dout, pair), first, e.sequence, e.head_dim,
                    s.grad);
  }
  ASHLAR_HD void load_keys(int t, std::int64_t pair, std::int64_t key,
                           shared_tiles const& s) const {
    load_tile<tile>(t, launch_threads, rows_of_qkv(e, qkv, pair, 1), key, e.sequence, e.head_dim,
                    s.k);
    load_tile<tile>(t, launch_threads, rows_of_qkv(e, qkv, pair, 2), key, e.sequence, e.head_dim,
                    s.v);
  }

  /// Computes P and dS of one tile into shared memory. The query rows of the tile start at row
  /// `first`, and the keys of the tile start at token `key`.
  ASHLAR_HD void weigh(int t, std::int64_t pair, std::int64_t first, std::int64_t key,
                       shared_tiles const& s) const {
    A scores[per][per];
    A gradients[per][per];
    dot_tiles(s.q, s.k, t / side * per, t % side, e.head_dim, scores);
    dot_tiles(s.grad, s.v, t / side * per, t % side, e.head_dim, gradients);
    for (int a = 0; a < per; ++a) {
      std::int64_t const row = t / side * per + a;
      bool const is_row = first + row < e.sequence;
      std::int64_t const at = pair * e.sequence + first + row;
      std::int64_t const seen = is_row ? e.seen(first + row) : 0;
      A const shift = is_row ? log_sum_exp[at] : A(0);
      A const dot = is_row ? dots[at] : A(0);
      for (int b = 0; b < per; ++b) {
        std::int64_t const column = t % side + side * b;
        bool const is_seen = key + column < seen;
        A const p = is_seen ? device::math::exp(scale * scores[a][b] - shift) : A(0);
        s.p[row * weight_pitch + column] = p;
        s.ds[row * weight_pitch + column] = is_seen ? p * (gradients[a][b] - dot) : A(0);
      }
    }
  }
};

template <class A, int Per, int Columns>
struct two_sums {
  A first[Per][Columns];
  A second[Per][Columns];

  ASHLAR_HD void clear() {
    for (int a = 0; a < Per; ++a)
      for (int c = 0; c < Columns; ++c) first[a][c] = second[a][c] = A(0);
  }
};

template <class T, int Dim>
struct attention_keys_block : attention_backward_tiles<T, Dim> {
  using base = attention_backward_tiles<T, Dim>;
  using base::e;
  using base::per;
  using base::tile;
  using typename base::A;

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    auto const s = this->shared(block);
    division const place(block.index(), this->tiles());
    std::int64_t const pair = place.quotient;
    std::int64_t const key = place.remainder * tile;
    typename Block::template per_thread<two_sums<A, per, Dim / side>> sums(block);
    block.each([&](int t) {
      this->load_keys(t, pair, key, s);
      sums[t].clear();
    });
    for (std::int64_t first = e.causal ? key : 0; first < e.sequence; first += tile) {
      block.each([&](int t) { this->load_rows(t, pair, first, s); });
      block.each([&](int t) { this->weigh(t, pair, first, key, s); });
      block.each([&](int t) {
        std::int64_t const r0 = t / side * per;
        add_product<tile, true>(s.ds, s.q, r0, t % side, e.head_dim, sums[t].first);
        add_product<tile, true>(s.p, s.grad, r0, t % side, e.head_dim, sums[t].second);
      });
    }
    block.each([&](int t) {
      A scales[per];
      A ones[per];
      for (int a = 0; a < per; ++a) {
        scales[a] = this->scale;
        ones[a] = A(1);
      }
      std::int64_t const r0 = t / side * per;
      write_rows(rows_of_qkv(e, this->dqkv, pair, 1), key, e.sequence, r0, t % side, e.head_dim,
                 sums[t].first, scales);
      write_rows(rows_of_qkv(e, this->dqkv, pair, 2), key, e.sequence, r0, t % side, e.head_dim,
                 sums[t].second, ones);
    });
  }
};

template <class T, int Dim>
struct attention_rows_block : attention_backward_tiles<T, Dim> {
  using base = attention_backward_tiles<T, Dim>;
  using base::e;
  using base::per;
  using base::tile;
  using typename base::A;
  struct row_sums {
    A at[per][Dim / side];
  };

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    auto const s = this->shared(block);
    division const place(block.index(), this->tiles());
    std::int64_t const pair = place.quotient;
    std::int64_t const first = (this->tiles() - 1 - place.remainder) * tile;
    std::int64_t const last = first + tile < e.sequence ? first + tile : e.sequence;
    typename Block::template per_thread<row_sums> sums(block);
    block.each([&](int t) {
      this->load_rows(t, pair, first, s);
      for (auto& row : sums[t].at)
        for (A& value : row) value = A(0);
    });
    for (std::int64_t key = 0; key < e.keys(last); key += tile) {
      block.each([&](int t) { this->load_keys(t, pair, key, s); });
      block.each([&](int t) { this->weigh(t, pair, first, key, s); });
      block.each([&](int t) {
        add_product<tile, false>(s.ds, s.k, t / side * per, t % side, e.head_dim, sums[t].at);
      });
    }
    block.each([&](int t) {
      A scales[per];
      for (A& value : scales) value = this->scale;
      write_rows(rows_of_qkv(e, this->dqkv, pair, 0), first, e.sequence, t / side * per, t % side,
                 e.head_dim, sums[t].at, scales);
    });
  }
};

}  // namespace ashlar::cuda::detail
