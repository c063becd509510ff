// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Models the time of a GEMM. Each dim costs as if it were gemm_half longer:
//
//   seconds = 2 (m + h) (n + h) (k + h) / flops         h = machine::gemm_half
//
// If one dim has extent h and the others are large, the GEMM runs at half of the peak rate. So h is
// Hockney's half-performance length, applied to each dim. A cube of extent s runs at (s / (s +
// h))^3 of the peak. If h is 0, every GEMM runs at the peak. Sharding creates thin products, and
// this one parameter makes them slower than square products with the same number of operations.

#include <ashlar/machine/machine.hpp>

namespace ashlar {

/// Returns the factor, at least 1, by which a GEMM of these extents is slower than at the peak
/// rate.
constexpr double gemm_stretch(machine const& on, std::int64_t m, std::int64_t n, std::int64_t k) {
  double const h = on.gemm_half;
  return h > 0 && m > 0 && n > 0 && k > 0
             ? (1 + h / double(m)) * (1 + h / double(n)) * (1 + h / double(k))
             : 1;
}

/// Returns the seconds of `operations` floating-point operations in GEMMs of these extents.
constexpr double gemm_seconds(machine const& on, double operations, std::int64_t m, std::int64_t n,
                              std::int64_t k) {
  return operations / on.flops * gemm_stretch(on, m, n, k);
}

}  // namespace ashlar
