// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Device kernels that make one value of each line x[o, .., i] of an array x [outer, extent, inner]:
// a sum, an extremum, or the index of an extremum. The type of `fold` defines this value by these
// members:
//
//   fold.none()              the value of no elements, of type Fold::value
//   fold.of(x, k)            the value of element x, which has index k in its line
//   Fold::combine(a, b)      the value of the elements of both a and b
//   Fold::result(a)          the result that is stored for a
//
// The extents decide how many threads compute a line:
//
//   one_thread_per_line   one thread for each line. It combines groups of combined_at_once
//                         elements, and then the values of the groups, in the order of k
//   otherwise             one block for each line, which combines the values of its threads in an
//                         order that depends only on the extents

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/host/combine.hpp>

namespace ashlar::cuda::detail {

template <class Fold, class T, class Result>
struct folded_lines {
  Fold fold;
  T const* x;
  std::int64_t extent, inner;
  Result* y;

  /// Returns the combined value of every `step`-th element of line i, from element `first` on.
  ASHLAR_HD typename Fold::value value_of(std::int64_t i, std::int64_t first, int step) const {
    division const line(i, inner);
    T const* const elements = x + line.quotient * extent * inner + line.remainder;
    auto total = fold.none();
    for (std::int64_t k = first; k < extent;) {
      std::int64_t const end = at_most(extent, k + step * device::host::combined_at_once);
      auto part = fold.none();
      for (; k < end; k += step) part = Fold::combine(part, fold.of(elements[k * inner], k));
      total = Fold::combine(total, part);
    }
    return total;
  }
};

template <class Fold, class T, class Result>
struct fold_by_thread : folded_lines<Fold, T, Result> {
  ASHLAR_HD void operator()(std::int64_t i) const {
    this->y[i] = Fold::result(this->value_of(i, 0, 1));
  }
};

template <class Fold, class T, class Result>
struct fold_by_block : folded_lines<Fold, T, Result> {
  static constexpr int launch_threads = 256;
  using value = typename Fold::value;
  std::int64_t lines;

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    auto* const scratch = reinterpret_cast<value*>(block.shared());
    typename Block::template per_thread<value> values(block);
    for (std::int64_t i = block.index(); i < lines; i += block.count()) {
      block.each_alone([&](int t) { values[t] = this->value_of(i, t, block.threads()); });
      value const total = block.fold(
          values, scratch, [](value const& a, value const& b) { return Fold::combine(a, b); });
      block.each_alone([&](int t) {
        if (t == 0) this->y[i] = Fold::result(total);
      });
    }
  }
};

/// Writes the result of `fold` for each line of x [outer, extent, inner] to y [outer, inner].
template <class Launcher, class Fold, class T, class Result>
void fold_lines(Launcher const& launch, char const* name, Fold const& fold, T const* x,
                std::int64_t outer, std::int64_t extent, std::int64_t inner, Result* y) {
  std::int64_t const lines = outer * inner;
  folded_lines<Fold, T, Result> const of{fold, x, extent, inner, y};
  if (one_thread_per_line(extent, inner)) {
    launch.for_each(name, fold_by_thread<Fold, T, Result>{of}, lines);
  } else {
    int const threads = threads_for(extent);
    launch.blocks(name, fold_by_block<Fold, T, Result>{of, lines}, at_most(lines, 65536), threads,
                  threads / warp * std::int64_t{sizeof(typename Fold::value)});
  }
}

}  // namespace ashlar::cuda::detail
