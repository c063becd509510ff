// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: to_mdspan: the mdspan has another number of dimensions than the tensor.

// An mdspan of three dims cannot view a matrix.

#include <cstddef>

#include <ashlar/tensor/mdspan.hpp>

#ifdef ASHLAR_CONTROL
constexpr std::size_t dims = 2;
#else
constexpr std::size_t dims = 3;
#endif

/// Has those members of std::mdspan<float, std::dextents<long, dims>> that to_mdspan uses for a
/// matrix.
struct span_of_floats {
  using element_type = float;
  using index_type = long;
  struct extents_type {
    extents_type(long r, long c) : rows(r), columns(c) {}
    long rows, columns;
  };
  using mapping_type = extents_type;

  span_of_floats(float* d, mapping_type const& m) : data(d), mapping(m) {}
  static constexpr std::size_t rank() { return dims; }
  float* data_handle() const { return data; }
  long extent(std::size_t d) const { return d == 0 ? mapping.rows : mapping.columns; }
  long stride(std::size_t d) const { return d == 0 ? mapping.columns : 1; }

  float* data;
  mapping_type mapping;
};

span_of_floats viewed(ashlar::strided_view<float, 2> const& v) {
  return ashlar::to_mdspan<span_of_floats>(v);
}
