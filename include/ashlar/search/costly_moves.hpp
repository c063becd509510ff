// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Lists the collectives that take most of a step. Equal collectives of layers with the same name
// count together: in a chain of equal blocks, the small collectives of all blocks together may take
// more time than a single large one at the end of the chain.

#include <algorithm>
#include <string>
#include <vector>

#include <ashlar/search/outline.hpp>

namespace ashlar::search {

/// Equal collectives of layers with the same name.
struct costly_move {
  std::string layer;
  move_line each;  ///< one of the equal collectives
  int times = 0;   ///< the number of these collectives, in all elements together
  double seconds() const { return times * each.seconds; }
};

/// Returns the collectives of a plan, in descending order of the seconds that they take in a step.
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
