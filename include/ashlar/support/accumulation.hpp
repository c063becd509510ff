// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// accumulation_t<T> is the type that is used to sum values of type T and to compute with them. This
// is the only place that distinguishes a storage type from the type used for arithmetic.
//
//   bfloat16    float
//   otherwise   T

#include <type_traits>

#include <ashlar/support/bfloat16.hpp>

namespace ashlar {

template <class T>
using accumulation_t = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;

}  // namespace ashlar
