// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Test cases for rooted operations (broadcast and reduce) on meshes of every backend. A failure
// throws.

#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include <ashlar/comm/mesh.hpp>

namespace ashlar_test {

/// Throws std::logic_error with the text `what` unless `holds`.
inline void require_that(bool holds, char const* what) {
  if (!holds) throw std::logic_error(what);
}

/// Checks broadcasts from each root and reductions to each root.
template <class Mesh>
void broadcast_and_reduce(Mesh const& m) {
  int const n = m.ranks();
  for (int root = 0; root < n; ++root)
    for (auto const count : std::initializer_list<std::size_t>{0, 1, 5, 1000}) {
      std::vector<std::int32_t> values(count), expected(count), sums(count);
      for (std::size_t i = 0; i < count; ++i) {
        int const k = static_cast<int>(i);
        values[i] = 100 * m.rank() + k;
        expected[i] = 100 * root + k;
        sums[i] = 100 * n * (n - 1) / 2 + n * k;
      }
      auto sent = values;
      m.broadcast(std::span<std::int32_t>(sent), root);
      require_that(sent == expected, "a broadcast");
      sent = values;
      m.reduce(std::span<std::int32_t>(sent), root);
      require_that(sent == (m.rank() == root ? sums : values), "a reduce");
      std::vector<double> largest(count, m.rank());
      m.reduce(std::span<double>(largest), root, ashlar::reduction::max);
      require_that(largest == std::vector<double>(count, m.rank() == root ? n - 1 : m.rank()),
                   "a maximum");
    }
  bool is_refused = false;
  try {
    double one[] = {1};
    m.broadcast(std::span<double>(one), n);
  } catch (ashlar::error const&) {
    is_refused = true;
  }
  require_that(is_refused, "a root that is none");
}

}  // namespace ashlar_test
