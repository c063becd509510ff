// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// An operand of an element-wise kernel: an array, or one number that stands for every element.

#include <cstdint>

#include <ashlar/config.hpp>

namespace ashlar::device {

template <class T>
struct elements_or_number {
  T const* elements = nullptr;  ///< null if the operand is the number
  T number{};

  ASHLAR_HD T operator[](std::int64_t i) const {
    return elements != nullptr ? elements[i] : number;
  }
};

}  // namespace ashlar::device
