// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Device kernels that reduce the middle dim of an array x [outer, extent, inner]: y[o, i] is the
// reduction of x[o, k, i] over all k. The kernels compute in accumulation_t<T> and round each
// result to T once. If extent is 0, the result is the identity of op.
//
//   inner >= 32 or extent < 64   one thread for each result, in the order of k; bitwise equal to
//                                the host's result if inner > 1
//   otherwise                    one block for each result, which combines the partial results of
//                                its threads in an order that depends only on the extents
//
// As on the host, a maximum or minimum is NaN if an operand is NaN.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/host/combine.hpp>
#include <ashlar/placement/identity.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

namespace detail {

template <reduction Op, class T>
struct reduce_by_thread {
  using A = accumulation_t<T>;
  T const* x;
  std::int64_t extent, inner;
  A identity;
  T* y;

  ASHLAR_HD void operator()(std::int64_t i) const {
    division const place(i, inner);
    T const* const values = x + place.quotient * extent * inner + place.remainder;
    A total = identity;
    for (std::int64_t k = 0; k < extent; ++k)
      total = device::host::combine<Op>(total, static_cast<A>(values[k * inner]));
    y[i] = static_cast<T>(total);
  }
};

template <reduction Op, class T>
struct reduce_by_block {
  static constexpr int launch_threads = 256;
  using A = accumulation_t<T>;
  T const* x;
  std::int64_t extent, inner, results;
  A identity;
  T* y;

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    auto* const scratch = reinterpret_cast<A*>(block.shared());
    typename Block::template per_thread<A> totals(block);
    for (std::int64_t i = block.index(); i < results; i += block.count()) {
      division const place(i, inner);
      T const* const values = x + place.quotient * extent * inner + place.remainder;
      block.each_alone([&](int t) {
        A total = identity;
        for (std::int64_t k = t; k < extent; k += block.threads())
          total = device::host::combine<Op>(total, static_cast<A>(values[k * inner]));
        totals[t] = total;
      });
      A const total = block.fold(
          totals, scratch, [](A const& a, A const& b) { return device::host::combine<Op>(a, b); });
      block.each_alone([&](int t) {
        if (t == 0) y[i] = static_cast<T>(total);
      });
    }
  }
};

template <reduction Op, class Launcher, class T>
void launch_reduce_dim(Launcher const& launch, T const* x, std::int64_t outer, std::int64_t extent,
                       std::int64_t inner, T* y) {
  using A = accumulation_t<T>;
  A const identity = identity_of<A>(Op);
  std::int64_t const results = outer * inner;
  if (one_thread_per_line(extent, inner)) {
    launch.for_each("reduce_dim", reduce_by_thread<Op, T>{x, extent, inner, identity, y}, results);
  } else {
    int const threads = threads_for(extent);
    launch.blocks("reduce_dim", reduce_by_block<Op, T>{x, extent, inner, results, identity, y},
                  at_most(results, 65536), threads, threads / warp * std::int64_t{sizeof(A)});
  }
}

}  // namespace detail

/// Reduces the middle dim of x [outer, extent, inner]: y[o, i] is the reduction of x[o, k, i] over
/// all k. y is [outer, inner].
template <launcher Launcher, class T>
void reduce_dim(Launcher const& launch, reduction op, T const* x, std::int64_t outer,
                std::int64_t extent, std::int64_t inner, T* y) {
  switch (op) {
    case reduction::sum:
      return detail::launch_reduce_dim<reduction::sum>(launch, x, outer, extent, inner, y);
    case reduction::max:
      return detail::launch_reduce_dim<reduction::max>(launch, x, outer, extent, inner, y);
    case reduction::min:
      return detail::launch_reduce_dim<reduction::min>(launch, x, outer, extent, inner, y);
  }
}

}  // namespace ashlar::cuda
