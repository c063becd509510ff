// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The transforms of Winograd's convolution F(2 x 2, 3 x 3), after Lavin and Gray ("Fast Algorithms
// for Convolutional Neural Networks", 2016). A 3 x 3 window g computes a tile y of 2 x 2 output
// pixels from a tile d of 4 x 4 input pixels. The direct computation takes 36 multiplications.
// Winograd's method takes 16. It transforms d and g to 16 numbers each, multiplies these element by
// element (⊙), sums the products over the input channels, and transforms the sums to y:
//
//   y = Aᵀ [(G g Gᵀ) ⊙ (Bᵀ d B)] A
//
//         1  0 -1  0           1   0   0
//   Bᵀ =  0  1  1  0      G =  ½   ½   ½      Aᵀ =  1  1  1  0
//         0 -1  1  0           ½  -½   ½            0  1 -1 -1
//         0  1  0 -1           0   0   1
//
// Gradients use the transposed maps. A tile of dy is transformed to A dy Aᵀ. The gradient u of G g
// Gᵀ is transformed to the gradient Gᵀ u G of the window. All factors are ±1 and ±½, so the
// transforms add only the rounding errors of a few sums.
//
// Each function transforms n tiles or windows of one channel each. winograd_group.hpp passes all
// channels of a tile together. The loop over the channels has unit stride, and the compiler
// vectorises this loop. The 16 numbers of the transformed tiles are stored in 16 arrays of n
// elements: element i of array k is number k = 4 row + column of tile i. Each array starts `pitch`
// elements after the previous one.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/config.hpp>

namespace ashlar::device::host {

/// The number of elements of a transformed tile: 4 x 4. This is also the number of matrix products
/// for a group of tiles.
inline constexpr std::int64_t winograd_places = 16;

namespace detail {

/// Calls f(0), ..., f(15), unrolled at compile time. Callers use this function inside loops that
/// the compiler should vectorise. The compiler does not vectorise a loop that contains another
/// loop.
template <class F>
[[gnu::always_inline]] inline void for_each_winograd_place(F f) {
  [&]<std::size_t... K>(std::index_sequence<K...>) __attribute__((always_inline)) { (f(K), ...); }
  (std::make_index_sequence<winograd_places>{});
}

/// Applies f to the four columns of a 4 x 4 matrix, then to the four rows of the matrix.
template <class T, class F>
[[gnu::always_inline]] inline void columns_then_rows(T (&m)[winograd_places], F f) {
  f(m[0], m[4], m[8], m[12]);
  f(m[1], m[5], m[9], m[13]);
  f(m[2], m[6], m[10], m[14]);
  f(m[3], m[7], m[11], m[15]);
  f(m[0], m[1], m[2], m[3]);
  f(m[4], m[5], m[6], m[7]);
  f(m[8], m[9], m[10], m[11]);
  f(m[12], m[13], m[14], m[15]);
}

/// Multiplies a vector by the matrix Bᵀ of the file comment: (a, b, c, d) = Bᵀ (a, b, c, d).
template <class T>
[[gnu::always_inline]] inline void winograd_b(T& a, T& b, T& c, T& d) {
  T const second = b;
  a -= c;
  b += c;
  c -= second;
  d = second - d;
}

/// Multiplies a vector by the matrix Aᵀ of the file comment: (p, q) = Aᵀ (a, b, c, d).
template <class T>
[[gnu::always_inline]] inline void winograd_a(T a, T b, T c, T d, T& p, T& q) {
  p = a + b + c;
  q = b - c - d;
}

/// Multiplies a vector by the matrix G of the file comment: (a, b, c, d) = G (p, q, r).
template <class T>
[[gnu::always_inline]] inline void winograd_g(T p, T q, T r, T& a, T& b, T& c, T& d) {
  T const ends = T(0.5) * (p + r), middle = T(0.5) * q;
  a = p;
  b = ends + middle;
  c = ends - middle;
  d = r;
}

/// Multiplies a vector by the matrix Gᵀ of the file comment: (p, q, r) = Gᵀ (a, b, c, d).
template <class T>
[[gnu::always_inline]] inline void winograd_g_transposed(T a, T b, T c, T d, T& p, T& q, T& r) {
  T const ends = T(0.5) * (b + c);
  p = a + ends;
  q = T(0.5) * (b - c);
  r = ends + d;
}

}  // namespace detail

/// Transforms n input tiles d of 4 x 4 pixels to Bᵀ d B. pixels[4 i + j][t] is the pixel in row i
/// and column j of tile t. Number k of the result is stored in to[k * pitch + t].
template <class T>
void winograd_image(T const* const (&pixels)[winograd_places], std::int64_t n, T* to,
                    std::int64_t pitch) {
  ASHLAR_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) {
    T d[winograd_places];
    detail::for_each_winograd_place([&](std::size_t k)
                                        __attribute__((always_inline)) { d[k] = pixels[k][i]; });
    detail::columns_then_rows(
        d, [](T & a, T & b, T & c, T & e)
               __attribute__((always_inline)) { detail::winograd_b(a, b, c, e); });
    detail::for_each_winograd_place([&](std::size_t k) __attribute__((always_inline)) {
      to[static_cast<std::int64_t>(k) * pitch + i] = d[k];
    });
  }
}

