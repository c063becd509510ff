// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Placements of one mesh, numbered in the order in which they come in, found again by hashing.
// A placement's key has eight bits per axis: keys of valid placements of one mesh differ where the
// placements do. `find` takes any placement and so compares it in full.

#include <cstdint>
#include <vector>

#include <ashlar/placement/placement.hpp>
#include <ashlar/support/scratch.hpp>

namespace ashlar {

/// Per axis: B is 0, P one of 1 to 3 by reduction, a split 4 and more by dim and depth.
constexpr std::uint64_t key_of(placement const& p) {
  std::uint64_t key = 0;
  for (axis_placement const *a = p.axis.items, *end = a + p.axis.count; a != end; ++a)
    key = key << 8 | static_cast<std::uint64_t>(a->kind == placement_kind::broadcast ? 0
                                                : a->kind == placement_kind::split
                                                    ? 4 + a->dim * max_axes + a->depth
                                                    : 1 + static_cast<int>(a->op));
  return key;
}

class placement_set {
 public:
  constexpr int size() const { return static_cast<int>(placements_.size()); }
  constexpr placement const& operator[](int i) const { return placements_.data()[i]; }

  /// The number of `p`; -1 if it is not in the set.
  constexpr int find(placement const& p) const {
    if (table_.size() == 0) return -1;
    int const i = table_.data()[slot_of(key_of(p))].number;
    return i >= 0 && placements_.data()[i] == p ? i : -1;
  }

  /// The number of `p`, which comes in now unless it is there already.
  constexpr int add(placement const& p) {
    if (2 * placements_.size() >= table_.size()) grow();
    std::uint64_t const key = key_of(p);
    entry& e = table_.data()[slot_of(key)];
    if (e.number < 0) {
      e = {key, size()};
      placements_.push_back(p);
    }
    return e.number;
  }

 private:
  struct entry {
    std::uint64_t key;
    int number;  ///< -1: free
  };

  /// Where the table has the placement of that key, or the free place where it belongs.
  constexpr std::size_t slot_of(std::uint64_t key) const {
    std::size_t const mask = table_.size() - 1;
    std::uint64_t const mixed = (key ^ key >> 21) * 0x9E3779B97F4A7C15u;
    auto slot = static_cast<std::size_t>(mixed >> 40) & mask;
    entry const* const table = table_.data();
    while (table[slot].number >= 0 && table[slot].key != key) slot = (slot + 1) & mask;
    return slot;
  }

  constexpr void grow() {
    scratch<entry> const old = static_cast<scratch<entry>&&>(table_);
    table_ = scratch<entry>(old.size() == 0 ? 64 : 4 * old.size(), {0, -1});
    for (entry const& e : old)
      if (e.number >= 0) table_.data()[slot_of(e.key)] = e;
  }

  std::vector<placement> placements_;
  scratch<entry> table_;
};

}  // namespace ashlar
