// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Random search, the baseline of AutoDDL, section 4.4: each layer gets a random choice, all with
// equal probability. As in that section, plans over the memory limit are discarded. An evaluation
// is the pricing of one complete plan.

#include <ashlar/search/explorer.hpp>

namespace ashlar::search {

/// Returns the best of as many random plans as the budget permits. Throws ashlar::error if no plan
/// fits the machine's memory, if none of the random plans does, or if the options set no limit to
/// the search.
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
