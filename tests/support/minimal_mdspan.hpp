// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The part of std::mdspan that conversions to and from views of shards use, for compilers without
// <mdspan>. Its members have the names and meanings of the standard library's.

#include <array>
#include <concepts>
#include <cstddef>

namespace ashlar_test::minimal {

enum class layout { right, left, stride };

template <int Rank>
struct extents {
  std::array<long, static_cast<std::size_t>(Rank)> size{};

  template <std::convertible_to<long>... Sizes>
    requires(sizeof...(Sizes) == static_cast<std::size_t>(Rank))
  explicit constexpr extents(Sizes... sizes) : size{static_cast<long>(sizes)...} {}
  constexpr long extent(std::size_t d) const { return size[d]; }
};

template <int Rank, layout Layout>
struct mapping {
  extents<Rank> sizes;
  std::array<long, static_cast<std::size_t>(Rank)> strides{};

  explicit constexpr mapping(extents<Rank> const& e)
    requires(Layout != layout::stride)
      : sizes(e) {
    long step = 1;
    for (std::size_t i = 0; i < strides.size(); ++i) {
      std::size_t const d = Layout == layout::right ? strides.size() - 1 - i : i;
      strides[d] = step;
      step *= e.extent(d);
    }
  }
  constexpr mapping(extents<Rank> const& e,
                    std::array<long, static_cast<std::size_t>(Rank)> const& s)
    requires(Layout == layout::stride)
      : sizes(e), strides(s) {}
  constexpr long stride(std::size_t d) const { return strides[d]; }
};

template <class T, int Rank, layout Layout>
class mdspan {
 public:
  using element_type = T;
  using index_type = long;
  using extents_type = extents<Rank>;
  using mapping_type = mapping<Rank, Layout>;

  constexpr mdspan(T* data, mapping_type const& how) : data_(data), how_(how) {}
  static constexpr std::size_t rank() { return static_cast<std::size_t>(Rank); }
  constexpr T* data_handle() const { return data_; }
  constexpr long extent(std::size_t d) const { return how_.sizes.extent(d); }
  constexpr long stride(std::size_t d) const { return how_.stride(d); }

 private:
  T* data_;
  mapping_type how_;
};

}  // namespace ashlar_test::minimal
