// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The squares of a gradient's elements, for the global norm. Each element counts on one rank only.

#include <ashlar/layout/layout.hpp>
#include <ashlar/nn/parameter.hpp>

namespace ashlar::train::detail {

/// Adds the sum of the squares of the gradient of p to *sum, on the rank that represents all ranks
/// with the same shard. Does nothing on ranks that do not hold the parameter. *sum is in the memory
/// of p's processor, and T is the type of the gradient's elements. Communicates nothing.
template <class T, class Parameter, class Memory>
void add_squares(Parameter const& p, Memory& memory, double* sum) {
  auto const& m = p.value().mesh();
  if (!m.is_here() || !is_representative(p.value().placement(), m.coordinate())) return;
  if (auto const* const in_rows = p.rows()) {
    auto const& rows = in_rows->template gradient<T>();
    add_sum_of_squares(p.processor(), memory, rows.values.data(), rows.size() * rows.columns, sum);
    return;
  }
  auto const& g = p.gradient();
  add_sum_of_squares(p.processor(), memory, static_cast<T const*>(g.template data_as<T>()),
                     g.local_elements(), sum);
}

}  // namespace ashlar::train::detail
