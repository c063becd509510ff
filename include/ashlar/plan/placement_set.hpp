// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A hash table of placements of one mesh, numbered in the order of insertion. Its keys are codes
// that differ for different valid placements of the mesh (placement/code.hpp). `find` also accepts
// placements that are not valid on this mesh, so `find` compares the whole placement in addition to
// its code.

#include <vector>

#include <ashlar/placement/code.hpp>
#include <ashlar/support/scratch.hpp>

namespace ashlar {

class placement_set {
 public:
  constexpr int size() const { return static_cast<int>(placements_.size()); }
  constexpr placement const& operator[](int i) const { return placements_.data()[i]; }

  /// Returns the index of `p`, or -1 if it is not in the set.
  constexpr int find(placement const& p) const {
    if (table_.size() == 0) return -1;
    int const i = table_.data()[slot_of(code_of(p))].number;
    return i >= 0 && placements_.data()[i] == p ? i : -1;
  }

  /// Returns the index of `p`. Inserts `p` if it is not in the set.
  constexpr int add(placement const& p) {
    if (2 * placements_.size() >= table_.size()) grow();
    std::uint64_t const key = code_of(p);
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
    int number;  ///< index of the placement, or -1 for a free slot
  };

  /// Returns the slot that contains the placement with this key, or the free slot for it.
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
