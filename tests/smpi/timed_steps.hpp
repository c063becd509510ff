// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Helpers of the programs that run training steps on a simulated cluster and compare their seconds
// with timelines (step/timeline.hpp).

#include <algorithm>

#include <smpi/message_costs.hpp>
#include <smpi/simulated.hpp>
#include <support/strategies.hpp>

#include <ashlar/step/build.hpp>
#include <ashlar/step/program.hpp>
#include <ashlar/step/timeline.hpp>

namespace ashlar_test {

/// The predicted seconds of a step, its simulated seconds, and the predicted seconds of
/// communication that no computation hides. The simulated seconds are those of the slowest rank and
/// are valid on rank 0 only.
struct timed_step {
  double predicted, simulated, exposed;
};

/// Returns the machine with its speed of computation set so that the work of a step takes `ratio`
/// times as long as its communication.
inline ashlar::machine with_work(ashlar::search::problem const& net,
                                 ashlar::search::plan const& plan, ashlar::machine m,
                                 double ratio) {
  m.flops = 1e9;
  auto const when = ashlar::step::timeline_of(ashlar::step::build(net, plan, m), m);
  m.flops *= when.work / (ratio * when.communication);
  return m;
}

/// Returns the machine `m` with each α increased by the time of the 16 bytes that SMPI adds to each
/// message.
inline ashlar::machine with_envelopes(ashlar::machine m, ashlar::topology const& t) {
  m.intra.alpha += 16 * m.intra.beta;
  m.inter.alpha += 16 * std::max(m.inter.beta * t.ranks_per_node(), m.flow);
  return m;
}

/// Creates the groups of ranks for the redistributions of a program, so that no group is created
/// while time is measured.
inline void open_groups(ashlar::step::program const& p, ashlar::mesh const& m) {
  float one = 1, sum = 0;
  for (auto const& path : p.paths)
    for (auto const& s : path.steps)
      if (communicates(s.kind))
        m.run(ashlar::flat_all_reduce(1, s.axes, m.topology(), m.coordinate(),
                                      ashlar::reduction::sum),
              ashlar::element_type::f32, &one, &sum);
}

/// Returns the mesh of a program that times steps. Its machine has the costs of messages that SMPI
/// charges, and the ranks do not compare their transfers, since comparisons would send messages of
/// their own.
inline ashlar::mesh timed_mesh(ashlar::mpi::environment const& env, arguments const& given) {
  charge_each_message(given.machine);
  ashlar::mesh const m(env.world(), given.topology,
                       communication_only(with_envelopes(given.machine, given.topology)));
  m.set_checked(false);
  return m;
}

}  // namespace ashlar_test
