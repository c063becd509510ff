// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Detects by measurement whether the BLAS is an optimized one. Two speeds are compared:
//
// - the speed of the BLAS in a product of float matrices
// - the peak speed of one core, measured by multiplications and additions of vectors in registers
//
// An optimized BLAS comes close to the peak speed. The reference BLAS reaches less than a tenth of
// the peak speed.

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include <ashlar/config.hpp>
#include <ashlar/device/host/gemm.hpp>
#include <ashlar/device/host/lanes.hpp>

namespace ashlar::device::host {

namespace detail {

/// Returns the speed of f() in floating-point operations per second. One call of f() performs
/// `operations` floating-point operations. Calls f() five times and returns the fastest rate. The
/// time is the CPU time of this process, because other programs on the machine disturb it less than
/// the wall-clock time.
template <class F>
double fastest_rate(double operations, F f) {
  double seconds = 1e9;
  for (int run = 0; run < 5; ++run) {
    auto const start = std::clock();
    f();
    seconds = std::min(seconds, double(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return operations / std::max(seconds, 1e-6);
}

}  // namespace detail

/// Returns the peak speed of one core: the number of floating-point operations per second in its
/// vector registers. Takes a few milliseconds. Without optimization (-O0) the result is too small,
/// because the compiler keeps the vectors in memory.
inline double vector_rate() {
  using vector = typename detail::vector_of<float, ASHLAR_VECTOR_BYTES>::type;
  constexpr int chains = 10, turns = 100000;
  constexpr double lanes_of_a_vector = ASHLAR_VECTOR_BYTES / double(sizeof(float));
  float volatile kept = 0;  // prevents the compiler from removing the computation
  return detail::fastest_rate(2 * lanes_of_a_vector * chains * turns, [&] {
    vector const factor = vector{} + 0.5f, addend = vector{} + 1.0f;
    // The ten vectors are separate variables, because the compiler would keep an array in memory.
    // The vectors start with different values, because the compiler would compute equal vectors
    // only once.
    vector a = addend, b = a + 1, c = b + 1, d = c + 1, e = d + 1, f = e + 1, g = f + 1, h = g + 1,
           i = h + 1, j = i + 1;
    for (int t = 0; t < turns; ++t) {
      a = a * factor + addend, b = b * factor + addend;
      c = c * factor + addend, d = d * factor + addend;
      e = e * factor + addend, f = f * factor + addend;
      g = g * factor + addend, h = h * factor + addend;
      i = i * factor + addend, j = j * factor + addend;
    }
    kept = (a + b + c + d + e + f + g + h + i + j)[0];
  });
}

/// Returns the speed of the BLAS in a product of two n x n float matrices, in floating-point
/// operations per second. For n = 512 the measurement takes about 0.01 seconds with an optimized
/// BLAS and one second with the reference BLAS.
inline double product_rate(std::int64_t n) {
  auto const elements = static_cast<std::size_t>(n * n);
  std::vector<float> const a(elements, 0.5f), b(elements, 0.25f);
  std::vector<float> c(elements);
  double const order = double(n);
  return detail::fastest_rate(2 * order * order * order, [&] {
    gemm(false, false, n, n, n, 1.0f, a.data(), n, b.data(), n, 0.0f, c.data(), n);
  });
}

/// Returns a warning if the BLAS multiplies 512 x 512 matrices at less than a fifth of the peak
/// speed of a core. Otherwise returns an empty string.
inline std::string slow_blas_warning() {
  double const vectors = vector_rate(), products = product_rate(512);
  if (products >= vectors / 5) return {};
  auto const text = [](double rate) { return std::to_string(static_cast<int>(rate / 1e9 + 0.5)); };
  return "warning: the BLAS multiplies matrices at " + text(products) +
         " GFLOP/s, but this core's vector units reach " + text(vectors) +
         " GFLOP/s. Is it the reference BLAS? Install OpenBLAS and configure in a new build "
         "folder.\n";
}

}  // namespace ashlar::device::host
