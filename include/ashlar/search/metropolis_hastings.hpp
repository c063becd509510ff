// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Searches by the Metropolis-Hastings algorithm, as in AutoDDL, section 4.4, and FlexFlow. A Markov
// chain samples plans S with probability P(S) ∝ exp(-β · Cost(S)).
//
//   proposal   A random layer gets another random choice. All layers are equally likely, and so are
//              all other choices of the layer.
//   accepted   A proposal is accepted with probability
//              min(1, P(new) / P(old)) = min(1, exp(-β · (Cost(new) - Cost(old)))).
//   memory     Plans over the memory limit have probability 0, so such proposals are rejected.
//
// The chain runs until the budget is used up. The paper leaves β to the user. By default, β is
// coldness · layers / Cost(first plan). So a good coldness depends neither on the unit of cost nor
// on the depth of the net. A coldness of 300 did best on AlexNet, VGG13 and a GPT of 8 blocks on 64
// ranks.

#include <cmath>

#include <ashlar/search/explorer.hpp>

namespace ashlar::search {

struct metropolis_options {
  /// β, per second of the cost. 0 stands for coldness · layers / cost of the first plan.
  double beta = 0;
  double coldness = 300;
};

/// Returns the best plan that one Markov chain visits within the budget. Throws ashlar::error if no
/// plan fits the machine's memory, if the options contain no budget and no stop token, if the net
/// has branches or a tied parameter without prescribed storage, or if the mesh has more than four
/// axes.
template <int N>
basic_result<N> metropolis_hastings(basic_problem<N> const& net, topology const& t,
                                    machine const& m, options const& o,
                                    metropolis_options const& how = {}) {
  return detail::explore("metropolis_hastings", net, t, m, o, [&](auto& e) {
    if (!e.run.go_on()) return;
    e.start();
    e.keep();
    double const beta = how.beta > 0 ? how.beta : how.coldness * e.now.variables() / e.now.weight();
    while (!e.movable.empty() && e.run.go_on()) {
      int const v = e.movable[static_cast<std::size_t>(e.draw.below(int(e.movable.size())))];
      int const old = e.now.choice(v);
      int k = e.draw.below(e.now.choices(v) - 1);
      k += k >= old;
      if (!e.now.fits_with(v, k)) continue;
      double const dearer = e.now.around(v, k) - e.now.around(v, old);
      if (dearer > 0 && e.draw.uniform() >= std::exp(-beta * dearer)) continue;
      e.now.choose(v, k);
      e.keep();
    }
  });
}

}  // namespace ashlar::search
