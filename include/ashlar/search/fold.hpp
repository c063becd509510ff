// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds repeated stretches of a chain, so that a plan of 96 equal blocks prints as one block. Each
// element is described by four numbers; equal numbers mean equal text:
//
//   own     the element itself                enter   the move of its x, from the previous element
//   level   the residuals around it           back    the move of its dy, from the next element
//
// The copies of a stretch must agree in own and level. `enter` of the first element may differ in
// the first copy, because something else precedes it. `back` of the last element may differ in the
// last copy. A stretch contains whole residuals only.

#include <vector>

namespace ashlar::search {

struct foldable {
  int own = 0, level = 0, enter = 0, back = 0;
};

/// A stretch of `period` elements, from `first` on, that occurs `times` times in a row.
struct fold {
  int first = 0, period = 1, times = 1;
  constexpr int end() const { return first + period * times; }
};

namespace detail {

/// Returns how often the `period` elements from `first` on occur in a row.
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
      // The first copy may differ in `enter`; later copies are compared with the second one.
      if (k == 0 ? times > 1 && at(first + period).enter != b.enter : a.enter != b.enter)
        return times;
      if (k + 1 < period && a.back != b.back) return times;
    }
    // The previous copy is no longer the last one, so its `back` must equal that of the first copy.
    if (at(copy - 1).back != at(first + period - 1).back) return times;
  }
  return times;
}

}  // namespace detail

/// Returns the whole list as folds, in order. At each position the stretch that covers the most
/// elements is taken.
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
