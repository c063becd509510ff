// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds a plan as HiDup does (Zhang et al., "Accelerating Large-Scale Distributed Neural Network
// Training with SPMD Parallelism", SoCC 2022, section 4), to compare `optimal` with it. Two
// micro-batches take turns.
//
//   plan const theirs = search::hidup(problem, topology, machine);
//   problem.overlap = true, problem.interleaved = 2;
//   plan const ours = search::optimal(problem, topology, machine);    // usually fewer seconds
//
// The algorithm is in overlap/hidup_search.hpp. In the paper, a stage is a communication step
// followed by a computation step. What the paper leaves open is settled as follows:
//
//   backward   The paper searches over the forward pass, and the backward pass overlaps in the same
//              way. Here the seconds of both steps of a stage are sums over both passes.
//   weights    The gathers of weights and the synchronization of their gradients belong to the
//              communication step of the stage that uses the weights. Their seconds are divided by
//              the number of micro-batches of the step. The search decides whether a layer with
//              such weights begins a stage.
//   links      The paper has one link. Here the seconds of moves on both links, inside a node and
//              between nodes, are added up.
//   mesh       The paper splits a tensor along one dim over all GPUs. So here a layer has the same
//              signature row on all axes of a mesh. A move may still take a step for each axis.
//   memory     There is no memory limit.
//
// The seconds of the plan are those of the timeline (step/timeline.hpp), as in plans of `optimal`.

#include <string>

#include <ashlar/search/overlap/hidup_search.hpp>
#include <ashlar/search/overlap/overlapped_plan.hpp>

namespace ashlar::search {

/// Returns the plan that HiDup's search finds. plan.seconds are those of the timeline. The problem
/// needs two micro-batches or more, of which two take turns. Throws ashlar::error if there is only
/// one micro-batch, if a layer couples the rows of a batch, if segments are to be recomputed, if
/// the net has branches, or if problem::updates_apart is set.
inline plan hidup(problem const& net, topology const& t, machine const& m) {
  if (net.micro_batches < 2)
    throw error("search::hidup", "HiDup lets two micro-batches take turns, and the problem has " +
                                     std::to_string(net.micro_batches) +
                                     ". Set micro_batches to 2 or more.");
  if (net.recomputed > 0)
    throw error("search::hidup", "HiDup recomputes nothing. Set recomputed to 0.");
  problem duplex = net;
  duplex.interleaved = 2;
  duplex.overlap = false;
  detail::check_overlapped(duplex, t, m);
  return detail::best_storage(duplex, t, false, [&](problem const& settled) {
    turn_model model(settled, t, m,
                     [&](int, layer_choice const& c) { return splits_one_dim(c, t); });
    auto chosen = model.plan_of(hidup_search(model.chain(), settled.micro_batches).run().second);
    auto const made = detail::overlapped_program(settled, chosen, m);
    chosen.seconds = made.seconds;
    chosen.communication_seconds = timeline_of(made.made, m).exposed;
    chosen.gap = 1;  // The search bounds only the plans of HiDup.
    return chosen;
  });
}

}  // namespace ashlar::search
