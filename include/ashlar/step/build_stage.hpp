// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Builds the programs of the parts of a mesh that run a pipeline. The passes of a part are in the
// order of the schedule. All parts take their sends and receives from one common order of passes
// and transfers (pipeline/lower.hpp), so that they never wait for each other in a circle:
//
//   begin_send     right after the pass that makes the tensor. The sends of earlier passes to the
//                  same part end before this one begins, so that they do not share the link
//   begin_receive  earlier than its place in the common order. Take the passes of one sender that
//                  send to this part. The receives from the first of these passes begin at the
//                  start of the program. The receives from each later pass begin where the common
//                  order has the first transfer of the pass before it
//   end_receive    right before the pass that reads the tensor
//
// So a transfer goes on while both parts compute. Receives begin ahead for this reason: the common
// order assumes that all stages take equally long, but they do not. After a pass that takes longer,
// a receive that began at its own place would begin late, and its sender and the link would wait.
// No part waits longer because a receive begins earlier. The price is the memory of one tensor for
// each part from which tensors arrive, and of one more for each skip (cut_skips.hpp).
//
// A skip may have its two ends on stages of different parts (cut_skips.hpp). Then its input crosses
// directly from the one part to the other, past the stages between, and its gradient crosses back.
// These transfers have places in the common order too. The received tensor is kept until the pass
// that reads it.
//
// A tied parameter whose uses are on two parts is stored on the part of the first use. It crosses
// to the other part before the first pass, and the gradient of its later use crosses back after
// the last pass. So the other part keeps no copy of the parameter between steps.
//
// Redistributions on the two sides of a crossing are moves of the programs: the plan of the
// crossing (plan/cross_mesh.hpp) says at which placements the tensor leaves one part and arrives at
// the other.

#include <ashlar/config.hpp>
#include <ashlar/machine/machine.hpp>
#include <ashlar/step/pipeline_part.hpp>
#include <ashlar/step/plan.hpp>
#include <ashlar/step/problem.hpp>
#include <ashlar/step/program.hpp>

namespace ashlar::search {
inline namespace step {

/// Returns the program of one step for the ranks of `part`, one of the parts into which a pipeline
/// divides a mesh. `net` and `chosen` are the whole net and a plan for all of its elements. All
/// parts have the same axes and extents, so the placements of `chosen` are valid on each of them.
/// The ranks of `part` execute only the elements of the part's own stages. Throws ashlar::error if
/// any part of the pipeline has too many elements: their number times the number of micro-batches
/// is above most_repeated_elements. So either all parts throw or none.
ASHLAR_INLINE program build_stage(problem const& net, plan const& chosen, machine const& m,
                                  pipeline_part const& part);

}  // namespace step
}  // namespace ashlar::search

#if !ASHLAR_COMPILED
#include <ashlar/step/stage_builder.hpp>
#endif
