// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Extends labels through a chain, for searches by label setting. A label stands for a choice of
// each element so far, with what the search knows about these choices. Labels are listed by the
// choice of the last element.
//
// The two ends of a residual block take the same choice. So inside a residual block, labels with
// different choices of its begin are kept apart until its end.

#include <cstddef>
#include <utility>

#include <ashlar/search/overlap/turn_chain.hpp>

namespace ashlar::search {

/// Extends labels from element `first` to element `last` and returns them. `Lists` is a vector of
/// vectors of labels, by choice.
///
///   enter(i, labels)          adds the costs of element i to labels that already contain its
///                             choice
///   across(i, labels, only)   returns the labels extended over the boundary after element i: with
///                             choice `only` of the next element, or with each of its choices if
///                             `only` is negative
template <class Lists, class Enter, class Across>
Lists through_chain(turn_chain const& chain, int first, int last, Lists labels, Enter const& enter,
                    Across const& across) {
  for (int i = first; i < last;) {
    int const end = chain.elements[static_cast<std::size_t>(i)].partner;
    if (end <= i) {
      labels = across(i, labels, -1);
      enter(++i, labels);
      continue;
    }
    Lists all(labels.size());
    for (std::size_t begin = 0; begin < labels.size(); ++begin) {
      if (labels[begin].empty()) continue;
      Lists own(labels.size());
      own[begin] = labels[begin];
      int before = i;
      if (i + 1 < end) {
        own = across(i, own, -1);
        enter(i + 1, own);
        own = through_chain(chain, i + 1, end - 1, std::move(own), enter, across);
        before = end - 1;
      }
      own = across(before, own, static_cast<int>(begin));
      enter(end, own);
      all[begin] = std::move(own[begin]);
    }
    labels = std::move(all);
    i = end;
  }
  return labels;
}

}  // namespace ashlar::search
