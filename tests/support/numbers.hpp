// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Values for tests of tensors on GPU ranks, real or fake.

#include <cstdint>
#include <vector>

#include <ashlar/layout/shape.hpp>

namespace ashlar_test {

/// Returns one small integer of either sign for each element.
template <class T>
std::vector<T> numbers(ashlar::shape const& extents) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < extents.elements(); ++i)
    values.push_back(static_cast<T>(i % 31 - 9));
  return values;
}

}  // namespace ashlar_test
