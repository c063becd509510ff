// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Searches at random. This is a baseline in AutoDDL, section 4.4. Each layer gets a random choice;
// all choices of the layer are equally likely. As in AutoDDL, plans over the memory limit are
// discarded. One evaluation is the pricing of one complete plan.

#include <ashlar/search/explorer.hpp>

namespace ashlar::search {

/// Draws as many random plans as the budget in `o` permits and returns the best one. Throws
/// ashlar::error if no plan fits the machine's memory, if none of the drawn plans fits, if `o` has
/// no budget and no stop token, if the net has branches or a tied parameter without prescribed
/// storage, or if the mesh has more than four axes.
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
