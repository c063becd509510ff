// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Plans drawn at random, each layer's choice evenly: the baseline of AutoDDL, section 4.4. Draws over
// the memory limit are excluded, as that section says; an evaluation is a whole plan priced.

#include <ashlar/search/explorer.hpp>

namespace ashlar::search {

/// The best of as many random plans as the budget permits. Throws ashlar::error if no plan fits the
/// machine's memory, if none was drawn that does, or if the options would let it run for ever.
template <int N>
basic_result<N> random_search(basic_problem<N> const& net, topology const& t, machine const& m,
                              options const& o) {
  return detail::explore("random_search", net, t, m, o, [](auto& e) {
    while (e.run.go_on()) {
      e.draw_all();
      e.keep();
    }
  });
}

}  // namespace ashlar::search
