// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Holds the global extents of a tensor. Every tensor stores them, because they cannot be inferred
// from shards: if five rows on two ranks are split into 3 and 2, neither rank knows the total.
//
// A routed tensor [tokens.., experts, features] of a mixture of experts has rows of features for
// only `chosen` experts of each token (layout/routing.hpp). All other rows are zero and are not
// stored. It is placed like a dense tensor with these extents. How many rows a shard has depends on
// the routes. Predictions of bytes and seconds assume that the routes are distributed evenly: they
// count the share chosen / experts of the dense number of elements. If mesh axes split the dim of
// the experts, predictions can count more for the fullest shard (routed_elements).

#include <cstdint>
#include <string>

#include <ashlar/placement/placement.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar {

/// The value of `shape::fullest` for routes that are distributed evenly: the fullest shard has 1000
/// thousandths of the mean.
inline constexpr int evenly_full = 1000;

/// Returns the number of elements that predictions count for a part of a routed tensor. The part
/// has `own` of the `experts` experts, and would have n elements if all rows were stored. `chosen`
/// and `fullest` have the same meaning as in `shape`. The result is limited, because a token has at
/// most min(chosen, own) rows in the part.
constexpr std::int64_t routed_elements(std::int64_t n, int chosen, int fullest, std::int64_t own,
                                       std::int64_t experts) {
  std::int64_t const even = n * chosen / experts;
  if (fullest == evenly_full || own == experts || own == 0) return even;
  std::int64_t const rest = even % evenly_full * fullest;
  std::int64_t const full = even / evenly_full * fullest + (rest + evenly_full - 1) / evenly_full;
  std::int64_t const most = n / own * (chosen < own ? chosen : own);
  return full < most ? full : most;
}

struct shape {
  inplace_vector<std::int64_t, max_rank> extent;
  int chosen = 0;  ///< experts per token of a routed tensor, or 0 for a dense tensor
  /// For a routed tensor whose dim of experts is split: the elements of the fullest shard divided
  /// by the mean over all shards, in thousandths. Only predictions use this number.
  int fullest = evenly_full;

  constexpr shape() = default;
  constexpr shape(std::initializer_list<std::int64_t> list) : extent(list) {}

  constexpr int rank() const { return extent.size(); }
  constexpr std::int64_t& operator[](int d) { return extent[d]; }
  constexpr std::int64_t operator[](int d) const { return extent[d]; }

  constexpr bool is_routed() const { return chosen != 0; }
  /// Returns the number of experts of a routed tensor.
  constexpr std::int64_t experts() const { return extent[extent.size() - 2]; }

  constexpr std::int64_t elements() const {
    std::int64_t n = 1;
    for (int d = 0; d < extent.size(); ++d) n *= extent[d];
    return is_routed() ? n * chosen / experts() : n;
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

/// Returns text such as "512x1024", or "scalar" for rank 0. For a routed tensor in which each token
/// goes to 2 of 8 experts, the text is "512x2/8x1024".
inline std::string to_string(shape const& s) {
  std::string text;
  for (int d = 0; d < s.rank(); ++d) {
    if (d > 0) text += 'x';
    if (s.is_routed() && d == s.rank() - 2) text += std::to_string(s.chosen) + '/';
    text += std::to_string(s[d]);
  }
  return s.rank() == 0 ? "scalar" : text;
}

/// Throws ashlar::error if an extent is negative or the product of all extents above 0 exceeds
/// 2^58. With this limit, the bytes of several shards of 8-byte elements stay below 2^63.
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
