// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The memory of a part of a pipeline, from the order of its passes. A part holds one stage or
// several. Per stage and micro-batch it keeps
//
//   held      from the forward pass to the gradient of the input: what the forward pass saves, or
//             the inputs of recomputed segments
//   waiting   from the gradient of the input to those of the parameters, if the backward pass is
//             split: the saved values and dy of each layer that can make its gradients later
//             (backward_form::halves and gradients_only)
//
// The memory of a part is the largest sum, over its passes, of
//
//   what the running pass needs, with the parameters of its stage: as in a step without stages
//   + the parameters of the other stages
//   + held and waiting values of all other micro-batches of all stages
//   + the values of skips between stages (skip_memory.hpp)
//
// If the part holds one stage and backward passes are whole, this is the memory of the stage as a
// separate chain. The chain then has as many micro-batches in flight as the schedule has at most.

#include <algorithm>
#include <vector>

#include <ashlar/search/skip_memory.hpp>
#include <ashlar/step/memory_fold.hpp>
#include <ashlar/step/pipeline/schedule.hpp>

namespace ashlar::search {

/// Bytes per rank of one stage.
struct stage_bytes {
  std::int64_t one = 0;      ///< memory of a step with one micro-batch at a time
  std::int64_t lasting = 0;  ///< part of `one` that is held for the whole step
  std::int64_t held = 0, waiting = 0;
  std::int64_t fresh = 0;  ///< part of `waiting` that is not part of `held`
};

/// Returns the bytes of a stage. `stage` is the stage as a chain of its own (stage_of in
/// stages.hpp), with one micro-batch in flight.
template <int N>
stage_bytes bytes_of_stage(basic_problem<N> const& stage, basic_plan<N> const& chosen) {
  std::vector<element_bytes> list;
  stage_bytes sum;
  for (int i = 0; i < stage.size(); ++i) {
    list.push_back(memory_of(stage, chosen, i));
    auto const& own = list.back();
    sum.lasting += own.lasting;
    sum.held += own.held;
    if (!has_own_weight_gradient(stage.spec(i).backward) || stage[i].kind != element_kind::layer)
      continue;
    bool const again = stage.runs(i, chosen.recomputed) != forward_runs::once;
    sum.waiting += own.saved + own.dy;
    sum.fresh += own.dy + (again ? own.saved : 0);
  }
  sum.one = fold_memory(
      stage, chosen.recomputed, chosen.mesh.ranks(),
      [&](int i) -> element_bytes const& { return list.data()[i]; },
      [&](int i) { return crossing_of(chosen, i); });
  return sum;
}

/// Returns the bytes per rank of the part at `position`. `stages` has an entry for each stage, and
/// `skips` one for each skip between stages.
inline std::int64_t memory_of_part(pipelines::schedule const& s, int position,
                                   std::vector<stage_bytes> const& stages,
                                   std::vector<skip_bytes> const& skips = {}) {
  std::vector<stage_bytes> own;
  // The bytes in memory between two passes: those that all stages hold for the whole step, held and
  // waiting values, and skips.
  std::int64_t now = held_for_skips(s, position, skips);
  for (int c = 0; c < s.chunks; ++c) {
    own.push_back(stages[static_cast<std::size_t>(s.stage_of(position, c))]);
    now += own.back().lasting;
  }
  std::int64_t most = now;
  for (auto const& a : s.order[static_cast<std::size_t>(position)]) {
    auto const& it = own[static_cast<std::size_t>(a.chunk)];
    if (a.what == pipelines::pass::forward) {
      most = std::max(most, now + it.one - it.lasting);
      now += it.held;
    } else if (a.what == pipelines::pass::weight_gradient) {
      most = std::max(most, now);
      now -= it.waiting;
    } else {
      bool const split = a.what == pipelines::pass::input_gradient;
      now -= it.held;
      most = std::max(most, now + it.one - it.lasting + (split ? it.fresh : 0));
      now += split ? it.waiting : 0;
    }
  }
  return most;
}

}  // namespace ashlar::search
