// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The index space of device kernels that loop over strided N-dimensional blocks. This space is the
// canonical loop of device/host/strided_loop.hpp: the smallest destination stride is innermost, and
// dims are merged where possible. If alignment permits, one thread moves a unit of several adjacent
// elements of the innermost dim.
//
//   space.units()            the number of units
//   space.offsets(i, s, d)   sets s and d to the offsets, in units, at which unit i is read from
//                            the source and written to the destination
//   widest_unit(...)         the number of bytes of a unit: the largest of 16, 8, 4, 2 and 1 that
//                            divides both addresses and, in bytes, the row length and the strides
//                            of all other dims; the element size if rows are not contiguous

#include <cstddef>
#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/host/strided_loop.hpp>

namespace ashlar::cuda {

struct strided_space {
  int rank = 0;
  std::int64_t extent[device::host::max_strided_rank]{};
  std::int64_t src_stride[device::host::max_strided_rank]{};
  std::int64_t dst_stride[device::host::max_strided_rank]{};

  strided_space() = default;
  /// Creates the index space for units of `per_unit` elements. `per_unit` must be 1 unless the
  /// innermost dim is contiguous in both arrays.
  strided_space(device::host::strided_loop const& loop, std::int64_t per_unit) : rank(loop.rank) {
    for (int d = 0; d < rank; ++d) {
      auto const& dim = loop.dim[static_cast<std::size_t>(d)];
      bool const inner = d + 1 == rank;
      extent[d] = inner ? dim.extent / per_unit : dim.extent;
      src_stride[d] = inner ? dim.src_stride : dim.src_stride / per_unit;
      dst_stride[d] = inner ? dim.dst_stride : dim.dst_stride / per_unit;
    }
  }

  std::int64_t units() const {
    std::int64_t product = 1;
    for (int d = 0; d < rank; ++d) product *= extent[d];
    return product;
  }

  ASHLAR_HD void offsets(std::int64_t i, std::int64_t& src, std::int64_t& dst) const {
    src = 0;
    dst = 0;
    for (int d = rank - 1; d > 0; --d) {
      division const place(i, extent[d]);
      src += place.remainder * src_stride[d];
      dst += place.remainder * dst_stride[d];
      i = place.quotient;
    }
    if (rank > 0) {
      src += i * src_stride[0];
      dst += i * dst_stride[0];
    }
  }
};

/// Returns whether the copy kernels support elements of `size` bytes.
constexpr bool is_copied_size(std::int64_t size) {
  return size == 1 || size == 2 || size == 4 || size == 8;
}

inline bool has_contiguous_rows(device::host::strided_loop const& loop) {
  if (loop.rank == 0) return false;
  auto const& inner = loop.dim[static_cast<std::size_t>(loop.rank - 1)];
  return inner.src_stride == 1 && inner.dst_stride == 1;
}

/// Returns the number of bytes that one thread can move at once for elements of `size` bytes: up to
/// 16 if rows are contiguous, otherwise `size`. `addresses` is the bitwise or of all array
/// addresses.
inline std::int64_t widest_unit(device::host::strided_loop const& loop, std::int64_t size,
                                std::uintptr_t addresses) {
  if (!has_contiguous_rows(loop)) return size;
  auto bits = static_cast<std::uint64_t>(addresses);
  for (int d = 0; d < loop.rank; ++d) {
    auto const& dim = loop.dim[static_cast<std::size_t>(d)];
    if (d + 1 == loop.rank) {
      bits |= static_cast<std::uint64_t>(dim.extent * size);
    } else {
      bits |= static_cast<std::uint64_t>(dim.src_stride * size) |
              static_cast<std::uint64_t>(dim.dst_stride * size);
    }
  }
  std::int64_t unit = 16;
  while (unit > size && bits % static_cast<std::uint64_t>(unit) != 0) unit /= 2;
  return unit;
}

}  // namespace ashlar::cuda
