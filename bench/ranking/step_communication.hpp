// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs the communication of a training step without its computation. The schedule of the training
// plan lists redistributions. Those that communicate run in the order of the step, each on a tensor
// of its own. With more ranks than cores, ranks then wait only for communication, not for the
// computation of other ranks.

#include <functional>
#include <vector>

#include <ashlar/step/schedule.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/redistribute.hpp>

namespace ashlar_bench {

class step_communication {
 public:
  step_communication(ashlar::mesh const& m, ashlar::search::problem const& net,
                     ashlar::search::plan const& chosen) {
    for (auto const& move : ashlar::search::schedule(net, chosen, m.machine()))
      if (!move.plan.is_local()) add(m, move.plan);
  }

  /// Runs the communication of one micro-batch, and then the synchronization of gradients.
  /// Collective.
  void run() const {
    for (auto const& move : moves_) move();
  }

 private:
  void add(ashlar::mesh const& m, ashlar::redistribution_plan const& plan) {
    switch (plan.extents.rank()) {
      case 1: return add_of_rank<1>(m, plan);
      case 2: return add_of_rank<2>(m, plan);
      case 3: return add_of_rank<3>(m, plan);
      default: return add_of_rank<4>(m, plan);
    }
  }

  template <int Rank>
  void add_of_rank(ashlar::mesh const& m, ashlar::redistribution_plan const& plan) {
    auto x = ashlar::from_index<float, Rank>(m, plan.extents, plan.from,
                                             [](auto const&) { return 1; });
    moves_.push_back(
        [x = std::move(x), p = ashlar::prepare(plan, m.topology(), m.coordinate(), m.sum_order())] {
          ashlar::detail::run_plan(x, p);
        });
  }

  std::vector<std::function<void()>> moves_;
};

}  // namespace ashlar_bench
