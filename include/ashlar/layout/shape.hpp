// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Holds the global extents of a tensor. Every tensor stores them, because they cannot be inferred
// from shards: if five rows on two ranks are split into 3 and 2, neither rank knows the total.

#include <cstdint>
#include <string>

#include <ashlar/placement/placement.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar {

struct shape {
  inplace_vector<std::int64_t, max_rank> extent;

  constexpr shape() = default;
  constexpr shape(std::initializer_list<std::int64_t> list) : extent(list) {}

  constexpr int rank() const { return extent.size(); }
  constexpr std::int64_t& operator[](int d) { return extent[d]; }
  constexpr std::int64_t operator[](int d) const { return extent[d]; }

  constexpr std::int64_t elements() const {
    std::int64_t n = 1;
    for (int d = 0; d < extent.size(); ++d) n *= extent[d];
    return n;
  }

  friend constexpr bool operator==(shape const&, shape const&) = default;
};

namespace detail {
/// Returns the shape with the extents of a braced list.
template <int Rank>
constexpr shape shape_of(std::int64_t const (&extents)[Rank]) {
  shape s;
  for (auto const n : extents) s.extent.push_back(n);
  return s;
}
}  // namespace detail

/// Returns text such as "512x1024", or "scalar" for rank 0.
inline std::string to_string(shape const& s) {
  std::string text;
  for (int d = 0; d < s.rank(); ++d) {
    if (d > 0) text += 'x';
    text += std::to_string(s[d]);
  }
  return s.rank() == 0 ? "scalar" : text;
}

/// Throws ashlar::error if an extent is negative or the number of elements exceeds 2^58. With this
/// limit, the bytes of several shards of 8-byte elements stay below 2^63.
inline void check_extents(shape const& s, std::string const& operation) {
  constexpr std::int64_t most = std::int64_t{1} << 58;
  std::int64_t n = 1;
  for (int d = 0; d < s.rank(); ++d) {
    if (s[d] < 0) throw error(operation, "negative extent in shape " + to_string(s) + ".");
    if (s[d] > 0 && n > most / s[d])
      throw error(operation, "shape " + to_string(s) + " has too many elements.");
    if (s[d] > 0) n *= s[d];
  }
}

}  // namespace ashlar
