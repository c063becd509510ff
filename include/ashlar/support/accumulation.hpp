// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// accumulation_t<T> is the type that is used to sum values of type T and to compute with them:
//
//   T                accumulation_t<T>
//   bfloat16         float
//   any other type   T

#include <type_traits>

#include <ashlar/support/bfloat16.hpp>

namespace ashlar {

template <class T>
using accumulation_t = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;

}  // namespace ashlar
