// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Which stretches of a chain repeat, so that a plan of 96 equal blocks prints as one. An element is
// four numbers; equal numbers mean equal text:
//
//   own     what is inside of it              enter   the move of its x, from the element before
//   level   how many residuals are around it  back    the move of its dy, from the element after
//
// A stretch of `period` elements that comes `times` times must agree in own and level. Its first
// element's enter may differ in the first copy (what precedes the blocks lies elsewhere), its last
// element's back in the last copy. Whole residuals only.

#include <vector>

namespace ashlar::search {

struct foldable {
  int own = 0, level = 0, enter = 0, back = 0;
};

/// Elements first .. first + period · times - 1.
struct fold {
  int first = 0, period = 1, times = 1;
  constexpr int end() const { return first + period * times; }
};

namespace detail {

/// How often the `period` elements from `first` on come.
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
      // The first copy's enter is free: the others are held against the second's.
      if (k == 0 ? times > 1 && at(first + period).enter != b.enter : a.enter != b.enter)
        return times;
      if (k + 1 < period && a.back != b.back) return times;
    }
    // The copy before this one is now an inner one: it must end as the first does.
    if (at(copy - 1).back != at(first + period - 1).back) return times;
  }
  return times;
}

}  // namespace detail

/// The list in order, every stretch that repeats as one fold; longest coverage first come.
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
