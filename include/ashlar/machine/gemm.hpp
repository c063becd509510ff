// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// How long a GEMM takes: each dim costs as if it were gemm_half longer,
//
//   seconds = 2 (m + h) (n + h) (k + h) / flops         h = machine::gemm_half
//
// so h is the extent of one dim at which, the others being large, half of the peak is reached
// (Hockney's n 1/2, for each dim), and a cube of extent s runs at (s / (s + h))^3 of it. With h = 0
// every GEMM runs at the peak. One parameter holds thin products, what sharding makes of large
// ones, apart from square ones of as many operations.

#include <ashlar/machine/machine.hpp>

namespace ashlar {

/// How many times longer than at the peak a product of these extents takes, 1 or more.
constexpr double gemm_stretch(machine const& on, std::int64_t m, std::int64_t n, std::int64_t k) {
  double const h = on.gemm_half;
  return h > 0 && m > 0 && n > 0 && k > 0
             ? (1 + h / double(m)) * (1 + h / double(n)) * (1 + h / double(k))
             : 1;
}

/// Seconds of `operations` floating-point operations in products of these extents.
constexpr double gemm_seconds(machine const& on, double operations, std::int64_t m, std::int64_t n,
                              std::int64_t k) {
  return operations / on.flops * gemm_stretch(on, m, n, k);
}

}  // namespace ashlar
