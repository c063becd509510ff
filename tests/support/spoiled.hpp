// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include <support/placed.hpp>

namespace ashlar_test {

/// Replaces the first element of a model's first parameter on rank 1 by a NaN.
template <class Model>
void spoil(Model& model) {
  int number = 0;
  model.for_each_parameter([&](auto& p) {
    if (number++ == 0 && world_rank() == 1)
      *p.value().template data_as<float>() = std::numeric_limits<float>::quiet_NaN();
  });
}

}  // namespace ashlar_test
