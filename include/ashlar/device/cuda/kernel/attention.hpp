// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The device kernel for the forward pass of multi-head attention, with the arrays of
// device/attention_extents.hpp. The problem: the sequence x sequence scores of a head are too large
// to store. The solution is FlashAttention (Dao, Fu, Ermon, Rudra, Re, 2022). A thread block
// processes one tile of query rows of one head and loops over tiles of keys. For each query row,
// the block updates the maximum m, the sum l and the output O. In this loop, m', l' and O' are the
// values after a tile:
//
//   S = scale Q K^T, masked by -inf          m' = max(m, max S)
//   P = e^(S - m')                           l' = l e^(m - m') + sum P,  O' = O e^(m - m') + P V
//   at the end                               out = O / l,  log_sum_exp = m + log l
//
// With a causal mask, a block stops after the tile of keys that has the same positions in the
// sequence as the block's query rows. Tiles of query rows and tiles of keys have the same size
// (attention_tile.hpp). So every query row attends to at least one key of each tile that its block
// processes, and m is never -inf.
//
// The kernel in attention_matrix_forward.hpp uses tensor cores. That kernel runs for bfloat16 if
// head_dim is a multiple of 8 up to 128, scale is positive and the arrays are aligned. The kernel
// in this file runs in all other cases.

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/attention_matrix_forward.hpp>
#include <ashlar/device/cuda/kernel/attention_tile.hpp>
#include <ashlar/device/math.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::cuda {

namespace detail {

template <class T, int Dim>
struct attention_forward_block {
  static constexpr int launch_threads = side * side;
  using A = accumulation_t<T>;
  static constexpr int tile = attention_tile<A, Dim>;
  static constexpr int per = tile / side;
  static constexpr std::int64_t weight_pitch = pitch_of(tile);

  device::attention_extents e;
  A scale;
  T const* qkv;
  T* out;
  A* log_sum_exp;

  /// The variables of one thread. A thread has `per` query rows and `per` keys of each tile.
  ///
  ///   sums      the thread's elements of the output O
  ///   scores    S for the current tile of keys
  ///   maximum   m of each row
  ///   total     l of each row
  ///   keep      e^(m - m') of each row, which rescales l and O to the new maximum m'
  struct state {
    A sums[per][Dim / side];
    A scores[per][per];
    A maximum[per];
    A total[per];
    A keep[per];
  };

  std::int64_t tiles() const { return (e.sequence + tile - 1) / tile; }
  std::int64_t shared_bytes() const {
    std::int64_t const elements = 2 * tile * pitch_of(e.head_dim) + tile * weight_pitch +
                                  2 * tile * side;
    return elements * std::int64_t{sizeof(A)};
  }

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    std::int64_t const d = e.head_dim;
    std::int64_t const panel = tile * pitch_of(d);
    A* const q = reinterpret_cast<A*>(block.shared());
    A* const kv = q + panel;  // the keys of a tile, later the values of the same tokens
    A* const weights = kv + panel;
    A* const maxima = weights + tile * weight_pitch;  // [tile][side]
    A* const totals = maxima + tile * side;           // [tile][side]

    std::int64_t const number = (e.sequence + tile - 1) / tile;
    division const place(block.index(), number);
    std::int64_t const pair = place.quotient;
    // With a causal mask, the last rows attend to the most keys. The blocks of these rows start
    // first, so that no long-running block starts last.
    std::int64_t const first = (number - 1 - place.remainder) * tile;
    std::int64_t const last = first + tile < e.sequence ? first + tile : e.sequence;
    auto const q_rows = rows_of_qkv(e, qkv, pair, 0);
    auto const k_rows = rows_of_qkv(e, qkv, pair, 1);
    auto const v_rows = rows_of_qkv(e, qkv, pair, 2);

    typename Block::template per_thread<state> threads(block);
    block.each([&](int t) {
      load_tile<tile>(t, block.threads(), q_rows, first, e.sequence, d, q);
      for (int a = 0; a < per; ++a) {
        threads[t].maximum[a] = -std::numeric_limits<A>::infinity();
        threads[t].total[a] = A(0);
        for (A& value : threads[t].sums[a]) value = A(0);
      }
    });
    for (std::int64_t key = 0; key < e.keys(last); key += tile) {
      block.each(
          [&](int t) { load_tile<tile>(t, block.threads(), k_rows, key, e.sequence, d, kv); });
      block.each([&](int t) { score(t, threads[t], q, kv, first, key, maxima); });
      block.each([&](int t) {
        load_tile<tile>(t, block.threads(), v_rows, key, e.sequence, d, kv);
        weigh(t, threads[t], maxima, weights, totals);
      });
      block.each([&](int t) {
        state& s = threads[t];
        for (int a = 0; a < per; ++a) {
          A total = s.total[a] * s.keep[a];
          for (int i = 0; i < side; ++i) total += totals[(t / side * per + a) * side + i];
          s.total[a] = total;
        }
        add_product<tile, false>(weights, kv, t / side * per, t % side, d, s.sums);
      });
    }
    block.each([&](int t) {
      state& s = threads[t];
      A inverse[per];
      for (int a = 0; a < per; ++a) {
        std::int64_t const row = first + t / side * per + a;
        inverse[a] = A(1) / s.total[a];
        if (t % side == 0 && row < e.sequence)
          log_sum_exp[pair * e.sequence + row] = s.maximum[a] + std::log(s.total[a]);
      }
      write_rows(rows_of_out(e, out, pair), first, e.sequence, t / side * per, t % side, d, s.sums,
                 inverse);
    });
  }

