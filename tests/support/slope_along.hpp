// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Computes a derivative by finite differences, with an error of about h^4 and the rounding errors
// of the function divided by h.

namespace ashlar_test {

/// Returns the slope of f() along `value`, which f reads, from the values of f at the distances h
/// and 2 h on both sides. Afterwards `value` is as before.
template <class F>
double slope_along(double& value, double h, F const& f) {
  double const before = value;
  auto const at = [&](double offset) {
    value = before + offset;
    return f();
  };
  double const slope = (at(-2 * h) - 8 * at(-h) + 8 * at(h) - at(2 * h)) / (12 * h);
  value = before;
  return slope;
}

}  // namespace ashlar_test
