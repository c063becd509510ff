// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the memory of a part of a pipeline from the order of its passes. A part holds one stage
// or several. Per stage and micro-batch it keeps
//
//   held      from the forward pass to the gradient of the input: what the forward pass saves, or
//             the inputs of recomputed segments
//   waiting   from the gradient of the input to the gradients of the parameters, if the backward
//             pass is split: the saved values and dy of each layer that can make the gradients of
//             its parameters later (backward_form::halves and gradients_only)
//
// The memory of a part is the largest sum, over its passes, of
//
//   what the running pass needs, with the parameters of its stage: as in a step without stages
//   + the parameters of the other stages
//   + held and waiting values of all other micro-batches of all stages
//   + the values of skips between stages (skip_memory.hpp)
//   + tensors of the neighbouring stages:
//       from other parts   those whose receive has begun and that no pass has read yet
//       to other parts     the sources of sends that have not ended
//       on this part       those that one stage has made and the other one has not read yet
//
// Receives begin ahead of the pass that reads the tensor. A send to a part ends when the next send
// to this part begins (step/pipeline/part_order.hpp). So, if forward and backward passes alternate
// as under 1F1B, a part holds the following tensors: one or two early tensors from each part that
// sends to it, and the source of one send to each part to which it sends. If a part runs many
// passes before the next part reads their results, as under GPipe, that next part holds all of
// these results. The count is exact if the program begins its receives ahead. On devices receives
// begin later, so that the count is an upper bound.
//
// If the part holds one stage, backward passes are whole and no tensor crosses, the result is the
// memory of the stage as a separate chain. This chain has the most micro-batches in flight that the
// stage has under the schedule.

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <ashlar/search/skip_memory.hpp>
#include <ashlar/search/transfer_bytes.hpp>
#include <ashlar/step/memory_fold.hpp>
#include <ashlar/step/pipeline/part_order.hpp>

