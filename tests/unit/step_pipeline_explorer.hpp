// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Explores all interleavings of a pipeline schedule, in a model without any buffers:
//
//   - Each part does one thing after another: its passes in the order of the schedule, its sends
//     and its receives. While it waits in a send, it does nothing else.
//   - A pass can run if its inputs are there: tensors that the previous or the next stage has sent
//     to this part or has computed on this part, and results of the pass's own stage.
//   - A send and its receive complete together (a rendezvous), when both parts have reached them.
//
// The model has no times. A schedule does not say when parts receive, so there are two questions:
//
//   some_run_ends(s)       A part sends each result right after the pass. Between two passes it may
//                          receive whatever another part offers. Is there a run in which all passes
//                          run? If not, the schedule deadlocks for every placement of the receives.
//   every_run_ends(lines)  Every part has a list of passes, sends and receives, as lower.hpp makes
//                          it. Do all passes run in every interleaving?

#include <cstdint>
#include <set>
#include <tuple>
#include <unordered_set>
#include <vector>

#include <ashlar/step/pipeline/lower.hpp>

namespace ashlar_test {

namespace pipeline_explorer {

/// Returns the stage that reads the result of a pass, or -1 if no other stage reads it.
inline int reader_of(ashlar::pipelines::schedule const& s, int stage,
                     ashlar::pipelines::pass what) {
  if (what == ashlar::pipelines::pass::forward) return stage + 1 < s.stages() ? stage + 1 : -1;
  return makes_input_gradient(what) ? stage - 1 : -1;
}

/// Answers the first question (some_run_ends). A state is one number with 16 bits for each part:
/// the number of passes that have run, and one bit that is set if the result of the last pass must
/// still be sent.
class free_receives {
 public:
  explicit free_receives(ashlar::pipelines::schedule const& s) : schedule_(s) {
    auto const cells = static_cast<std::size_t>(s.stages() * s.micro_batches);
    forward_.assign(cells, -1);
    backward_.assign(cells, -1);
    for (int p = 0; p < s.positions; ++p) {
      auto const& own = s.order[static_cast<std::size_t>(p)];
      for (std::size_t k = 0; k < own.size(); ++k) {
        auto const at = cell(s.stage_of(p, own[k].chunk), own[k].micro_batch);
        if (own[k].what == ashlar::pipelines::pass::forward) forward_[at] = static_cast<int>(k);
        else if (makes_input_gradient(own[k].what)) backward_[at] = static_cast<int>(k);
      }
    }
  }

  bool some_run_ends() {
    std::vector<std::uint64_t> open{0};
    while (!open.empty()) {
      auto const state = open.back();
      open.pop_back();
      if (!seen_.insert(state).second) continue;
      bool all = true;
      for (int p = 0; p < schedule_.positions; ++p) {
        auto const& own = schedule_.order[static_cast<std::size_t>(p)];
        auto const done = ran(state, p);
        if (done < static_cast<int>(own.size()) || sends(state, p)) all = false;
        if (sends(state, p)) {
          auto const& a = own[static_cast<std::size_t>(done - 1)];
          int const to = schedule_.position_of(
              reader_of(schedule_, schedule_.stage_of(p, a.chunk), a.what));
          if (!sends(state, to)) open.push_back(state - one(p));
        } else if (done < static_cast<int>(own.size()) &&
                   can_run(state, p, own[static_cast<std::size_t>(done)])) {
          auto const& a = own[static_cast<std::size_t>(done)];
          int const reader = reader_of(schedule_, schedule_.stage_of(p, a.chunk), a.what);
          bool const leaves = reader >= 0 && schedule_.position_of(reader) != p;
          open.push_back(state + 2 * one(p) + (leaves ? one(p) : 0));
        }
      }
      if (all) return true;
    }
    return false;
  }

 private:
  static std::uint64_t one(int p) { return std::uint64_t(1) << (16 * p); }
  static int ran(std::uint64_t state, int p) {
    return static_cast<int>((state >> (16 * p) & 0xffff) / 2);
  }
  static bool sends(std::uint64_t state, int p) { return (state >> (16 * p) & 1) != 0; }
  std::size_t cell(int stage, int m) const {
    return static_cast<std::size_t>(stage * schedule_.micro_batches + m);
  }
  /// Returns whether the part of stage `reader` has the result of a pass. `number` is the position
  /// of the pass in the order of its part.
  bool is_there(std::uint64_t state, int stage, int number, int reader) const {
    int const from = schedule_.position_of(stage), done = ran(state, from);
    if (number < 0 || number >= done) return false;
    return schedule_.position_of(reader) == from || number < done - 1 || !sends(state, from);
  }
  bool can_run(std::uint64_t state, int p, ashlar::pipelines::action const& a) const {
    using ashlar::pipelines::pass;
    int const stage = schedule_.stage_of(p, a.chunk), m = a.micro_batch;
    if (a.what == pass::forward)
      return stage == 0 || is_there(state, stage - 1, forward_[cell(stage - 1, m)], stage);
    if (a.what == pass::weight_gradient)
      return is_there(state, stage, backward_[cell(stage, m)], stage);
    return is_there(state, stage, forward_[cell(stage, m)], stage) &&
           (stage + 1 == schedule_.stages() ||
            is_there(state, stage + 1, backward_[cell(stage + 1, m)], stage));
  }

