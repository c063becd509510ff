// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A box of elements that is copied from one row-major array to another. Packing, unpacking and
// copies out of another rank's shard consist of such blocks. A block is computed once per plan.
// Later only the array pointers change.
//
//   copy(block, source, target)               copies the whole block
//   copy_range(block, first, last, …)         copies elements [first, last) in row-major order
//
// An array is packed if it contains only the copied elements, without gaps.

#include <ashlar/device/host/elements.hpp>
#include <ashlar/layout/region.hpp>

namespace ashlar {

struct strided_block {
  int rank = 0;
  std::int64_t elements = 0;
  /// The number of elements of the target that are written at about the same time, by this block
  /// and by other blocks. If this number is large, the copy kernel bypasses the caches.
  std::int64_t part_of = 0;
  std::int64_t extents[max_rank]{};
  std::int64_t source_offset = 0, target_offset = 0;
  std::int64_t source_strides[max_rank]{}, target_strides[max_rank]{};
  /// Says whether the elements of the block are contiguous in the source, and in the target.
  bool source_is_run = true, target_is_run = true;

  strided_block() = default;
  /// Describes the copy of the indices `region` of a tensor from one shard to another. The source
  /// shard contains the indices `from`, and the target shard contains the indices `to`.
  strided_block(box const& region, box const& from, box const& to)
      : rank(region.rank()), elements(region.elements()), part_of(to.elements()) {
    if (elements == 0) return;
    std::int64_t source_stride = 1, target_stride = 1;
    for (int d = rank - 1; d >= 0; --d) {
      extents[d] = region[d].size;
      source_strides[d] = source_stride;
      target_strides[d] = target_stride;
      source_stride *= from[d].size;
      target_stride *= to[d].size;
    }
    source_offset = offset_of(from, region);
    target_offset = offset_of(to, region);
    source_is_run = is_contiguous(from, region);
    target_is_run = is_contiguous(to, region);
  }
};

/// Copies a block from `source` to `target`. These arrays must not overlap and must be in the
/// memory of processor `on`.
template <class Processor, class T>
void copy(Processor const& on, strided_block const& b, T const* source, T* target) {
  if (b.elements == 0) return;
  copy_strided(on, b.rank, b.extents, source + b.source_offset, b.source_strides,
               target + b.target_offset, b.target_strides);
}
/// Copies a block in host memory.
template <class T>
void copy(strided_block const& b, T const* source, T* target) {
  if (b.elements == 0) return;
  device::host::copy_strided(b.rank, b.extents, source + b.source_offset, b.source_strides,
                             target + b.target_offset, b.target_strides, b.part_of);
}

namespace detail {

/// Divides a range of elements of a block into boxes, for a copy. The range is elements [first,
/// last) of the dims from `d` on, in row-major order. Element 0 of these dims has the offset
/// `source` in the source and the offset `target` in the target. Calls visit(dim, count,
/// source_offset, target_offset) for each box. The box has `count` indices of dim `dim` and all
/// indices of the later dims.
template <class Visit>
void for_each_part(strided_block const& b, int d, std::int64_t first, std::int64_t last,
                   std::int64_t source, std::int64_t target, Visit& visit) {
  if (first >= last) return;
  if (d == b.rank) return visit(d - 1, std::int64_t(1), source, target);
  std::int64_t inner = 1;
  for (int i = d + 1; i < b.rank; ++i) inner *= b.extents[i];
  auto const at = [&](std::int64_t i) { return source + i * b.source_strides[d]; };
  auto const to = [&](std::int64_t i) { return target + i * b.target_strides[d]; };
  std::int64_t i = first / inner;
  std::int64_t const end = last / inner;
  if (first % inner != 0) {  // the rest of a row that the range enters in the middle
    std::int64_t const stop = i == end ? last - i * inner : inner;
    for_each_part(b, d + 1, first - i * inner, stop, at(i), to(i), visit);
    if (i == end) return;
    ++i;
  }
  if (end > i) visit(d, end - i, at(i), to(i));
  for_each_part(b, d + 1, 0, last - end * inner, at(end), to(end), visit);
}

}  // namespace detail

/// Copies elements [first, last) of the block, in row-major order. If `packed_source`, the array at
/// `source` contains only this range, without gaps. `packed_target` means the same for `target`.
template <class T>
void copy_range(strided_block const& b, std::int64_t first, std::int64_t last, T const* source,
                T* target, bool packed_source, bool packed_target) {
  if (first >= last) return;
  std::int64_t done = 0;
  auto const part = [&](int dim, std::int64_t count, std::int64_t from, std::int64_t to) {
    std::int64_t extents[max_rank]{}, packed[max_rank]{};
    std::int64_t stride = 1;
    for (int d = b.rank - 1; d >= dim; --d) {
      extents[d] = d == dim ? count : b.extents[d];
      packed[d] = stride;
      stride *= extents[d];
    }
    device::host::copy_strided(
        b.rank - dim, extents + dim, packed_source ? source + done : source + from,
        (packed_source ? packed : b.source_strides) + dim,
        packed_target ? target + done : target + to,
        (packed_target ? packed : b.target_strides) + dim, packed_target ? 0 : b.part_of);
    done += stride;
  };
  if (b.rank == 0) {
    device::host::copy_strided(0, b.extents, packed_source ? source : source + b.source_offset,
                               b.source_strides, packed_target ? target : target + b.target_offset,
                               b.target_strides);
    return;
  }
  detail::for_each_part(b, 0, first, last, b.source_offset, b.target_offset, part);
}

}  // namespace ashlar
