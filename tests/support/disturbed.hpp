// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Computes the cost of a plan that was optimized for a machine with measurement errors (HiDup
// section 6.11, table 5). tests/unit/search_noise_test.cpp and bench/search --noise use it. The
// following parameters of the machine are disturbed:
//
//   α, β     of the links of each tier (inside a node, between nodes), either separately for every
//            collective (noise::of_collectives) or equally for all collectives (noise::of_tiers)
//   flops    of matrix products
//   memory   bandwidth
//
// Each of these parameters is multiplied by its own factor 1 + u, with u uniform in [-most, most].
//
// A plan is chosen for the disturbed machine. Its placements and redistribution steps are kept, and
// its cost is computed for the true machine.

#include <cstdint>

#include <ashlar/plan/redistribution_step.hpp>
#include <ashlar/search/cost.hpp>
#include <ashlar/search/explorer.hpp>
#include <ashlar/step/schedule.hpp>

namespace ashlar_test {

enum class noise : signed char { of_tiers, of_collectives };

/// Returns `m` with disturbed parameters. `most` is the largest relative error. The result depends
/// only on the arguments.
inline ashlar::machine disturbed(ashlar::machine m, double most, std::uint64_t seed,
                                 noise kind = noise::of_collectives) {
  ashlar::search::detail::draws draw(seed);
  auto const factor = [&] { return 1 + most * (2 * draw.uniform() - 1); };
  for (auto [tier, of] : {std::pair{&m.intra, &m.intra_of}, std::pair{&m.inter, &m.inter_of}}) {
    double alpha = factor(), beta = factor();
    for (int k = 0; k < ashlar::collective_links::kinds; ++k) {
      auto const c = static_cast<ashlar::collective>(k);
      ashlar::link const l = of->has(c) ? (*of)[c] : *tier;
      of->set(c, {l.alpha * alpha, l.beta * beta});
      if (kind == noise::of_collectives) alpha = factor(), beta = factor();
    }
  }
  m.flops *= factor();
  m.memory_bandwidth *= factor();
  return m;
}

/// Returns the seconds of a training step on the machine `truth`. The step uses the placements of
/// the plan `chosen`. Between these placements, it uses the redistributions that are cheapest on
/// the machine `supposed`.
inline double seconds_on(ashlar::search::problem const& net, ashlar::search::plan const& chosen,
                         ashlar::machine const& supposed, ashlar::machine const& truth) {
  namespace search = ashlar::search;
  double seconds = 0;
  for (auto const& move : search::schedule(net, chosen, supposed)) {
    double const times = move.phase == search::phase::synchronize ? 1 : net.micro_batches;
    for (auto const& s : move.plan.steps)
      seconds += times *
                 step_seconds(s, move.plan.extents, move.plan.element_size, chosen.mesh, truth);
  }
  for (int i = 0; i < net.size(); ++i)
    seconds += net.micro_batches *
               search::work_seconds(net.spec(i), chosen[i], chosen.mesh, truth, net.element_size);
  return seconds;
}

}  // namespace ashlar_test
