// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A pointer to elements whose type is known only at run time, and the kernels that copy and reduce
// such elements. With these kernels, a transport is compiled once and not once per element type.
// Each kernel call processes many elements, so the cost of a call through a function pointer is
// negligible.
//
// Copies depend only on the size of the elements, reductions on their type.

#include <span>

#include <ashlar/comm/element_type.hpp>
#include <ashlar/comm/strided_block.hpp>
#include <ashlar/config.hpp>
#include <ashlar/device/host/reduce_strided.hpp>
#include <ashlar/support/small_vector.hpp>

namespace ashlar {

struct element_kernels {
  element_type type;
  std::int64_t size;  ///< bytes per element
  void (*copy)(strided_block const&, void const* source, void* target);
  void (*copy_range)(strided_block const&, std::int64_t first, std::int64_t last,
                     void const* source, void* target, bool packed_source, bool packed_target);
  void (*reduce)(reduction, strided_block const&, std::span<void const* const> sources,
                 void* target);
};

ASHLAR_INLINE element_kernels const& kernels_of(element_type type);
#if ASHLAR_DEFINES(COMM)
namespace detail {

/// Reduces the same block of all sources, and writes the result to the block's place in the target.
/// All sources must have the same layout.
template <class T>
void reduce_elements(reduction op, strided_block const& b, std::span<void const* const> sources,
                     void* target) {
  small_vector<T const*, 64> addends;
  for (void const* const source : sources)
    addends.push_back(static_cast<T const*>(source) + b.source_offset);
  device::host::reduce_strided(op, b.rank, b.extents, std::span<T const* const>(addends),
                               b.source_strides, static_cast<T*>(target) + b.target_offset,
                               b.target_strides);
}

/// Copies elements as `Unsigned`, which is the unsigned integer type of the same size.
template <class Unsigned>
void copy_as(strided_block const& b, void const* source, void* target) {
  copy(b, static_cast<Unsigned const*>(source), static_cast<Unsigned*>(target));
}
/// The same for a range of the elements.
template <class Unsigned>
void copy_range_as(strided_block const& b, std::int64_t first, std::int64_t last,
                   void const* source, void* target, bool packed_source, bool packed_target) {
  copy_range(b, first, last, static_cast<Unsigned const*>(source), static_cast<Unsigned*>(target),
             packed_source, packed_target);
}

template <class T, class Unsigned>
inline constexpr element_kernels kernels_for{element_type_of<T>, sizeof(T), copy_as<Unsigned>,
                                             copy_range_as<Unsigned>, reduce_elements<T>};

/// The kernels for bytes, which are never reduced.
inline constexpr element_kernels kernels_for_bytes{
    element_type::u8, 1, copy_as<std::uint8_t>, copy_range_as<std::uint8_t>,
    [](reduction, strided_block const&, std::span<void const* const>, void*) {}};

}  // namespace detail

ASHLAR_INLINE element_kernels const& kernels_of(element_type type) {
  constexpr element_kernels const* all[] = {&detail::kernels_for<float, std::uint32_t>,
                                            &detail::kernels_for<double, std::uint64_t>,
                                            &detail::kernels_for<std::int32_t, std::uint32_t>,
                                            &detail::kernels_for<std::int64_t, std::uint64_t>,
                                            &detail::kernels_for<bfloat16, std::uint16_t>,
                                            &detail::kernels_for_bytes};
  return *all[static_cast<int>(type)];
}
#endif

/// A pointer to an element in an array whose element type is known only at run time. It may point
/// to const data, because sources are only read.
struct element_pointer {
  std::byte* at = nullptr;
  element_kernels const* kernels = nullptr;

  element_pointer() = default;
  element_pointer(void const* p, element_type type)
      : at(static_cast<std::byte*>(const_cast<void*>(p))), kernels(&kernels_of(type)) {}

  element_pointer operator+(std::int64_t elements) const {
    element_pointer moved = *this;
    moved.at += elements * kernels->size;
    return moved;
  }
  std::int64_t size() const { return kernels->size; }
  element_type type() const { return kernels->type; }
  friend bool operator==(element_pointer const& a, element_pointer const& b) {
    return a.at == b.at;
  }
};

/// Copies a block. Source and target have the same element type.
inline void copy(strided_block const& b, element_pointer source, element_pointer target) {
  if (b.elements > 0) target.kernels->copy(b, source.at, target.at);
}
/// Copies elements [first, last) of the block, in row-major order. If the source or the target is
/// packed, its array contains only this range, without gaps.
inline void copy_range(strided_block const& b, std::int64_t first, std::int64_t last,
                       element_pointer source, element_pointer target, bool packed_source,
                       bool packed_target) {
  target.kernels->copy_range(b, first, last, source.at, target.at, packed_source, packed_target);
}
/// Reduces the first `elements` elements of the arrays at `sources`, from left to right, and writes
/// the results to `target`.
inline void reduce_runs(reduction op, std::int64_t elements, std::span<void const* const> sources,
                        element_pointer target) {
  strided_block run;
  run.rank = 1;
  run.elements = run.extents[0] = elements;
  run.source_strides[0] = run.target_strides[0] = 1;
  target.kernels->reduce(op, run, sources, target.at);
}

}  // namespace ashlar
