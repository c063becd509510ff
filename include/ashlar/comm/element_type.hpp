// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The element types that a transport can carry, as run-time values, because virtual functions of
// the transport cannot be templates.

#include <cstdint>

#include <ashlar/placement/identity.hpp>
#include <ashlar/support/bfloat16.hpp>

namespace ashlar {

/// u8 is the type of the bytes of encoded blocks (plan/wire.hpp). No tensor has this element type.
enum class element_type : signed char { f32, f64, i32, i64, bf16, u8 };

/// Returns the size of an element in bytes.
constexpr int size_of(element_type type) {
  constexpr int sizes[] = {4, 8, 4, 8, 2, 1};
  return sizes[static_cast<int>(type)];
}

template <class T>
inline constexpr element_type element_type_of = [] {
  static_assert(sizeof(T) == 0,
                "ashlar tensors hold float, double, ashlar::bfloat16, std::int32_t or "
                "std::int64_t.");
  return element_type::f32;
}();
template <>
inline constexpr element_type element_type_of<float> = element_type::f32;
template <>
inline constexpr element_type element_type_of<double> = element_type::f64;
template <>
inline constexpr element_type element_type_of<std::int32_t> = element_type::i32;
template <>
inline constexpr element_type element_type_of<std::int64_t> = element_type::i64;
template <>
inline constexpr element_type element_type_of<bfloat16> = element_type::bf16;

}  // namespace ashlar
