// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The device kernel that chooses between two operands, element by element. The mask may have
// another element type than the operands.

#include <cstdint>
#include <type_traits>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/cuda/kernel/pack.hpp>
#include <ashlar/device/elements_or_number.hpp>

namespace ashlar::cuda {

using device::elements_or_number;

namespace detail {

/// Loads Width adjacent elements of an operand, or its number Width times.
template <int Width, class T>
ASHLAR_HD pack<T, Width> load_elements(elements_or_number<T> const& x, std::int64_t i) {
  if (x.elements != nullptr) return load<Width>(x.elements + i);
  pack<T, Width> values;
  for (T& v : values.at) v = x.number;
  return values;
}

template <class M, class T>
struct selection {
  M const* mask;
  elements_or_number<T> x, y;
  T* z;

  template <int Width>
  ASHLAR_HD void run(std::int64_t i) const {
    auto const chosen = load<Width>(mask + i);
    auto const left = load_elements<Width>(x, i);
    auto values = load_elements<Width>(y, i);
    for (int k = 0; k < Width; ++k)
      if (chosen.at[k] != static_cast<M>(0)) values.at[k] = left.at[k];
    store<Width>(z + i, values);
  }
};

}  // namespace detail

/// Computes z[i] = x[i] where mask[i] is not 0, and z[i] = y[i] elsewhere, for 0 <= i < n.
template <launcher Launcher, class M, class T>
void select_elements(Launcher const& launch, M const* mask, elements_or_number<T> const& x,
                     elements_or_number<T> const& y, std::int64_t n, T* z) {
  using narrower = std::conditional_t<sizeof(M) < sizeof(T), M, T>;
  launch_packed<narrower>(launch, "select_elements", detail::selection<M, T>{mask, x, y, z}, n,
                          is_packable(mask) && is_packable(x.elements, y.elements, z));
}

}  // namespace ashlar::cuda
