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
#include <ashlar/device/cuda/kernel/fold_lines.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/host/combine.hpp>
#include <ashlar/placement/identity.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

namespace detail {

/// The fold (fold_lines.hpp) that reduces the elements of a line with Op.
template <reduction Op, class T>
struct reduction_fold {
  using value = accumulation_t<T>;
  value identity;

  ASHLAR_HD value none() const { return identity; }
  ASHLAR_HD value of(T x, std::int64_t) const { return static_cast<value>(x); }
  static ASHLAR_HD value combine(value a, value b) { return device::host::combine<Op>(a, b); }
  static ASHLAR_HD T result(value a) { return static_cast<T>(a); }
};

template <reduction Op, class Launcher, class T>
void launch_reduce_dim(Launcher const& launch, T const* x, std::int64_t outer, std::int64_t extent,
                       std::int64_t inner, T* y) {
  reduction_fold<Op, T> const fold{identity_of<accumulation_t<T>>(Op)};
  fold_lines(launch, "reduce_dim", fold, x, outer, extent, inner, y);
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
