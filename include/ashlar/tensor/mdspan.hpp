// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Conversions between views of shards and the mdspan of any library. The program gives the type of
// the mdspan, so this file works with std::mdspan, with cuda::std::mdspan, and with the reference
// implementation in any namespace:
//
//   auto m = to_mdspan<std::mdspan<float, std::dextents<std::int64_t, 2>>>(x);
//   auto m = to_mdspan(x);                     chooses the type, if the compiler has <mdspan> or
//                                              the reference implementation <experimental/mdspan>
//   auto x = borrow_local(mesh, extents, p, to_strided_view(m));
//
// Nothing is copied.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <ashlar/tensor/local_view.hpp>

#if __has_include(<mdspan>) && __cplusplus > 202002L
#include <mdspan>
#endif
#if !defined(__cpp_lib_mdspan) && __has_include(<experimental/mdspan>)
#include <experimental/mdspan>
#endif

namespace ashlar {

/// Returns an mdspan of any library as a view, over the same elements. Requires a layout that has
/// strides, as all layouts of the standard library have.
template <class Mdspan>
auto to_strided_view(Mdspan const& m) {
  constexpr auto rank = static_cast<int>(Mdspan::rank());
  strided_view<typename Mdspan::element_type, rank> v;
  v.data = m.data_handle();
  if constexpr (rank > 0)
    for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
      v.extents[d] = static_cast<std::int64_t>(m.extent(d));
      v.strides[d] = static_cast<std::int64_t>(m.stride(d));
    }
  return v;
}

namespace detail {

/// Returns the extents and strides of an mdspan over the array `v`.
template <class Mdspan, class T, int Rank>
typename Mdspan::mapping_type mapping_for(strided_view<T, Rank> const& v) {
  using mapping = typename Mdspan::mapping_type;
  using extents = typename Mdspan::extents_type;
  using index = typename Mdspan::index_type;
  return [&]<std::size_t... Dim>(std::index_sequence<Dim...>) {
    extents const sizes(static_cast<index>(v.extents[Dim])...);
    if constexpr (std::is_constructible_v<mapping, extents>) return mapping(sizes);
    else
      return mapping(sizes,
                     std::array<index, sizeof...(Dim)>{static_cast<index>(v.strides[Dim])...});
  }(std::make_index_sequence<static_cast<std::size_t>(Rank)>{});
}

}  // namespace detail

/// Returns a view as an mdspan of the given type, over the same elements. Throws ashlar::error if
/// the type has static extents that differ from those of the view, or a layout with other strides.
template <class Mdspan, class T, int Rank>
Mdspan to_mdspan(strided_view<T, Rank> const& v) {
  constexpr bool fits = Mdspan::rank() == static_cast<std::size_t>(Rank);
  static_assert(fits, "to_mdspan: the mdspan has another number of dimensions than the tensor.");
  if constexpr (fits) {
    Mdspan const made(v.data, detail::mapping_for<Mdspan>(v));
    auto const found = to_strided_view(made);
    for (std::size_t d = 0; d < v.extents.size(); ++d) {
      bool const is_used = v.extents[d] > 1 && v.elements() > 0;
      if (found.extents[d] == v.extents[d] && (found.strides[d] == v.strides[d] || !is_used))
        continue;
      throw error("to_mdspan", "along dim " + std::to_string(d) + " the mdspan has extent " +
                                   std::to_string(found.extents[d]) + " and stride " +
                                   std::to_string(found.strides[d]) +
                                   ", but the array has extent " + std::to_string(v.extents[d]) +
                                   " and stride " + std::to_string(v.strides[d]) +
                                   ". Use std::dextents and layout_right, or layout_stride.");
    }
    return made;
  }
}

/// Returns this rank's shard as an mdspan of the given type. Communicates nothing. Refuses a
/// partial tensor, as local_view does. to_mdspan<...>(local_addends_view(x)) returns its addends.
template <class Mdspan, distributed Tensor>
Mdspan to_mdspan(Tensor const& x) {
  return to_mdspan<Mdspan>(local_view(x));
}

#if defined(__cpp_lib_mdspan) || __has_include(<experimental/mdspan>)
namespace detail {
#if defined(__cpp_lib_mdspan)
namespace mdspan_library = std;
#else
namespace mdspan_library = std::experimental;
#endif

template <class T, std::size_t... Dim>
auto shard_mdspan(std::index_sequence<Dim...>) -> mdspan_library::mdspan<
    T, mdspan_library::extents<std::int64_t, (static_cast<void>(Dim), std::dynamic_extent)...>>;
}  // namespace detail

/// Returns this rank's shard as an mdspan with 64-bit extents and the row-major layout.
/// Communicates nothing. Refuses a partial tensor, as local_view does.
template <distributed Tensor>
auto to_mdspan(Tensor const& x) {
  using dims = std::make_index_sequence<static_cast<std::size_t>(Tensor::rank)>;
  return to_mdspan<decltype(detail::shard_mdspan<typename Tensor::value_type>(dims{}))>(
      local_view(x));
}
#endif

}  // namespace ashlar