/// Transforms n products m (4 x 4 numbers each) to output tiles y = Aᵀ m A + bias of 2 x 2 pixels.
/// Number k of m is in from[k * pitch + t] for tile t. The pixel in row i and column j of tile t is
/// stored in y[2 i + j][t]. bias[t] is the bias of tile t.
template <class T>
void winograd_result(T const* from, std::int64_t pitch, T const* bias, std::int64_t n,
                     T* const (&y)[4]) {
  ASHLAR_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) {
    T m[winograd_places], rows[8];
    detail::for_each_winograd_place([&](std::size_t k) __attribute__((always_inline)) {
      m[k] = from[static_cast<std::int64_t>(k) * pitch + i];
    });
    detail::winograd_a(m[0], m[4], m[8], m[12], rows[0], rows[4]);
    detail::winograd_a(m[1], m[5], m[9], m[13], rows[1], rows[5]);
    detail::winograd_a(m[2], m[6], m[10], m[14], rows[2], rows[6]);
    detail::winograd_a(m[3], m[7], m[11], m[15], rows[3], rows[7]);
    T p, q, r, s;
    detail::winograd_a(rows[0], rows[1], rows[2], rows[3], p, q);
    detail::winograd_a(rows[4], rows[5], rows[6], rows[7], r, s);
    y[0][i] = p + bias[i];
    y[1][i] = q + bias[i];
    y[2][i] = r + bias[i];
    y[3][i] = s + bias[i];
  }
}

/// Transforms the gradients dy of n output tiles (2 x 2 pixels each) to A dy Aᵀ. dy[2 i + j][t] is
/// the pixel in row i and column j of tile t. Number k of the result is stored in to[k * pitch +
/// t].
template <class T>
void winograd_result_gradient(T const* const (&dy)[4], std::int64_t n, T* to, std::int64_t pitch) {
  ASHLAR_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) {
    T const p = dy[0][i], q = dy[1][i], r = dy[2][i], s = dy[3][i];
    // `left` and `right` are the two columns of the 4 x 2 matrix A dy. The following loop
    // multiplies A dy by Aᵀ from the right.
    T const left[4] = {p, p + r, p - r, -r}, right[4] = {q, q + s, q - s, -s};
    detail::for_each_winograd_place([&](std::size_t k) __attribute__((always_inline)) {
      T const a = left[k / 4], b = right[k / 4];
      to[static_cast<std::int64_t>(k) * pitch + i] = k % 4 == 0   ? a
                                                     : k % 4 == 1 ? a + b
                                                     : k % 4 == 2 ? a - b
                                                                  : -b;
    });
  }
}

