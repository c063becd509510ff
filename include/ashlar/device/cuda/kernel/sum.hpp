// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The sum of the squares of an array, in double, on a device: gradients' norms. Two passes and no
// atomics: each block sums up its part, one block sums up the parts. The order depends on the number of
// elements and on their alignment.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/cuda/kernel/pack.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

/// Elements (double) of workspace that sum_of_squares needs: the most parts.
inline constexpr std::int64_t sum_of_squares_workspace = 1024;

namespace detail {

/// Elements that one block of 256 threads sums up: the least that keeps the parts few enough.
constexpr std::int64_t sum_part(std::int64_t n) {
  std::int64_t const least = 256 * 32;
  std::int64_t const even = (n + sum_of_squares_workspace - 1) / sum_of_squares_workspace;
  std::int64_t const part = even < least ? least : even;
  return (part + 15) / 16 * 16;  // whole packs
}

template <class T, int Width>
struct square_terms {
  T const* x;

  ASHLAR_HD double operator()(std::int64_t i) const {
    auto const values = load<Width>(x + i);
    double sum = 0;
    for (T const value : values.at) {
      auto const v = static_cast<double>(static_cast<accumulation_t<T>>(value));
      sum += v * v;
    }
    return sum;
  }
};

struct plain_terms {
  double const* x;
  ASHLAR_HD double operator()(std::int64_t i) const { return x[i]; }
};

/// out[block] = the sum of its part's terms; the last elements of the array one by one.
template <int Width, class Terms, class Rest>
struct part_sums {
  static constexpr int launch_threads = 256;
  Terms terms;
  Rest rest;
  std::int64_t n, part;
  double* out;

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
      if (t == 0) out[block.index()] = total;
    });
  }
};

}  // namespace detail

/// *sum = the sum of x[i]^2, 0 <= i < n, on the device; 0 for none.
template <launcher Launcher, class T>
void sum_of_squares(Launcher const& launch, T const* x, std::int64_t n, double* workspace,
                    double* sum) {
  using single = detail::square_terms<T, 1>;
  std::int64_t const part = detail::sum_part(n);
  std::int64_t const parts = (n + part - 1) / part;
  std::int64_t const scratch = 256 / warp * std::int64_t{sizeof(double)};
  if (is_packable(x)) {
    constexpr int w = widest<T>;
    using packs = detail::square_terms<T, w>;
    launch.blocks("sum_of_squares",
                  detail::part_sums<w, packs, single>{{x}, {x}, n, part, workspace}, parts, 256,
                  scratch);
  } else {
    launch.blocks("sum_of_squares",
                  detail::part_sums<1, single, single>{{x}, {x}, n, part, workspace}, parts, 256,
                  scratch);
  }
  using plain = detail::plain_terms;
  launch.blocks("sum_of_squares",
                detail::part_sums<1, plain, plain>{{workspace}, {workspace}, parts, parts, sum}, 1,
                256, scratch);
}

}  // namespace ashlar::cuda
