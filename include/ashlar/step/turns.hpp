// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A pass that lets micro-batches take turns: while the redistributions of one micro-batch run, the
// other micro-batches of its group compute. early_moves.hpp then lets the redistributions begin
// early. The idea is that of HiDup (Zhang et al., SoCC 2022), where two halves of a batch take
// turns.
//
//   group    `together` consecutive micro-batches of the step; the last group may be smaller
//   turn     the actions of one micro-batch between two redistributions of activations, of their
//            gradients or of statistics, in serial order
//   order    turn 0 of every micro-batch of a group, then turn 1 of every micro-batch, and so on
//   gathers  in each forward or backward pass, a parameter is gathered once for a group, before
//            its first reader
//
// The last turn of the forward pass and the first turn of the backward pass are a single turn,
// since nothing is redistributed in between. They are two turns if program::waits_for_forwards says
// that the backward passes of a group need all its forward passes. The last turn of a group is
// joined with the first turn of the next group: for k = 0, 1 and so on, micro-batch k of the
// earlier group runs its last turn, and then micro-batch k of the next group runs its first turn.
//
// A gathered parameter stays in memory until the last micro-batch of the group has read it. So
// turns may also end before an element whose parameters are gathered. turn_ends says before which
// elements. `at_gathers` needs the least memory: it keeps the gathered parameters of one element at
// a time, or of two elements where groups are joined. memory.hpp assumes this, and build.hpp makes
// such programs. With `at_moves`, a turn ends before an element only where that exposes no
// redistribution. pass_trial.hpp tries `at_moves`.
//
// Every sum gets its addends in the order of the micro-batches, as in the given program. So losses
// and gradients have the same bits.

#include <ashlar/step/pass.hpp>