  ashlar::pipelines::schedule const& schedule_;
  std::vector<int> forward_, backward_;  // positions of F, and of B or I, by stage and micro-batch
  std::unordered_set<std::uint64_t> seen_;
};

/// One entry in the list of a part: a pass, a send or a receive.
struct own_line {
  bool is_transfer = false;
  int other = 0;  ///< the other part, if this is a transfer
  int stage = 0;  ///< the stage that runs the pass, or that has computed the transferred tensor
  ashlar::pipelines::action what;
};
using part_lines = std::vector<std::vector<own_line>>;

inline part_lines lines_of_parts(ashlar::pipelines::schedule const& s,
                                 std::vector<ashlar::pipelines::lowered_line> const& lines) {
  part_lines parts(static_cast<std::size_t>(s.positions));
  for (auto const& it : lines) {
    int const stage = s.stage_of(it.position, it.what.chunk);
    parts[static_cast<std::size_t>(it.position)].push_back(
        {it.is_transfer, it.target, stage, it.what});
    if (it.is_transfer)
      parts[static_cast<std::size_t>(it.target)].push_back({true, it.position, stage, it.what});
  }
  return parts;
}

/// Puts each receive right before the pass that reads the tensor, and each send right after the
/// pass that computes it. A part that does not consider the other parts would choose this order.
inline part_lines lines_without_common_order(ashlar::pipelines::schedule const& s) {
  using ashlar::pipelines::pass;
  part_lines parts(static_cast<std::size_t>(s.positions));
  for (int p = 0; p < s.positions; ++p)
    for (auto const& a : s.order[static_cast<std::size_t>(p)]) {
      auto& own = parts[static_cast<std::size_t>(p)];
      int const stage = s.stage_of(p, a.chunk);
      int const writer = a.what == pass::forward           ? stage - 1
                         : a.what == pass::weight_gradient ? -1
                                                           : stage + 1;
      if (writer >= 0 && writer < s.stages() && s.position_of(writer) != p)
        own.push_back(
            {true, s.position_of(writer), writer, {a.what, a.micro_batch, s.chunk_of(writer)}});
      own.push_back({false, p, stage, a});
      int const reader = reader_of(s, stage, a.what);
      if (reader >= 0 && s.position_of(reader) != p)
        own.push_back({true, s.position_of(reader), stage, a});
    }
  return parts;
}

/// Returns whether all lists end in every interleaving, and every pass comes after its inputs.
inline bool every_run_ends(ashlar::pipelines::schedule const& s, part_lines const& parts) {
  auto const next = [](std::uint64_t state, int p) { return state >> (16 * p) & 0xffff; };
  auto const one = [](int p) { return std::uint64_t(1) << (16 * p); };
  auto const same = [](own_line const& a, own_line const& b) {
    return a.is_transfer && b.is_transfer && a.stage == b.stage &&
           a.what.micro_batch == b.what.micro_batch &&
           (a.what.what == ashlar::pipelines::pass::forward) ==
               (b.what.what == ashlar::pipelines::pass::forward);
  };
  // First checks that each part has the inputs of its passes and sends. A part gets them only by
  // earlier entries of its own list, so this check needs no exploration.
  using ashlar::pipelines::pass;
  for (int p = 0; p < s.positions; ++p) {
    std::set<std::tuple<int, int, bool>>
        has;  // tensors: the stage that made it, its micro-batch, whether it is forward
    for (auto const& it : parts[static_cast<std::size_t>(p)]) {
      int const m = it.what.micro_batch;
      bool const forward = it.what.what == pass::forward;
      if (!it.is_transfer) {
        if (forward && it.stage > 0 && !has.count({it.stage - 1, m, true})) return false;
        if (it.what.what == pass::weight_gradient && !has.count({it.stage, m, false})) return false;
        if (makes_input_gradient(it.what.what) &&
            (!has.count({it.stage, m, true}) ||
             (it.stage + 1 < s.stages() && !has.count({it.stage + 1, m, false}))))
          return false;
      } else if (s.position_of(it.stage) == p && !has.count({it.stage, m, forward})) {
        return false;  // the part sends a tensor that it does not have
      }
      has.insert({it.stage, m, forward});
    }
  }
  std::unordered_set<std::uint64_t> seen;
  std::vector<std::uint64_t> open{0};
  while (!open.empty()) {
    auto const state = open.back();
    open.pop_back();
    if (!seen.insert(state).second) continue;
    bool all = true, moves = false;
    for (int p = 0; p < s.positions; ++p) {
      auto const& own = parts[static_cast<std::size_t>(p)];
      if (next(state, p) == own.size()) continue;
      all = false;
      auto const& it = own[next(state, p)];
      if (!it.is_transfer) {
        open.push_back(state + one(p));
        moves = true;
        continue;
      }
      auto const& other = parts[static_cast<std::size_t>(it.other)];
      if (next(state, it.other) == other.size()) continue;
      if (auto const& line = other[next(state, it.other)]; line.other != p || !same(it, line))
        continue;
      moves = true;
      if (p < it.other) open.push_back(state + one(p) + one(it.other));
    }
    if (!all && !moves) return false;
  }
  return true;
}

}  // namespace pipeline_explorer

/// Returns whether all passes can run, without buffers, if each part may receive at any time
/// between two of its passes.
inline bool some_run_ends(ashlar::pipelines::schedule const& s) {
  return pipeline_explorer::free_receives(s).some_run_ends();
}
/// Returns whether all passes run in every interleaving of the lists that lower.hpp makes. Returns
/// false if a pass of the schedule is missing in the lists.
inline bool every_lowered_run_ends(ashlar::pipelines::schedule const& s,
                                   ashlar::pipelines::pipeline_costs const& costs) {
  auto const parts = pipeline_explorer::lines_of_parts(s, lowered(s, costs));
  for (std::size_t p = 0; p < parts.size(); ++p) {
    std::vector<ashlar::pipelines::action> passes;
    for (auto const& it : parts[p])
      if (!it.is_transfer) passes.push_back(it.what);
    if (passes != s.order[p]) return false;
  }
  return pipeline_explorer::every_run_ends(s, parts);
}

}  // namespace ashlar_test
