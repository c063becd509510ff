// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Converts the extents of a dense reference tensor (dense.hpp) to the library's type.

#include <support/dense.hpp>

#include <ashlar/layout/shape.hpp>

namespace ashlar_test {

inline ashlar::shape to_shape(index const& extents) {
  ashlar::shape s;
  for (int const n : extents) s.extent.push_back(n);
  return s;
}

}  // namespace ashlar_test
