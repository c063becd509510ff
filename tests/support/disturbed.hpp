// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a plan costs that was made for a machine measured wrongly (HiDup section 6.11, table 5), in
// tests/unit/search_noise_test.cpp and bench/search --noise:
//
//   α, β     of every collective in each tier, so ten of each     each times 1 + u of its own,
//   flops    of products                                          u uniform in [-most, most]
//   memory   bandwidth of maps
//
// A plan that was made for the disturbed machine keeps all that was chosen there, placements and the
// steps of every redistribution; its steps are then priced on the true one.

#include <cstdint>

#include <ashlar/plan/redistribution_step.hpp>
#include <ashlar/search/cost.hpp>
#include <ashlar/search/explorer.hpp>
#include <ashlar/step/schedule.hpp>

namespace ashlar_test {

enum class noise : signed char { of_tiers, of_collectives };

/// Depends on the seed only.
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

/// Seconds of a step on `truth` under a plan whose redistributions were planned for `supposed`.
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
