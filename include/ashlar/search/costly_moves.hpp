// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Lists the collectives that take most of a step. Equal collectives of equal layers count together:
// in a chain of equal blocks, a small one in each block may take more time than a large one at the
// end.

#include <algorithm>
#include <string>
#include <vector>

#include <ashlar/search/outline.hpp>

namespace ashlar::search {

/// Equal collectives of layers with one name.
struct costly_move {
  std::string layer;
  move_line each;  ///< one of the equal collectives
  int times = 0;   ///< the number of elements that have this collective
  double seconds() const { return times * each.seconds; }
};

/// Returns the collectives of a plan, those that take most seconds of a step first.
inline std::vector<costly_move> costly_moves(outline const& o) {
  std::vector<costly_move> all;
  for (auto const& e : o.elements) {
    auto const layer = e.name.substr(std::min(e.name.size(), e.name.find_first_not_of(' ')));
    for (auto const* lines : {&e.enter, &e.inside, &e.back, &e.rest})
      for (auto const& line : *lines) {
        auto const same = std::find_if(all.begin(), all.end(), [&](costly_move const& m) {
          return m.layer == layer && m.each == line;
        });
        if (same != all.end()) ++same->times;
        else all.push_back({layer, line, 1});
      }
  }
  std::stable_sort(all.begin(), all.end(), [](costly_move const& a, costly_move const& b) {
    return a.seconds() > b.seconds();
  });
  return all;
}

}  // namespace ashlar::search
