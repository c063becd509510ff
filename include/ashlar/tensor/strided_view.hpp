// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A view of an array in memory that someone else owns: the address of its first element, its
// extents and its strides. A stride is the number of elements between neighbours along a dim, as in
// DLPack and std::mdspan.
//
//   strided_view<float, 2> v = local_view(x);     the shard of a tensor (local_view.hpp)
//   v(i, j)                                       v.data[i * v.strides[0] + j * v.strides[1]]

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace ashlar {

template <class T, int Rank>
struct strided_view {
  using element_type = T;
  using numbers = std::array<std::int64_t, static_cast<std::size_t>(Rank)>;
  static constexpr int rank = Rank;

  T* data = nullptr;
  numbers extents{};
  numbers strides{};

  /// Returns the element with these local indices. Does not check them.
  template <std::integral... Index>
    requires(sizeof...(Index) == static_cast<std::size_t>(Rank))
  constexpr T& operator()(Index... index) const {
    std::int64_t offset = 0;
    std::size_t d = 0;
    ((offset += static_cast<std::int64_t>(index) * strides[d++]), ...);
    return data[offset];
  }

  constexpr std::int64_t elements() const {
    std::int64_t n = 1;
    for (auto const e : extents) n *= e;
    return n;
  }

  /// Returns whether the elements are in row-major order without gaps. The stride of a dim of
  /// extent 1 is never used, so it may be any number.
  constexpr bool is_row_major() const {
    if (elements() == 0) return true;
    std::int64_t stride = 1;
    for (std::size_t d = extents.size(); d-- > 0;) {
      if (extents[d] > 1 && strides[d] != stride) return false;
      stride *= extents[d];
    }
    return true;
  }

  constexpr operator strided_view<T const, Rank>() const
    requires(!std::is_const_v<T>)
  {
    return {data, extents, strides};
  }
};

/// Returns a view of a row-major array without gaps.
template <class T, int Rank>
constexpr strided_view<T, Rank>
row_major_view(T* data, typename strided_view<T, Rank>::numbers const& extents) {
  strided_view<T, Rank> v{data, extents, {}};
  std::int64_t stride = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    v.strides[d] = stride;
    stride *= extents[d];
  }
  return v;
}

}  // namespace ashlar
