// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Device kernels for the sum of the elements of an array, or of the squares of the elements, in
// double. These kernels are used for losses and norms of gradients. In a first pass, each block
// sums one part of the array. In a second pass, one block adds up the sums of the parts. There are
// no atomics. The order of the additions depends on the number of elements and on the alignment of
// the array.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/cuda/kernel/pack.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

/// The number of workspace elements (double) that a sum needs. This is also the maximum number of
/// parts into which an array is divided.
inline constexpr std::int64_t sum_workspace = 1024;

namespace detail {

/// Returns the number of elements of one part of an array of n elements. A block of 256 threads
/// sums one part. All parts except the last one have at least 8192 elements, and there are at most
/// sum_workspace parts.
constexpr std::int64_t sum_part(std::int64_t n) {
  std::int64_t const least = 256 * 32;
  std::int64_t const even = (n + sum_workspace - 1) / sum_workspace;
  std::int64_t const part = even < least ? least : even;
  return (part + 15) / 16 * 16;  // a multiple of 16, so that a part begins with a whole pack
}

template <class T, int Width, bool Squares>
struct sum_terms {
  T const* x;

  ASHLAR_HD double operator()(std::int64_t i) const {
    auto const values = load<Width>(x + i);
    double sum = 0;
    for (T const value : values.at) {
      auto const v = static_cast<double>(static_cast<accumulation_t<T>>(value));
      sum += Squares ? v * v : v;
    }
    return sum;
  }
};

/// Each block computes the sum of one part of the array. The block stores this sum in out[block],
/// or adds it to out[block] if `adds`. `terms` reads packs of Width elements. `rest` reads the last
/// elements of the part one by one.
template <int Width, class Terms, class Rest>
struct part_sums {
  static constexpr int launch_threads = 256;
  Terms terms;
  Rest rest;
  std::int64_t n, part;
  double* out;
  bool adds;

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    auto* const scratch = reinterpret_cast<double*>(block.shared());
    typename Block::template per_thread<double> sums(block);
    std::int64_t const first = block.index() * part;
    std::int64_t const last = first + part < n ? first + part : n;
    std::int64_t const whole = first + (last - first) / Width * Width;
    block.each_alone([&](int t) {
      double sum = 0;
      for (std::int64_t i = first + t * Width; i < whole; i += block.threads() * Width)
        sum += terms(i);
      for (std::int64_t i = whole + t; i < last; i += block.threads()) sum += rest(i);
      sums[t] = sum;
    });
    double const total = block.fold(sums, scratch, [](double a, double b) { return a + b; });
    block.each_alone([&](int t) {
      if (t == 0) out[block.index()] = adds ? out[block.index()] + total : total;
    });
  }
};

template <bool Squares, class Launcher, class T>
void launch_sum(Launcher const& launch, char const* name, T const* x, std::int64_t n,
                double* workspace, double* total) {
  using single = sum_terms<T, 1, Squares>;
  std::int64_t const part = sum_part(n);
  std::int64_t const parts = (n + part - 1) / part;
  std::int64_t const scratch = 256 / warp * std::int64_t{sizeof(double)};
  with_width<T>(is_packable(x), [&]<int Width>() {
    using packs = sum_terms<T, Width, Squares>;
    launch.blocks(name, part_sums<Width, packs, single>{{x}, {x}, n, part, workspace, false}, parts,
                  256, scratch);
  });
  using plain = sum_terms<double, 1, false>;
  launch.blocks(name,
                part_sums<1, plain, plain>{{workspace}, {workspace}, parts, parts, total, true}, 1,
                256, scratch);
}

}  // namespace detail

/// Adds the sum of x[i]^2 for 0 <= i < n to *total, in device memory.
template <launcher Launcher, class T>
void add_sum_of_squares(Launcher const& launch, T const* x, std::int64_t n, double* workspace,
                        double* total) {
  detail::launch_sum<true>(launch, "add_sum_of_squares", x, n, workspace, total);
}

/// Adds the sum of x[i] for 0 <= i < n to *total, in device memory.
template <launcher Launcher, class T>
void add_sum(Launcher const& launch, T const* x, std::int64_t n, double* workspace, double* total) {
  detail::launch_sum<false>(launch, "add_sum", x, n, workspace, total);
}

}  // namespace ashlar::cuda
