// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds repeated sequences in a chain of elements (layers, and ends of residual blocks), so that a
// report prints 96 equal blocks as one block. The caller describes each element by four numbers:
//
//   own     a number for the printed text of the element; equal texts have equal numbers
//   level   the number of residual blocks that enclose the element
//   enter   a number for the text of the move of its x, from the previous element
//   back    a number for the text of the move of its dy, from the next element
//
// All copies of a sequence must agree in all numbers, with two exceptions. `enter` of the first
// element may differ in the first copy, because another element precedes that copy. `back` of the
// last element may differ in the last copy, because another element follows it. A sequence never
// contains only a part of a residual block.

#include <vector>

namespace ashlar::search {

struct foldable {
  int own = 0, level = 0, enter = 0, back = 0;
};

/// A sequence of `period` elements that occurs `times` times in a row, from element `first` on.
struct fold {
  int first = 0, period = 1, times = 1;
  constexpr int end() const { return first + period * times; }
};

namespace detail {

/// Returns how many copies of one sequence follow each other. The first copy consists of the
/// `period` elements from `first` on.
inline int repetitions(std::vector<foldable> const& list, int first, int period) {
  int const n = static_cast<int>(list.size());
  auto const at = [&](int i) -> foldable const& { return list[static_cast<std::size_t>(i)]; };
  for (int i = first; i < first + period; ++i)
    if (at(i).level < at(first).level) return 1;
  if (first + period < n && at(first + period).level > at(first).level) return 1;
  int times = 1;
  for (int copy = first + period; copy + period <= n; copy += period, ++times) {
    for (int k = 0; k < period; ++k) {
      foldable const &a = at(first + k), &b = at(copy + k);
      if (a.own != b.own || a.level != b.level) return times;
      // The first occurrence may differ in `enter`, so the `enter` of later ones is compared with
      // that of the second.
      if (k == 0 ? times > 1 && at(first + period).enter != b.enter : a.enter != b.enter)
        return times;
      if (k + 1 < period && a.back != b.back) return times;
    }
    // Only the last copy may differ in `back`. This copy matches too, so the previous copy is not
    // the last one. The previous copy's `back` must therefore equal the `back` of the first copy.
    if (at(copy - 1).back != at(first + period - 1).back) return times;
  }
  return times;
}

}  // namespace detail

/// Returns folds that cover the list, in order. A fold is a repeated sequence or a single element.
/// At each position, takes the sequence whose copies cover the most elements.
inline std::vector<fold> folds(std::vector<foldable> const& list) {
  std::vector<fold> out;
  int const n = static_cast<int>(list.size());
  for (int i = 0; i < n; i = out.back().end()) {
    fold best{i, 1, 1};
    for (int period = 1; i + 2 * period <= n; ++period) {
      int const times = detail::repetitions(list, i, period);
      if (times > 1 && (best.times == 1 || times * period > best.times * best.period))
        best = {i, period, times};
    }
    out.push_back(best);
  }
  return out;
}

}  // namespace ashlar::search
