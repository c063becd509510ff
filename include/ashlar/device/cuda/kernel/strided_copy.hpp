// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Device copies between strided N-dimensional blocks: packing, unpacking, slices, transpositions
// and broadcasts. The functions match device/host/strided_copy.hpp. The method depends on the
// strides:
//
//   both arrays contiguous along the last dim           units of up to 16 bytes (strided.hpp)
//   destination contiguous along the last dim, source   tiles of 32 x 32 or 64 x 64 in shared
//   contiguous along another dim                        memory, so that both arrays are accessed
//                                                       contiguously
//   otherwise                                           element by element
//
// Elements have 1, 2, 4 or 8 bytes, are aligned to their size, and are moved as raw bits. The
// arrays must not overlap.

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include <ashlar/config.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/cuda/kernel/strided.hpp>

namespace ashlar::cuda {

namespace detail {

/// unit<Bytes>::type is a type of `Bytes` bytes that may alias any element type. Elements are
/// copied as values of this type.
template <int Bytes>
struct unit;
template <>
struct unit<1> {
  typedef std::uint8_t type [[gnu::may_alias]];
};
template <>
struct unit<2> {
  typedef std::uint16_t type [[gnu::may_alias]];
};
template <>
struct unit<4> {
  typedef std::uint32_t type [[gnu::may_alias]];
};
template <>
struct unit<8> {
  typedef std::uint64_t type [[gnu::may_alias]];
};
struct alignas(16) [[gnu::may_alias]] two_words {
  std::uint64_t word[2];
};
template <>
struct unit<16> {
  using type = two_words;
};

template <int Bytes>
struct copy_units {
  using element = typename unit<Bytes>::type;
  strided_space space;
  void const* src;
  void* dst;

  ASHLAR_HD void operator()(std::int64_t i) const {
    std::int64_t from = 0;
    std::int64_t to = 0;
    space.offsets(i, from, to);
    static_cast<element*>(dst)[to] = static_cast<element const*>(src)[from];
  }
};

/// Copies by a tiled transposition in shared memory. The dim along which the source is contiguous
/// and the dim along which the destination is contiguous form planes of src_run x dst_run elements.
/// Each plane is copied in square tiles. A thread moves `Group` adjacent elements at once, where
/// Group is 1 or 2. If Group is 2, both addresses must be aligned to 2 elements, and src_run,
/// dst_run and all strides must be even, except for the two strides that are 1.
template <int Bytes, int Group>
struct copy_tiles {
  static constexpr int launch_threads = 256;
  static constexpr int tile = warp * Group;  // a warp accesses one row of the tile at once
  static constexpr int pitch = tile + Group;
  static constexpr std::int64_t shared_bytes = std::int64_t{tile} * pitch * Bytes;
  using element = typename unit<Bytes>::type;
  using group = typename unit<Bytes * Group>::type;
  strided_space outer;            // the dims outside of the planes
  std::int64_t src_run, dst_run;  // extents of the plane
  std::int64_t src_stride;        // the stride of the plane's second dim in the source
  std::int64_t dst_stride;        // the stride of the plane's first dim in the destination
  std::int64_t src_tiles, dst_tiles;
  void const* src;
  void* dst;

