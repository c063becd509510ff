// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A fixed number (`count`) of accumulators in vector registers. The accumulators have the type
// accumulation_t<T> and belong to `count` consecutive elements of an array of T:
//
//   load(src)         reads elements of T and converts them to accumulation_t<T>
//   load_wide(src)    reads accumulators without conversion
//   combine<Op>(src)  reads elements s of T and replaces each accumulator a by a op s
//                     (device/host/combine.hpp)
//   store_wide(dst)   writes accumulators without conversion
//   store(dst)        writes elements, rounded to T
//   stream(dst)       writes elements like store, with non-temporal stores to aligned memory
//
// The class uses the compiler's vector types, because GCC at -O2 does not vectorise loops of
// unknown length. Besides, GCC does not keep an ordinary array of accumulators in registers.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <ashlar/device/host/combine.hpp>
#include <ashlar/device/host/stream_store.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::device::host {

namespace detail {

template <class Element, std::size_t Bytes>
struct vector_of {
  using type [[gnu::vector_size(Bytes)]] = Element;
};

}  // namespace detail

template <class T, std::size_t Vectors>
class lanes {
  static constexpr std::size_t bytes = ASHLAR_VECTOR_BYTES;
  static constexpr std::size_t width = bytes / sizeof(accumulation_t<T>);
  static constexpr bool is_narrow = std::is_same_v<T, bfloat16>;
  using vector = typename detail::vector_of<accumulation_t<T>, bytes>::type;
  using word_vector = typename detail::vector_of<std::uint32_t, bytes>::type;
  using half_vector = typename detail::vector_of<std::uint16_t, bytes / 2>::type;

 public:
  /// The number of accumulators. This is also the number of array elements that are processed at a
  /// time.
  static constexpr auto count = static_cast<std::int64_t>(Vectors * width);

  [[gnu::always_inline]] void load(T const* src) {
    for_each([&](auto i) __attribute__((always_inline)) { v_[i] = load_one(src + i * width); });
  }

  [[gnu::always_inline]] void load_wide(accumulation_t<T> const* src) {
    std::memcpy(v_, src, sizeof(v_));
  }
  [[gnu::always_inline]] void store_wide(accumulation_t<T>* dst) const {
    std::memcpy(dst, v_, sizeof(v_));
  }

  template <reduction Op>
  [[gnu::always_inline]] void combine(T const* src) {
    for_each([&](auto i) __attribute__((always_inline)) {
      vector const other = load_one(src + i * width);
      if constexpr (Op == reduction::sum && std::is_integral_v<T>) {
        using bits = typename detail::vector_of<std::make_unsigned_t<T>, bytes>::type;
        v_[i] = (vector)((bits)v_[i] + (bits)other);
      } else {
        v_[i] = host::combine<Op>(v_[i], other);
      }
    });
  }

  [[gnu::always_inline]] void store(T* dst) const {
    for_each([&](auto i) __attribute__((always_inline)) {
      auto const stored = narrowed(v_[i]);
      std::memcpy(static_cast<void*>(dst + i * width), &stored, sizeof(stored));
    });
  }

  /// Writes the elements with non-temporal stores. `dst` must be aligned to ASHLAR_VECTOR_BYTES.
  /// For bfloat16, `Vectors` must be even.
  [[gnu::always_inline]] void stream(T* dst) const {
    static_assert(!is_narrow || Vectors % 2 == 0, "a store needs two vectors of bfloat16");
    for_each([&](auto i) __attribute__((always_inline)) {
      if constexpr (!is_narrow) {
        stream_vector(v_[i], dst + i * width);
      } else if constexpr (i % 2 == 0) {
        stream_vector(
            joined(narrowed(v_[i]), narrowed(v_[i + 1]), std::make_index_sequence<2 * width>{}),
            dst + i * width);
      }
    });
  }

 private:
  template <class F>
  [[gnu::always_inline]] static void for_each(F f) {
    [&]<std::size_t... Index>(std::index_sequence<Index...>) __attribute__((always_inline)) {
      (f(std::integral_constant<std::size_t, Index>{}), ...);
    }
    (std::make_index_sequence<Vectors>{});
  }

  [[gnu::always_inline]] static vector load_one(T const* src) {
    if constexpr (is_narrow) {
      half_vector half;
      std::memcpy(&half, src, sizeof(half));
      return (vector)(__builtin_convertvector(half, word_vector) << 16);
    } else {
      vector loaded;
      std::memcpy(&loaded, src, sizeof(loaded));
      return loaded;
    }
  }

  // Converts accumulators to elements. For bfloat16, rounds to nearest like
  // detail::round_to_bfloat16.
  [[gnu::always_inline]] static auto narrowed(vector const& value) {
    if constexpr (is_narrow) {
      auto const bits = (word_vector)value;
      word_vector const nearest = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
      word_vector const quiet = (bits >> 16) | 0x40u;
      return __builtin_convertvector(value != value ? quiet : nearest, half_vector);
    } else {
      return value;
    }
  }

  template <std::size_t... Lane>
  [[gnu::always_inline]] static auto joined(half_vector const& lower, half_vector const& upper,
                                            std::index_sequence<Lane...>) {
    return __builtin_shufflevector(lower, upper, Lane...);
  }

  vector v_[Vectors];
};

}  // namespace ashlar::device::host
