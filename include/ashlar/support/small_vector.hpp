// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A vector that allocates only when it has more than Few elements, for lists that are usually
// short.

#include <span>
#include <vector>

#include <ashlar/support/inplace_vector.hpp>

namespace ashlar {

template <class T, int Few>
class small_vector {
 public:
  void push_back(T const& item) {
    if (many_.empty() && few_.size() < Few) return few_.push_back(item);
    if (many_.empty()) many_.assign(few_.begin(), few_.end());
    many_.push_back(item);
  }
  operator std::span<T const>() const {
    if (many_.empty()) return {few_.begin(), few_.end()};
    return many_;
  }

 private:
  inplace_vector<T, Few> few_;
  std::vector<T> many_;
};

}  // namespace ashlar
