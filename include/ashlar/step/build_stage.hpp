// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Builds the programs of the parts of a mesh that run a pipeline. The passes of a part are in the
// order of the schedule. All parts take their sends and receives from one common order of passes
// and transfers (pipeline/lower.hpp), so that they never wait for each other in a circle:
//
//   begin_send     right after the pass that makes the tensor. The sends of earlier passes to the same
//                  part end before it, so that they do not share the link
//   begin_receive  at the place in the common order of what the pass before it sends from the same
//                  part, and the first ones from each part at the begin of the program
//   end_receive    right before the pass that reads the tensor
//
// So a transfer goes on while both parts compute. The common order takes all passes as equally
// long, but they are not. Behind a pass that takes longer, a receive would begin late, and its
// sender and the link would wait. So all that one pass sends to a part begins to be received one such
// pass ahead. Nobody waits longer for a receive that begins earlier. It costs the memory of one
// tensor for each part from which tensors arrive, and of one more for each skip (cut_skips.hpp).
//
// A skip may have its two ends on stages of different parts (cut_skips.hpp). Then its input crosses
// from the one part to the other, over the stages between, and its gradient crosses back. These
// transfers have places in the common order too. What has arrived of a skip is kept until the pass
// that reads it.
//
// A tied parameter whose uses are on two parts is stored on the part of the first use. It crosses to
// the other part before the first pass, and the gradient of its later use crosses back behind the
// last one. So a part needs no copy between steps.
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

/// Returns the program of one step for the ranks of one part of a mesh. `net` and `chosen` are the
/// whole net and the placements of all its elements on the mesh of a part.
ASHLAR_INLINE program build_stage(problem const& net, plan const& chosen, machine const& m,
                                  pipeline_part const& part);

}  // namespace step
}  // namespace ashlar::search

#if !ASHLAR_COMPILED
#include <ashlar/step/stage_builder.hpp>
#endif