namespace detail {

/// The number of windows that are transformed at a time. For the transform, the weights of these
/// windows are rearranged into nine arrays, one for each position in the window.
inline constexpr std::int64_t winograd_windows = 64;

}  // namespace detail

/// Transforms n windows g of 3 x 3 weights to G g Gᵀ. `weight` has nine consecutive numbers per
/// window. Number k of the result is stored in to[k * pitch + i] for window i.
template <class T>
void winograd_window(T const* weight, std::int64_t n, T* to, std::int64_t pitch) {
  for (std::int64_t first = 0; first < n; first += detail::winograd_windows) {
    std::int64_t const count = std::min(detail::winograd_windows, n - first);
    T g[9][detail::winograd_windows];
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t k = 0; k < 9; ++k) g[k][i] = weight[(first + i) * 9 + k];
    T* const block = to + first;
    ASHLAR_VECTORIZE
    for (std::int64_t i = 0; i < count; ++i) {
      T u[12], m[winograd_places];
      detail::winograd_g(g[0][i], g[3][i], g[6][i], u[0], u[3], u[6], u[9]);
      detail::winograd_g(g[1][i], g[4][i], g[7][i], u[1], u[4], u[7], u[10]);
      detail::winograd_g(g[2][i], g[5][i], g[8][i], u[2], u[5], u[8], u[11]);
      detail::winograd_g(u[0], u[1], u[2], m[0], m[1], m[2], m[3]);
      detail::winograd_g(u[3], u[4], u[5], m[4], m[5], m[6], m[7]);
      detail::winograd_g(u[6], u[7], u[8], m[8], m[9], m[10], m[11]);
      detail::winograd_g(u[9], u[10], u[11], m[12], m[13], m[14], m[15]);
      detail::for_each_winograd_place([&](std::size_t k) __attribute__((always_inline)) {
        block[static_cast<std::int64_t>(k) * pitch + i] = m[k];
      });
    }
  }
}

/// Transforms the gradients u of n transformed windows to Gᵀ u G and adds the results to
/// `gradient`. Number k of u is in from[k * pitch + i] for window i. `gradient` has nine
/// consecutive numbers per window.
template <class T>
void winograd_window_gradient(T const* from, std::int64_t pitch, std::int64_t n, T* gradient) {
  for (std::int64_t first = 0; first < n; first += detail::winograd_windows) {
    std::int64_t const count = std::min(detail::winograd_windows, n - first);
    T g[9][detail::winograd_windows];
    T const* const block = from + first;
    ASHLAR_VECTORIZE
    for (std::int64_t i = 0; i < count; ++i) {
      T m[winograd_places], u[12];
      detail::for_each_winograd_place([&](std::size_t k) __attribute__((always_inline)) {
        m[k] = block[static_cast<std::int64_t>(k) * pitch + i];
      });
      detail::winograd_g_transposed(m[0], m[4], m[8], m[12], u[0], u[4], u[8]);
      detail::winograd_g_transposed(m[1], m[5], m[9], m[13], u[1], u[5], u[9]);
      detail::winograd_g_transposed(m[2], m[6], m[10], m[14], u[2], u[6], u[10]);
      detail::winograd_g_transposed(m[3], m[7], m[11], m[15], u[3], u[7], u[11]);
      detail::winograd_g_transposed(u[0], u[1], u[2], u[3], g[0][i], g[1][i], g[2][i]);
      detail::winograd_g_transposed(u[4], u[5], u[6], u[7], g[3][i], g[4][i], g[5][i]);
      detail::winograd_g_transposed(u[8], u[9], u[10], u[11], g[6][i], g[7][i], g[8][i]);
    }
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t k = 0; k < 9; ++k) gradient[(first + i) * 9 + k] += g[k][i];
  }
}

}  // namespace ashlar::device::host