namespace ashlar::search {
inline namespace step {

/// Says where turns end, besides at redistributions of activations, of their gradients and of
/// statistics.
///
///   at_gathers   before every element whose parameters are gathered
///   at_moves     before such an element, if both parts of the divided turn hide a redistribution:
///                the part before the element takes at least as long as the redistribution with
///                which the turn begins, and the other part takes at least as long as the
///                redistribution after the turn
enum class turn_ends : signed char { at_gathers, at_moves };

namespace step_detail {

class turns_pass {
 public:
  constexpr turns_pass(program const& p, int together, turn_ends ends)
      : p_(p), together_(static_cast<std::size_t>(together)), ends_(ends),
        own_(static_cast<std::size_t>(p.micro_batches)), gathers_(own_.size()),
        stands_for_(p.values.size(), 0) {
    for (std::size_t v = 0; v < stands_for_.size(); ++v) stands_for_[v] = static_cast<int>(v);
    for (auto const& a : unreleased(p.actions)) {
      auto const b = static_cast<std::size_t>(a.micro_batch);
      if (!repeats(a.phase)) once_.push_back(a);
      else if (a.move >= 0 && is_gather(p, p.move_of(a)))
        gathers_[b].push_back({own_[b].size(), a});
      else own_[b].push_back(a);
    }
  }

  /// Returns whether every micro-batch has the same actions.
  constexpr bool applies() const {
    for (auto const& list : own_) {
      if (list.size() != own_[0].size()) return false;
      for (std::size_t i = 0; i < list.size(); ++i)
        if (list[i].kind != own_[0][i].kind || list[i].element != own_[0][i].element) return false;
    }
    return true;
  }

  constexpr program run() {
    find_turns();
    std::size_t const turns = begins_.size() - 1, batches = own_.size();
    for (std::size_t first = 0; first < batches; first += together_) {
      std::size_t const end = end_of(first);
      drop_gathers(first, end);
      // If there is only one turn, micro-batches follow one another. Otherwise the last turn of a
      // group and the first turn of the next group are added together, below.
      std::size_t const from = first > 0 && turns > 1 ? 1 : 0;
      std::size_t const to = end < batches && turns > 1 ? turns - 1 : turns;
      for (std::size_t turn = from; turn < to; ++turn)
        for (std::size_t b = first; b < end; ++b) add(b, turn);
      if (to == turns) continue;
      drop_gathers(end, end_of(end));
      for (std::size_t k = 0; k < together_; ++k) {
        if (first + k < end) add(first + k, turns - 1);
        if (end + k < end_of(end)) add(end + k, 0);
      }
    }
    for (auto const& a : once_) made_.push_back(a);
    program changed = p_;
    changed.interleaved = static_cast<int>(together_);
    changed.actions = made_;
    return changed;
  }

 private:
  /// The begin or the end of a gather. It runs right before the action with index `before` in the
  /// list of its micro-batch's other actions (own_).
  struct gather {
    std::size_t before;
    action what;
  };

  constexpr std::size_t end_of(std::size_t first) const {
    return first + together_ < own_.size() ? first + together_ : own_.size();
  }

  /// Fills begins_ with the index of the first action of each turn, and appends the number of
  /// actions. A stage is a run of actions between two redistributions that communicate. If backward
  /// passes wait for all forward passes (waits_for_forwards), a stage also begins with them.
  constexpr void find_turns() {
    auto const& list = own_[0];
    std::size_t const n = list.size();
    work_.resize(n + 1, 0);
    computed_.resize(n + 1, 0);
    for (std::size_t i = 0; i < n; ++i) {
      work_[i + 1] = work_[i] + list[i].seconds;
      computed_[i + 1] = computed_[i] + (computes(list[i].kind) ? 1 : 0);
    }
    std::vector<std::size_t> stages{0};
    std::vector<double> arriving{0};  // seconds of the redistributions with which each stage begins
    for (std::size_t i = 0; i < n; ++i) {
      bool const moves = list[i].kind == action_kind::begin_move &&
                         !p_.path_of(p_.move_of(list[i])).is_local();
      bool const turns_back = p_.waits_for_forwards && i > 0 &&
                              list[i - 1].phase == phase::forward &&
                              list[i].phase != phase::forward;
      if (!moves && !turns_back) continue;
      if (computed_[i] > computed_[stages.back()]) {
        stages.push_back(i);
        arriving.push_back(0);
      }
      if (!moves) continue;
      arriving.back() += p_.path_of(p_.move_of(list[i])).seconds;
    }
    for (std::size_t s = 0; s < stages.size(); ++s) {
      bool const last = s + 1 == stages.size();
      divide(stages[s], last ? n : stages[s + 1], arriving[s], last ? 0 : arriving[s + 1]);
    }
    begins_.push_back(n);
  }

  /// Adds the turns into which gathers divide a stage: the actions from .. to - 1. The
  /// redistributions before and after the stage take `before` and `after` seconds.
  constexpr void divide(std::size_t from, std::size_t to, double before, double after) {
    auto const& list = own_[0];
    begins_.push_back(from);
    for (auto const& g : gathers_[0]) {
      if (g.before < from || g.before >= to) continue;
      std::size_t visit = g.before;  // where the computations of the same element begin
      while (visit > from && list[visit - 1].element == g.what.element &&
             list[visit - 1].phase == g.what.phase)
        --visit;
      std::size_t const last = begins_.back();
      bool const hides = (last > from || work_[visit] - work_[from] >= before) &&
                         work_[to] - work_[visit] >= after;
      if (computed_[visit] > computed_[last] && (hides || ends_ == turn_ends::at_gathers))
        begins_.push_back(visit);
    }
  }

  /// Drops gathers of a group, which consists of the micro-batches first .. end - 1. Keeps only the
  /// gathers of micro-batch `first`.
  constexpr void drop_gathers(std::size_t first, std::size_t end) {
    for (std::size_t b = first + 1; b < end; ++b) {
      for (std::size_t k = 0; k < gathers_[b].size(); ++k)
        stands_for_[result_of(gathers_[b][k])] = p_.move_of(gathers_[first][k].what).to;
      gathers_[b].clear();
    }
  }
  constexpr std::size_t result_of(gather const& g) const {
    return static_cast<std::size_t>(p_.move_of(g.what).to);
  }

  /// Adds a turn of micro-batch b.
  constexpr void add(std::size_t b, std::size_t turn) {
    std::size_t const from = begins_[turn], to = begins_[turn + 1];
    auto next = gathers_[b].begin();
    while (next != gathers_[b].end() && next->before < from) ++next;
    for (std::size_t i = from; i < to; ++i) {
      for (; next != gathers_[b].end() && next->before == i; ++next) made_.push_back(next->what);
      action a = own_[b][i];
      for (int& v : a.reads) v = stands_for_[static_cast<std::size_t>(v)];
      made_.push_back(a);
    }
  }

  program const& p_;
  std::size_t together_;
  turn_ends ends_;
  std::vector<std::vector<action>> own_;      // actions of each micro-batch, without gathers
  std::vector<std::vector<gather>> gathers_;  // gathers of each micro-batch
  // The actions that run once a step, and the actions of the new program.
  std::vector<action> once_, made_;
  std::vector<int> stands_for_;      // per value: the value that is read in its place
  std::vector<std::size_t> begins_;  // first action of each turn, then the number of actions
  std::vector<double> work_;         // seconds of the computations before each action
  std::vector<int> computed_;        // number of computations before each action
};

}  // namespace step_detail

/// Returns the program in which groups of `together` micro-batches take turns. Expects a program in
/// serial order (build.hpp), or one in which groups of `together` micro-batches take turns already.
/// In the result each redistribution still ends right after its begin. `limit` is the most memory
/// that a rank may use, in bytes; 0 means no limit. If the new program would exceed this limit, the
/// result contains the given program.
constexpr pass_result take_turns(program const& p, int together,
                                 turn_ends ends = turn_ends::at_gathers, std::int64_t limit = 0) {
  if (together < 2 || p.micro_batches < 2) return {p, false, "there is nothing to change"};
  if (!p.crossings.empty())
    return {p, false, "the schedule of a pipeline orders its micro-batches"};
  step_detail::turns_pass pass(p, together, ends);
  if (!pass.applies()) return {p, false, "its micro-batches have different actions"};
  return step_detail::finish_pass(p, pass.run(), limit);
}

}  // namespace step
}  // namespace ashlar::search
