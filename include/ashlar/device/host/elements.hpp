// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Basic operations on arrays in host memory: copies, fills and random elements. Generic code calls
// the same functions for every processor. The first argument is the processor whose memory holds
// the arrays. The type of this argument selects the overload. device/cuda/elements.hpp has the
// overloads for a device.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <ashlar/device/host/processor.hpp>
#include <ashlar/device/host/random.hpp>
#include <ashlar/device/host/strided_copy.hpp>

namespace ashlar::device::host {

/// Copies n elements from host memory (`source`) to the processor's memory (`target`).
template <class T>
void upload(processor const&, T const* source, std::int64_t n, T* target) {
  std::copy_n(source, n, target);
}
/// Copies n elements from the processor's memory (`source`) to host memory (`target`). Returns when
/// the copy is complete.
template <class T>
void download(processor const&, T const* source, std::int64_t n, T* target) {
  std::copy_n(source, n, target);
}
/// Copies n elements within the processor's memory. The arrays must not overlap.
template <class T>
void copy_elements(processor const&, T const* source, std::int64_t n, T* target) {
  std::copy_n(source, n, target);
}
/// Sets y[i] = value for 0 <= i < n.
template <class T>
void fill(processor const&, std::type_identity_t<T> value, std::int64_t n, T* y) {
  std::fill_n(y, n, value);
}

/// Copies between strided arrays (strided_copy.hpp).
template <class T>
void copy_strided(processor const&, int rank, std::int64_t const* extents, T const* src,
                  std::int64_t const* src_strides, T* dst, std::int64_t const* dst_strides) {
  copy_strided(rank, extents, src, src_strides, dst, dst_strides);
}

/// Fills `out` with the uniform random numbers in [low, high) that belong to the global indices
/// [first, first + count) (random.hpp). `number` selects the sequence of random numbers.
template <class T>
void fill_uniform(processor const&, std::uint64_t seed, std::uint64_t number, std::int64_t first,
                  std::int64_t count, std::type_identity_t<accumulation_t<T>> low,
                  std::type_identity_t<accumulation_t<T>> high, T* out) {
  fill_uniform<T>(seed, number, first, count, low, high, out);
}
/// Fills `out` with the normal random numbers that belong to the global indices [first, first +
/// count) (random.hpp). `number` selects the sequence of random numbers.
template <class T>
void fill_normal(processor const&, std::uint64_t seed, std::uint64_t number, std::int64_t first,
                 std::int64_t count, std::type_identity_t<accumulation_t<T>> mean,
                 std::type_identity_t<accumulation_t<T>> deviation, T* out) {
  fill_normal<T>(seed, number, first, count, mean, deviation, out);
}

}  // namespace ashlar::device::host
