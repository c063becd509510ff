// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A binary heap of (weight, item) pairs with the smallest weight on top, also usable in constant
// expressions. Among entries of equal weight, the one with the greatest item is on top. If a search
// numbers items in the order in which it finds them, the search then continues from the item found
// last.

#include <ashlar/support/scratch.hpp>

namespace ashlar {

class min_heap {
 public:
  struct entry {
    double weight;
    int item;
  };

  constexpr bool empty() const { return size_ == 0; }

  constexpr void push(double weight, int item) {
    if (size_ == entries_.size()) grow();
    entry* const e = entries_.data();
    std::size_t i = size_++;
    for (; i > 0; i = (i - 1) / 2) {
      entry const& parent = e[(i - 1) / 2];
      if (!before(weight, item, parent)) break;
      e[i] = parent;
    }
    e[i] = {weight, item};
  }

  /// Removes and returns the top entry. The heap must not be empty.
  constexpr entry pop() {
    entry* const e = entries_.data();
    entry const first = e[0], last = e[--size_];
    std::size_t i = 0;
    for (std::size_t child = 1; child < size_; child = 2 * i + 1) {
      if (child + 1 < size_ && before(e[child + 1].weight, e[child + 1].item, e[child])) ++child;
      if (!before(e[child].weight, e[child].item, {last.weight, last.item})) break;
      e[i] = e[child];
      i = child;
    }
    e[i] = last;
    return first;
  }

 private:
  static constexpr bool before(double weight, int item, entry const& other) {
    return weight < other.weight || (weight == other.weight && item > other.item);
  }

  constexpr void grow() {
    scratch<entry> more(entries_.size() == 0 ? 64 : 4 * entries_.size());
    for (std::size_t i = 0; i < size_; ++i) more.data()[i] = entries_.data()[i];
    entries_ = static_cast<scratch<entry>&&>(more);
  }

  scratch<entry> entries_;
  std::size_t size_ = 0;
};

}  // namespace ashlar
