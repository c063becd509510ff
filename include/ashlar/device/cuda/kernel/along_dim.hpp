// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Device kernels along the middle dim of an array x [outer, extent, inner], whose lines are
// x[o, .., i]: the index of the extremum of each line, and cumulative sums. The functions for the
// host are in device/host/along_dim.hpp.
//
//   one_thread_per_line   one thread for each line, with the results of the host bit for bit
//   otherwise             one block for each line: the same indices as on the host; cumulative sums
//                         are added in an order that depends only on the extents
//
// To add up a line, a block goes through it in tiles. A thread adds up 8 adjacent elements of the
// tile. Then the block computes, for each thread, the sum of all elements of the earlier threads
// (by the scan of Hillis and Steele, "Data parallel algorithms", 1986). Each thread adds its
// elements to this sum, one after another.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/fold_lines.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/host/along_dim.hpp>
#include <ashlar/device/host/combine.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

namespace detail {

/// An element of a line and its index in the line. An index of -1 says that there is no element.
template <class A>
struct indexed_element {
  A value;
  std::int64_t index;
};

/// The fold (fold_lines.hpp) that finds the first extremum of a line and returns its index.
template <reduction Op, class T>
struct extremum_fold {
  using value = indexed_element<accumulation_t<T>>;

  ASHLAR_HD value none() const { return {accumulation_t<T>(0), -1}; }
  ASHLAR_HD value of(T x, std::int64_t k) const { return {static_cast<accumulation_t<T>>(x), k}; }
  /// Returns the more extreme of two elements, or the one with the lower index if neither is more
  /// extreme than the other.
  static ASHLAR_HD value combine(value const& a, value const& b) {
    if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
    if (device::host::is_more_extreme<Op>(a.value, b.value)) return a;
    if (device::host::is_more_extreme<Op>(b.value, a.value)) return b;
    return a.index < b.index ? a : b;
  }
  static ASHLAR_HD std::int32_t result(value const& a) {
    return static_cast<std::int32_t>(a.index);
  }
};

/// The lines of an array in the order in which they are added up: element k of a line is the k-th
/// from its beginning, or from its end if `from_end`.
template <class T>
struct summed_lines {
  using A = accumulation_t<T>;
  T const* x;
  std::int64_t extent, inner;
  bool from_end;
  T* y;

  /// Returns the offset of element k of line i.
  ASHLAR_HD std::int64_t offset(division const& line, std::int64_t k) const {
    return (line.quotient * extent + (from_end ? extent - 1 - k : k)) * inner + line.remainder;
  }
  ASHLAR_HD A plus(A sum, std::int64_t at) const {
    return device::host::combine<reduction::sum>(sum, static_cast<A>(x[at]));
  }
};

template <class T>
struct cumulate_by_thread {
  summed_lines<T> of;

  ASHLAR_HD void operator()(std::int64_t i) const {
    division const line(i, of.inner);
    accumulation_t<T> sum(0);
    for (std::int64_t k = 0; k < of.extent; ++k) {
      std::int64_t const at = of.offset(line, k);
      sum = of.plus(sum, at);
      of.y[at] = static_cast<T>(sum);
    }
  }
};

template <class T>
struct cumulate_by_block {
  static constexpr int launch_threads = 256;
  static constexpr int elements = 8;  // of a thread in a tile
  using A = accumulation_t<T>;
  summed_lines<T> of;
  std::int64_t lines;

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    auto* const sums = reinterpret_cast<A*>(block.shared());
    typename Block::template per_thread<A> own(block);
    std::int64_t const tile = std::int64_t{block.threads()} * elements;
    for (std::int64_t i = block.index(); i < lines; i += block.count()) {
      division const line(i, of.inner);
      A before(0);  // the sum of the earlier tiles
      for (std::int64_t first = 0; first < of.extent; first += tile) {
        block.each([&](int t) {
          A sum(0);
          for_each_of(first, t, [&](std::int64_t k) { sum = of.plus(sum, of.offset(line, k)); });
          own[t] = sums[t] = sum;
        });
        // After each round, own[t] and sums[t] are the sum of the last 2 · reach threads up to t.
        for (int reach = 1; reach < block.threads(); reach *= 2) {
          block.each([&](int t) {
            if (t >= reach) own[t] = device::host::combine<reduction::sum>(sums[t - reach], own[t]);
          });
          block.each([&](int t) { sums[t] = own[t]; });
        }
        A through = before;
        block.each([&](int t) {
          using device::host::combine;
          A sum = t == 0 ? before : combine<reduction::sum>(before, sums[t - 1]);
          for_each_of(first, t, [&](std::int64_t k) {
            std::int64_t const at = of.offset(line, k);
            sum = of.plus(sum, at);
            of.y[at] = static_cast<T>(sum);
          });
          through = combine<reduction::sum>(before, sums[block.threads() - 1]);
        });
        before = through;
      }
    }
  }

 private:
  /// Calls f(k) for the elements k of a line that thread t has in the tile that begins at `first`.
  template <class F>
  ASHLAR_HD void for_each_of(std::int64_t first, int t, F const& f) const {
    std::int64_t const begin = first + std::int64_t{t} * elements;
    for (std::int64_t k = begin; k < begin + elements && k < of.extent; ++k) f(k);
  }
};

}  // namespace detail

/// Writes to y [outer, inner] the index k of the first extremum of each line. `op` is max or min. A
/// NaN is an extremum. Expects extent > 0, unless there are no lines.
template <launcher Launcher, class T>
void index_of_extremum(Launcher const& launch, reduction op, T const* x, std::int64_t outer,
                       std::int64_t extent, std::int64_t inner, std::int32_t* y) {
  auto const find = [&](auto const& fold) {
    detail::fold_lines(launch, "index_of_extremum", fold, x, outer, extent, inner, y);
  };
  if (op == reduction::max) find(detail::extremum_fold<reduction::max, T>{});
  else find(detail::extremum_fold<reduction::min, T>{});
}

/// Writes the cumulative sums of each line to y, which has the extents of x and may be x. The sums
/// begin with the first element of the line, or with the last one if `from_end`.
template <launcher Launcher, class T>
void cumulative_sum(Launcher const& launch, T const* x, std::int64_t outer, std::int64_t extent,
                    std::int64_t inner, bool from_end, T* y) {
  char const* const name = "cumulative_sum";
  std::int64_t const lines = outer * inner;
  detail::summed_lines<T> const of{x, extent, inner, from_end, y};
  if (one_thread_per_line(extent, inner)) {
    launch.for_each(name, detail::cumulate_by_thread<T>{of}, lines);
  } else {
    using body = detail::cumulate_by_block<T>;
    int const threads = threads_for((extent + body::elements - 1) / body::elements);
    launch.blocks(name, body{of, lines}, at_most(lines, 65536), threads,
                  threads * std::int64_t{sizeof(typename body::A)});
  }
}

}  // namespace ashlar::cuda
