// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compares numbers of any magnitude, such as modelled seconds, within a fraction of their size.

#include <doctest/doctest.h>

namespace ashlar_test {

/// Returns an object that equals the numbers whose difference from x is at most the fraction
/// `epsilon` of the larger of the two. doctest::Approx(x) alone also permits a difference of
/// `epsilon`, so with its default of 1.2e-5 all times up to 11 microseconds equal each other.
/// The default here is more than 1e-9, because searches treat seconds as equal that differ by less
/// than one part in 1e9. If x is a difference, give the size of its operands to scale().
inline doctest::Approx relative(double x, double epsilon = 1e-8) {
  return doctest::Approx(x).epsilon(epsilon).scale(1e-100);
}

}  // namespace ashlar_test
