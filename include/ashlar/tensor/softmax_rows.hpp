// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The softmax of each row of an array of any element type. Nothing is communicated.

#include <type_traits>

#include <ashlar/device/host/operations.hpp>
#include <ashlar/support/accumulation.hpp>
#include <ashlar/support/buffer.hpp>

namespace ashlar::detail {

/// Computes the softmax of each row. The host's kernel works on accumulation_t<T>. So on the host
/// each bfloat16 row is converted to float, and its result back to bfloat16.
template <class Mesh, class T>
void softmax_rows(Mesh const& m, T const* x, std::int64_t rows, std::int64_t columns, T* y) {
  using A = accumulation_t<T>;
  auto const on = m.processor();
  if constexpr (Mesh::processor_type::is_host && !std::is_same_v<T, A>) {
    buffer<A> const row(m.memory(), columns);
    for (std::int64_t r = 0; r < rows; ++r) {
      convert(on, x + r * columns, columns, row.data());
      softmax_forward(on, static_cast<A const*>(row.data()), 1, columns, row.data());
      convert(on, static_cast<A const*>(row.data()), columns, y + r * columns);
    }
  } else {
    softmax_forward(on, x, rows, columns, y);
  }
}

}  // namespace ashlar::detail
