// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A list type for problems and plans. If the capacity is a compile-time constant, the list is an
// inplace_vector, so that problems and plans can be constexpr variables. Otherwise it is a
// std::vector.

#include <type_traits>
#include <vector>

#include <ashlar/step/names.hpp>
#include <ashlar/support/inplace_vector.hpp>

namespace ashlar::search {
inline namespace step {

inline constexpr int dynamic_size = -1;

template <class T, int Capacity>
using sequence = std::conditional_t<Capacity == dynamic_size, std::vector<T>,
                                    inplace_vector<T, Capacity == dynamic_size ? 1 : Capacity>>;

template <class Sequence>
constexpr int length(Sequence const& s) {
  return static_cast<int>(s.size());
}

}  // namespace step
}  // namespace ashlar::search
