// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Types that describe which columns of a row one thread processes. The kernels in rows.hpp pass
// objects of these types to operations as the argument `share`. A pack is a group of adjacent
// elements that a thread reads at once, usually 16 bytes. n is the number of threads that process
// the row: the threads of a block, or of a warp.
//
//   column_share   every n-th pack of the row, read from memory at each use
//   kept_share     the same packs, at most Packs of them, read once and kept in registers
//
// Two types are for a row that begins in the middle of a pack:
//
//   edge_share     at most one element that is before the first or after the last whole pack
//   body_share     every n-th whole pack of the row

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/pack.hpp>

namespace ashlar::cuda {

/// The packs (groups of Width adjacent elements) of a row that one thread processes. The packs are
/// read from memory at each use.
template <int Width>
struct column_share {
  std::int64_t cols;
  int thread;
  int threads;

  template <class F>
  ASHLAR_HD void operator()(F const& f) const {
    std::int64_t const step = std::int64_t{threads} * Width;
    for (std::int64_t c = std::int64_t{thread} * Width; c < cols; c += step) f(c, 0);
  }
  ASHLAR_HD bool is_first() const { return thread == 0; }

  template <int Slot, class T>
  ASHLAR_HD void keep(T const*) const {}
  template <int Slot, class T>
  ASHLAR_HD pack<T, Width> read(T const* row, std::int64_t c, int) const {
    return load<Width>(row + c);
  }
};

/// Divides a row of an array into packs. The array is aligned, and every Width elements of it form
/// a pack, so a row may begin in the middle of a pack. The first `head` elements of the row come
/// before its first whole pack. The next `body` elements form whole packs.
template <int Width>
struct row_cut {
  std::int64_t cols, head, body;

  ASHLAR_HD row_cut(std::int64_t row, std::int64_t columns) : cols(columns) {
    std::int64_t const before = (Width - row * cols % Width) % Width;
    head = before < cols ? before : cols;
    body = (cols - head) / Width * Width;
  }
};

/// Describes the elements of a row before the first and after the last whole pack of Width
/// elements. Each thread processes at most one of these elements. There are fewer than 2 * Width of
/// them, so there are enough threads.
template <int Width>
struct edge_share : column_share<1> {
  row_cut<Width> cut;

  ASHLAR_HD edge_share(row_cut<Width> const& row, int at, int all)
      : column_share<1>{row.cols, at, all}, cut(row) {}
  template <class F>
  ASHLAR_HD void operator()(F const& f) const {
    std::int64_t const c = thread < cut.head ? thread : thread + cut.body;
    if (c < cols) f(c, 0);
  }
};

template <int Width>
struct body_share : column_share<Width> {
  row_cut<Width> cut;

  ASHLAR_HD body_share(row_cut<Width> const& row, int at, int all)
      : column_share<Width>{row.cols, at, all}, cut(row) {}
  template <class F>
  ASHLAR_HD void operator()(F const& f) const {
    column_share<Width>{cut.body, this->thread,
                        this->threads}([&](std::int64_t c, int k) { f(cut.head + c, k); });
  }
  /// Returns whether this share writes the values that exist once per row. The result is always
  /// false, because the edge_share of the same row writes these values.
  ASHLAR_HD bool is_first() const { return false; }
};

template <class T, int Width, int Slots, int Packs>
struct kept_columns {
  pack<T, Width> at[Slots][Packs];
};

/// The packs (groups of Width adjacent elements) of a row that one thread processes. A thread has
/// at most Packs packs, and they are kept in registers.
template <class T, int Width, int Slots, int Packs>
struct kept_share {
  std::int64_t cols;
  int thread;
  int threads;
  kept_columns<T, Width, Slots, Packs>* kept;

  template <class F>
  ASHLAR_HD void operator()(F const& f) const {
    ASHLAR_UNROLL for (int k = 0; k < Packs; ++k) {
      std::int64_t const c = (std::int64_t{k} * threads + thread) * Width;
      if (c < cols) f(c, k);
    }
  }
  ASHLAR_HD bool is_first() const { return thread == 0; }

  template <int Slot>
  ASHLAR_HD void keep(T const* row) const {
    (*this)([&](std::int64_t c, int k) { kept->at[Slot][k] = load<Width>(row + c); });
  }
  template <int Slot>
  ASHLAR_HD pack<T, Width> read(T const*, std::int64_t, int k) const {
    return kept->at[Slot][k];
  }
};

}  // namespace ashlar::cuda