  template <class Block>
  ASHLAR_HD void operator()(Block const& block) const {
    auto* const held = reinterpret_cast<element*>(block.shared());  // [tile][pitch]
    division const across(block.index(), dst_tiles);
    division const along(across.quotient, src_tiles);
    std::int64_t from = 0;
    std::int64_t to = 0;
    outer.offsets(along.quotient, from, to);
    std::int64_t const p0 = along.remainder * tile;   // position along the first dim
    std::int64_t const q0 = across.remainder * tile;  // position along the second dim
    auto const* const source = static_cast<element const*>(src) + from;
    auto* const target = static_cast<element*>(dst) + to;
    constexpr int step = launch_threads / warp, turns = tile / step;
    block.each([&](int t) {
      int const at = t % warp * Group;
      group read[turns] = {};  // all reads are issued first, so that the thread waits only once
      ASHLAR_UNROLL for (int k = 0; k < turns; ++k) {
        int const r = t / warp + k * step;
        if (p0 + at < src_run && q0 + r < dst_run)
          read[k] = *reinterpret_cast<group const*>(source + p0 + at + (q0 + r) * src_stride);
      }
      ASHLAR_UNROLL for (int k = 0; k < turns; ++k) {
        int const r = t / warp + k * step;
        *reinterpret_cast<group*>(held + r * pitch + at) = read[k];
      }
    });
    block.each([&](int t) {
      int const at = t % warp * Group;
      ASHLAR_UNROLL for (int k = 0; k < turns; ++k) {
        int const r = t / warp + k * step;
        group written = held[at * pitch + r];
        if constexpr (Group == 2)
          written |= static_cast<group>(held[(at + 1) * pitch + r]) << (8 * Bytes);
        if (q0 + at < dst_run && p0 + r < src_run)
          *reinterpret_cast<group*>(target + q0 + at + (p0 + r) * dst_stride) = written;
      }
    });
  }
};

template <int Bytes, class Launcher>
void launch_units(Launcher const& launch, device::host::strided_loop const& loop, std::int64_t size,
                  void const* src, void* dst) {
  copy_units<Bytes> const copy{strided_space(loop, Bytes / size), src, dst};
  launch.for_each("copy_strided", copy, copy.space.units());
}

/// Decides whether a copy is done as a tiled transposition. This is the case if the destination is
/// contiguous along the last dim and the source is contiguous along another dim. Returns this other
/// dim, or -1 if the copy is not done as a tiled transposition.
inline int source_run(device::host::strided_loop const& loop) {
  if (loop.rank < 2) return -1;
  auto const& inner = loop.dim[static_cast<std::size_t>(loop.rank - 1)];
  if (inner.dst_stride != 1 || inner.src_stride == 1) return -1;
  for (int d = loop.rank - 1; d-- > 0;)
    if (loop.dim[static_cast<std::size_t>(d)].src_stride == 1) return d;
  return -1;
}

template <int Bytes, int Group, class Launcher>
void launch_tiles_of(Launcher const& launch, device::host::strided_loop const& loop, int run,
                     void const* src, void* dst) {
  using copy = copy_tiles<Bytes, Group>;
  auto const plane = loop.dim[static_cast<std::size_t>(run)];
  auto const inner = loop.dim[static_cast<std::size_t>(loop.rank - 1)];
  device::host::strided_loop rest;
  for (int d = 0; d + 1 < loop.rank; ++d)
    if (d != run)
      rest.dim[static_cast<std::size_t>(rest.rank++)] = loop.dim[static_cast<std::size_t>(d)];
  std::int64_t const src_tiles = (plane.extent + copy::tile - 1) / copy::tile;
  std::int64_t const dst_tiles = (inner.extent + copy::tile - 1) / copy::tile;
  copy const all{strided_space(rest, 1),
                 plane.extent,
                 inner.extent,
                 inner.src_stride,
                 plane.dst_stride,
                 src_tiles,
                 dst_tiles,
                 src,
                 dst};
  launch.blocks("copy_strided", all, all.outer.units() * src_tiles * dst_tiles,
                copy::launch_threads, copy::shared_bytes);
}

/// Returns whether copy_tiles may move pairs of elements of `bytes` bytes. `run` is the result of
/// source_run, and `addresses` is the bitwise or of both addresses.
inline bool moves_pairs(device::host::strided_loop const& loop, int run, std::int64_t bytes,
                        std::uintptr_t addresses) {
  std::int64_t odd = static_cast<std::int64_t>(addresses) / bytes;
  for (int d = 0; d < loop.rank; ++d) {
    auto const& dim = loop.dim[static_cast<std::size_t>(d)];
    if (d == run || d + 1 == loop.rank) odd |= dim.extent;
    if (d != run) odd |= dim.src_stride;
    if (d + 1 != loop.rank) odd |= dim.dst_stride;
  }
  return odd % 2 == 0;
}

template <int Bytes, class Launcher>
void launch_tiles(Launcher const& launch, device::host::strided_loop const& loop, int run,
                  void const* src, void* dst) {
  if constexpr (Bytes == 2 || Bytes == 4) {
    if (moves_pairs(loop, run, Bytes,
                    reinterpret_cast<std::uintptr_t>(src) | reinterpret_cast<std::uintptr_t>(dst)))
      return launch_tiles_of<Bytes, 2>(launch, loop, run, src, dst);
  }
  launch_tiles_of<Bytes, 1>(launch, loop, run, src, dst);
}

}  // namespace detail

/// Sets dst[i . dst_strides] = src[i . src_strides] for every multi-index i below the extents,
/// where "." is the dot product. Strides are in elements, and `size` is the number of bytes of an
/// element: 1, 2, 4 or 8. The arrays are in device memory. Throws std::invalid_argument if `size`
/// is another number or if there are more than 8 dims.
template <launcher Launcher>
void copy_strided_bytes(Launcher const& launch, std::int64_t size, int rank,
                        std::int64_t const* extents, void const* src,
                        std::int64_t const* src_strides, void* dst,
                        std::int64_t const* dst_strides) {
  if (!is_copied_size(size))
    throw std::invalid_argument("copy_strided: elements must have 1, 2, 4 or 8 bytes.");
  auto const loop = device::host::canonical_loop(rank, extents, src_strides, dst_strides);
  if (loop.empty) return;
  if (int const run = detail::source_run(loop); run >= 0) {
    switch (size) {
      case 1: return detail::launch_tiles<1>(launch, loop, run, src, dst);
      case 2: return detail::launch_tiles<2>(launch, loop, run, src, dst);
      case 4: return detail::launch_tiles<4>(launch, loop, run, src, dst);
      case 8: return detail::launch_tiles<8>(launch, loop, run, src, dst);
    }
  }
  switch (widest_unit(
      loop, size, reinterpret_cast<std::uintptr_t>(src) | reinterpret_cast<std::uintptr_t>(dst))) {
    case 1: return detail::launch_units<1>(launch, loop, size, src, dst);
    case 2: return detail::launch_units<2>(launch, loop, size, src, dst);
    case 4: return detail::launch_units<4>(launch, loop, size, src, dst);
    case 8: return detail::launch_units<8>(launch, loop, size, src, dst);
    case 16: return detail::launch_units<16>(launch, loop, size, src, dst);
  }
}

template <launcher Launcher, class T>
void copy_strided(Launcher const& launch, int rank, std::int64_t const* extents, T const* src,
                  std::int64_t const* src_strides, T* dst, std::int64_t const* dst_strides) {
  static_assert(is_copied_size(sizeof(T)), "elements must have 1, 2, 4 or 8 bytes");
  copy_strided_bytes(launch, sizeof(T), rank, extents, src, src_strides, dst, dst_strides);
}

}  // namespace ashlar::cuda
