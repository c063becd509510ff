// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Maximum pooling with 2 x 2 windows, stride 2 and no padding, the most common case. The results
// equal the results of the general functions in pooling.hpp. The functions in this file are faster,
// because the compiler vectorises their loops along rows. If several pixels of a window are the
// largest, the first of them is chosen. If several pixels are NaN, the last NaN is chosen.

#include <algorithm>
#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/window.hpp>

namespace ashlar::device::host::detail {

constexpr bool is_2x2(window const& w) { return w.extent == 2 && w.stride == 2 && w.padding == 0; }

/// Computes y, the maximum of each 2 x 2 window of x. For each element of y, `chosen` receives the
/// index of the maximum within the plane (one channel of one image).
template <class T>
void max_pool_2x2_forward(T const* x, image_extents const& e, T* y, std::int32_t* chosen) {
  std::int64_t const rows = e.height / 2, columns = e.width / 2;
  auto const width = static_cast<std::int32_t>(e.width);
  for (std::int64_t p = 0; p < e.batch * e.channels; ++p)
    for (std::int64_t r = 0; r < rows; ++r) {
      T const* const upper = x + p * e.plane() + 2 * r * e.width;
      T const* const lower = upper + e.width;
      T* const largest = y + (p * rows + r) * columns;
      std::int32_t* const index = chosen + (p * rows + r) * columns;
      auto const first = static_cast<std::int32_t>(2 * r * e.width);
      ASHLAR_VECTORIZE
      for (std::int64_t c = 0; c < columns; ++c) {
        T best = upper[2 * c];
        std::int32_t const corner = first + 2 * static_cast<std::int32_t>(c);
        std::int32_t at = corner;
        auto const compare = [&](T value, std::int32_t index_of_value) {
          // Both comparisons are always evaluated: with a branch, the loop would not be vectorised.
          bool const is_larger = (int(value > best) | int(value != value)) != 0;
          best = is_larger ? value : best;
          at = is_larger ? index_of_value : at;
        };
        compare(upper[2 * c + 1], corner + 1);
        compare(lower[2 * c], corner + width);
        compare(lower[2 * c + 1], corner + width + 1);
        largest[c] = best;
        index[c] = at;
      }
    }
}

/// Overwrites dx with the gradient of x. Each element of dy is written to the pixel whose index the
/// forward pass stored in `chosen`. All other pixels of dx are zero.
template <class T>
void max_pool_2x2_backward(T const* dy, std::int32_t const* chosen, image_extents const& e, T* dx) {
  std::int64_t const rows = e.height / 2, columns = e.width / 2;
  auto const width = static_cast<std::int32_t>(e.width);
  std::int64_t const planes = e.batch * e.channels;
  // If the height or width is odd, no window covers the last row or column.
  if (e.height % 2 != 0 || e.width % 2 != 0) std::fill_n(dx, planes * e.plane(), T(0));
  for (std::int64_t p = 0; p < planes; ++p)
    for (std::int64_t r = 0; r < rows; ++r) {
      T* const upper = dx + p * e.plane() + 2 * r * e.width;
      T* const lower = upper + e.width;
      T const* const gradient = dy + (p * rows + r) * columns;
      std::int32_t const* const index = chosen + (p * rows + r) * columns;
      auto const first = static_cast<std::int32_t>(2 * r * e.width);
      ASHLAR_VECTORIZE
      for (std::int64_t c = 0; c < columns; ++c) {
        std::int32_t const at = index[c] - first - 2 * static_cast<std::int32_t>(c);
        T const value = gradient[c];
        upper[2 * c] = at == 0 ? value : T(0);
        upper[2 * c + 1] = at == 1 ? value : T(0);
        lower[2 * c] = at == width ? value : T(0);
        lower[2 * c + 1] = at == width + 1 ? value : T(0);
      }
    }
}

}  // namespace ashlar::device::host::detail