namespace ashlar::search {

/// Bytes per rank of one stage.
struct stage_bytes {
  std::int64_t one = 0;      ///< memory of a step with one micro-batch at a time
  std::int64_t lasting = 0;  ///< part of `one` that is held for the whole step
  std::int64_t held = 0, waiting = 0;
  std::int64_t fresh = 0;  ///< part of `waiting` that is not part of `held`
  /// Says whether the stage has the later use of a tied parameter whose first use is in another
  /// stage. The parameter counts as if it came from another part and were redistributed before the
  /// stage's first forward pass reads its input.
  bool tied = false;
};

/// Returns the bytes of a stage. `stage` is the stage as a chain of its own (stage_of in
/// stages.hpp), with one micro-batch in flight.
template <int N>
stage_bytes bytes_of_stage(basic_problem<N> const& stage, basic_plan<N> const& chosen) {
  std::vector<element_bytes> list;
  stage_bytes sum;
  for (int i = 0; i < stage.size(); ++i) {
    list.push_back(memory_of(stage, chosen, i));
    for (auto const& p : stage.spec(i).parameters)
      sum.tied = sum.tied || (p.is_apart && p.tie == tie_role::later);
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
  if (is_plain_step(chosen, 0))
    sum.one = std::max(sum.one, bytes_of_stage(stage, without_wires(chosen)).one);
  return sum;
}

/// Computes the memory of the parts of a pipeline under one order of passes.
class pipeline_memory {
 public:
  /// `s` must outlive this object. `boundaries` has an entry for each stage but the last: the
  /// tensors between this stage and the next one. If `boundaries` is empty, these tensors count as
  /// zero bytes. `skips` has an entry for each skip between stages.
  pipeline_memory(pipelines::schedule const& s, std::vector<boundary_bytes> boundaries,
                  std::vector<skip_bytes> const& skips)
      : schedule_(s), boundaries_(std::move(boundaries)) {
    boundaries_.resize(static_cast<std::size_t>(s.stages()));
    pipelines::skip_transfers ends;
    for (auto const& it : skips) ends.push_back({it.from, it.to});
    // The lines of each part: its own passes, its sends, and its receives.
    std::vector<std::vector<pipelines::lowered_line>> own(static_cast<std::size_t>(s.positions));
    for (auto const& line : pipelines::assumed_order(s, ends)) {
      own[static_cast<std::size_t>(line.position)].push_back(line);
      if (line.is_transfer) own[static_cast<std::size_t>(line.target)].push_back(line);
    }
    for (int p = 0; p < s.positions; ++p)
      orders_.push_back(pipelines::order_of_part(own[static_cast<std::size_t>(p)], p, true));
    set_skips(skips);
  }

  /// Takes other bytes for the skips between stages. The skips must be the same ones.
  void set_skips(std::vector<skip_bytes> const& skips) {
    skips_.clear();
    for (int p = 0; p < schedule_.positions; ++p)
      skips_.push_back(held_for_skips(schedule_, p, skips));
  }

  /// Returns the bytes per rank of the part at `position`. `stages` has an entry for each stage.
  std::int64_t of_part(int position, std::vector<stage_bytes> const& stages) const {
    using pipelines::part_event;
    part_memory part{schedule_, position, stages, skips_[static_cast<std::size_t>(position)]};
    for (auto const& [event, line] : orders_[static_cast<std::size_t>(position)]) {
      auto const& a = line.what;
      int const stage = schedule_.stage_of(line.position, a.chunk);
      bool const forward = a.what == pipelines::pass::forward;
      switch (event) {
        case part_event::pass:
          read(part, stage, a);
          part.run(a);
          if (forward && is_joined(stage)) part.hold(between(stage, true).made);
          if (pipelines::makes_input_gradient(a.what) && is_joined(stage - 1))
            part.hold(between(stage - 1, false).made);
          break;
        case part_event::begin_receive:
          if (line.skip < 0) part.hold(between(forward ? stage : stage - 1, forward).arriving);
          break;
        case part_event::end_sends: part.end_sends(line.target); break;
        case part_event::begin_send:
          if (line.skip < 0) part.send(line.target, between(forward ? stage : stage - 1, forward));
          break;
      }
    }
    return part.most;
  }

 private:
  /// The memory of a part while its passes run one after another.
  struct part_memory {
    std::vector<stage_bytes> own;  // the bytes of its stages, by chunk
    // The bytes that are in memory between two passes: parameters and other lasting bytes of the
    // part's stages, held and waiting values, skips, and tensors of neighbouring stages.
    std::int64_t now;
    std::int64_t most;
    std::map<int, std::int64_t> sent{};  // bytes of the sources of unended sends, by receiver

    part_memory(pipelines::schedule const& s, int position, std::vector<stage_bytes> const& stages,
                std::int64_t skips)
        : now(skips) {
      for (int c = 0; c < s.chunks; ++c) {
        own.push_back(stages[static_cast<std::size_t>(s.stage_of(position, c))]);
        now += own.back().lasting;
      }
      most = now;
    }

    void raise(std::int64_t more) { most = std::max(most, now + more); }
    void hold(std::int64_t bytes) {
      now += bytes;
      raise(0);
    }

    void run(pipelines::action const& a) {
      auto const& it = own[static_cast<std::size_t>(a.chunk)];
      if (a.what == pipelines::pass::forward) {
        raise(it.one - it.lasting);
        now += it.held;
      } else if (a.what == pipelines::pass::weight_gradient) {
        raise(0);
        now -= it.waiting;
      } else {
        bool const split = a.what == pipelines::pass::input_gradient;
        now -= it.held;
        raise(it.one - it.lasting + (split ? it.fresh : 0));
        now += split ? it.waiting : 0;
      }
    }
    void send(int target, transfer_bytes const& tensor) {
      raise(tensor.before);
      sent[target] += tensor.leaving;
      hold(tensor.leaving);
    }
    void end_sends(int target) {
      now -= sent[target];
      sent[target] = 0;
    }
  };

  /// Returns the bytes of the tensor that crosses between a stage and the next one: the output of
  /// `stage` if `forward` is true, otherwise the gradient of this output.
  transfer_bytes const& between(int stage, bool forward) const {
    auto const& both = boundaries_[static_cast<std::size_t>(stage)];
    return forward ? both.forward : both.backward;
  }
  /// Returns whether a stage and the next one exist and are on one part.
  bool is_joined(int stage) const {
    return stage >= 0 && stage + 1 < schedule_.stages() &&
           schedule_.position_of(stage) == schedule_.position_of(stage + 1);
  }

  /// Releases the tensor of a neighbouring stage that the pass reads. From then on the tensor
  /// counts as part of the pass's own memory.
  void read(part_memory& part, int stage, pipelines::action const& a) const {
    bool const forward = a.what == pipelines::pass::forward;
    if (a.what == pipelines::pass::weight_gradient) return;
    int const before = forward ? stage - 1 : stage;  // the boundary that the tensor passes
    if (before < 0 || before + 1 == schedule_.stages()) return;
    auto const& tensor = between(before, forward);
    bool const joined = is_joined(before);
    if (auto& own = part.own[static_cast<std::size_t>(a.chunk)]; own.tied && forward) {
      part.raise(own.one - own.lasting);
      own.tied = false;
    }
    part.now -= joined ? tensor.made : tensor.arriving;
    part.raise(joined ? tensor.joined : tensor.after);
  }

  pipelines::schedule const& schedule_;
  std::vector<boundary_bytes> boundaries_;
  std::vector<std::vector<pipelines::part_line>> orders_;  // by position
  std::vector<std::int64_t> skips_;  // by position: bytes of the values of skips
};

}  // namespace ashlar::search
