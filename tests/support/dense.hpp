// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A minimal dense tensor for reference results in tests: extents and values in row-major order.

#include <cmath>
#include <random>
#include <vector>

namespace ashlar_test {

using index = std::vector<int>;

struct dense {
  index extents;
  std::vector<double> values;

  dense() = default;
  explicit dense(index e, double fill = 0) : extents(std::move(e)) {
    std::size_t n = 1;
    for (int x : extents) n *= static_cast<std::size_t>(x);
    values.assign(n, fill);
  }

  int rank() const { return static_cast<int>(extents.size()); }
  int extent(int d) const { return extents[static_cast<std::size_t>(d)]; }

  std::size_t offset(index const& i) const {
    std::size_t at = 0;
    for (std::size_t d = 0; d < extents.size(); ++d)
      at = at * static_cast<std::size_t>(extents[d]) + static_cast<std::size_t>(i[d]);
    return at;
  }
  double& operator()(index const& i) { return values[offset(i)]; }
  double operator()(index const& i) const { return values[offset(i)]; }
};

/// Returns x with f(v) in the place of each value v.
template <class F>
dense mapped(dense x, F f) {
  for (auto& v : x.values) v = f(v);
  return x;
}
/// Returns f(v, w) of the values v of x and w of y, element by element.
template <class F>
dense mapped(dense x, dense const& y, F f) {
  for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] = f(x.values[i], y.values[i]);
  return x;
}

/// Calls visit(i) for every index of the box [0, extents), with the last dimension varying fastest.
template <class Visit>
void for_each_index(index const& extents, Visit visit) {
  for (int e : extents)
    if (e == 0) return;
  index i(extents.size(), 0);
  while (true) {
    visit(static_cast<index const&>(i));
    std::size_t d = extents.size();
    while (d > 0 && ++i[d - 1] == extents[d - 1]) i[--d] = 0;
    if (d == 0) return;
  }
}

inline bool close(double a, double b, double tolerance) {
  return a == b || std::abs(a - b) <= tolerance * (1 + std::abs(a) + std::abs(b));
}

inline int uniform(std::mt19937& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

/// Draws signed integers between `low` and `high`.
inline dense random_integers(std::mt19937& random, index extents, int low = -9, int high = 9) {
  dense x(std::move(extents));
  for (auto& v : x.values) v = uniform(random, low, high);
  return x;
}

inline dense seeded_integers(index extents, unsigned seed = 4) {
  std::mt19937 random(seed);
  return random_integers(random, std::move(extents));
}

}  // namespace ashlar_test