 private:
  /// Computes this thread's scores (query rows times keys of the current tile). Stores in `maxima`
  /// the largest of these scores for each row.
  ASHLAR_HD void score(int t, state& s, A const* q, A const* k, std::int64_t first,
                       std::int64_t key, A* maxima) const {
    dot_tiles(q, k, t / side * per, t % side, e.head_dim, s.scores);
    for (int a = 0; a < per; ++a) {
      std::int64_t const row = t / side * per + a;
      std::int64_t const seen = e.causal && first + row < e.sequence ? first + row + 1 : e.sequence;
      A peak = -std::numeric_limits<A>::infinity();
      for (int b = 0; b < per; ++b) {
        bool const is_seen = key + t % side + side * b < seen;
        s.scores[a][b] = is_seen ? scale * s.scores[a][b] : -std::numeric_limits<A>::infinity();
        peak = peak < s.scores[a][b] ? s.scores[a][b] : peak;
      }
      maxima[row * side + t % side] = peak;
    }
  }

  /// Computes P = e^(S - m'), where m' is the new maximum of a row. Stores P in `weights` and this
  /// thread's sum of P in `totals`, both in shared memory. Rescales the output sums of earlier
  /// tiles from m to m'.
  ASHLAR_HD void weigh(int t, state& s, A const* maxima, A* weights, A* totals) const {
    for (int a = 0; a < per; ++a) {
      std::int64_t const row = t / side * per + a;
      A peak = s.maximum[a];
      for (int i = 0; i < side; ++i) {
        A const other = maxima[row * side + i];
        peak = peak < other ? other : peak;
      }
      s.keep[a] = device::math::exp(s.maximum[a] - peak);
      s.maximum[a] = peak;
      A total = A(0);
      for (int b = 0; b < per; ++b) {
        A const weight = device::math::exp(s.scores[a][b] - peak);
        weights[row * weight_pitch + t % side + side * b] = weight;
        total += weight;
      }
      totals[row * side + t % side] = total;
      for (A& value : s.sums[a]) value *= s.keep[a];
    }
  }
};

/// Calls run.operator()<Dim>() with the smallest supported Dim that is at least head_dim. Throws
/// ashlar::error if no supported Dim is large enough.
template <class T, class Run>
void with_head_dim(device::attention_extents const& e, Run const& run) {
  using A = accumulation_t<T>;
  // For bfloat16, most cases run on tensor cores. The other cases always use Dim = 256, so that
  // fewer kernels have to be compiled.
  if constexpr (std::is_same_v<T, A>) {
    if (e.head_dim <= 64) return run.template operator()<64>();
    if (e.head_dim <= 128) return run.template operator()<128>();
  }
  if constexpr (sizeof(A) == 4) {
    if (e.head_dim <= 256) return run.template operator()<256>();
  }
  throw error("attention",
              "head_dim " + std::to_string(e.head_dim) +
                  " is too large. The device kernels support up to 128 in double, and up to 256 in "
                  "float and bfloat16. Use more heads with fewer elements each.");
}

}  // namespace detail

/// Computes out and log_sum_exp from qkv. The arrays are in device memory. The default scale is 1 /
/// sqrt(head_dim).
template <launcher Launcher, class T>
void attention_forward(Launcher const& launch, T const* qkv, device::attention_extents const& e,
                       T* out, accumulation_t<T>* log_sum_exp,
                       std::optional<double> scale = std::nullopt) {
  using A = accumulation_t<T>;
  A const factor = device::attention_scale<A>(e.head_dim, scale);
  if constexpr (std::is_same_v<T, bfloat16>) {
    if (attention_on_matrices(e, factor, qkv, out)) {
      return detail::with_matrix_dim(e, [&]<int Dim>() {
        detail::attention_matrix_forward<Dim> const body{e, factor, qkv, out, log_sum_exp};
        launch.blocks("attention_forward", body, e.batch * e.heads * body.tiles(),
                      body.launch_threads, body.shared_bytes());
      });
    }
  }
  detail::with_head_dim<T>(e, [&]<int Dim>() {
    detail::attention_forward_block<T, Dim> const body{e, factor, qkv, out, log_sum_exp};
    launch.blocks("attention_forward", body, e.batch * e.heads * body.tiles(), body.launch_threads,
                  body.shared_bytes());
  });
}

}  // namespace ashlar::cuda
