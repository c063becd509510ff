// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A pass that lets redistributions of activations, of their gradients and of statistics overlap
// with computations.
//
//   begin_move        goes right after the action that makes its source
//   end_move          goes right before the first reader of its result
//   weight_gradient   goes after the input_gradient of its layer and micro-batch if dx must be
//                     redistributed, so that it overlaps with this redistribution
//
// These redistributions keep their places:
//
// - redistributions of parameters, which prefetch.hpp and early_synchronization.hpp handle
// - redistributions whose results no action reads
// - redistributions without communication
// - redistributions of values that exist before the step
//
// The redistribution of rows that a router sends to experts (layout/routing.hpp) can begin early
// too: the router's choices are redistributed before it, as a statistic. So every rank already
// knows how many rows each rank sends.

#include <utility>

#include <ashlar/step/pass.hpp>

namespace ashlar::search {
inline namespace step {

namespace step_detail {

class early_moves_pass {
 public:
  constexpr explicit early_moves_pass(program const& p)
      : p_(p), actions_(unreleased(p.actions)), begin_(p.moves.size(), -1),
        end_(p.moves.size(), -1), travels_(p.moves.size(), 0), is_read_(p.values.size(), 0),
        move_to_(p.values.size(), -1), moves_from_(p.values.size()) {
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      action const& a = actions_[i];
      if (a.kind == action_kind::begin_move)
        begin_[static_cast<std::size_t>(a.move)] = static_cast<int>(i);
      if (a.kind == action_kind::end_move)
        end_[static_cast<std::size_t>(a.move)] = static_cast<int>(i);
      for (int const v : a.reads) is_read_[static_cast<std::size_t>(v)] = true;
    }
    for (std::size_t k = 0; k < p.moves.size(); ++k) {
      auto const& m = p.moves[k];
      travels_[k] = m.what != moved::parameter && !p.path_of(m).is_local() &&
                    !p.value_of(m.from).is_given() && is_read_[static_cast<std::size_t>(m.to)];
      if (!travels_[k]) continue;
      move_to_[static_cast<std::size_t>(m.to)] = static_cast<int>(k);
      moves_from_[static_cast<std::size_t>(m.from)].push_back(static_cast<int>(k));
    }
  }

  constexpr program run() {
    put_input_gradients_first();
    for (int const i : order_) {
      action const& a = actions_[static_cast<std::size_t>(i)];
      if (a.move < 0 || !travels_[static_cast<std::size_t>(a.move)]) add(i);
    }
    program changed = p_;
    changed.actions = made_;
    return changed;
  }

 private:
  constexpr void add(int i) {
    action const& a = actions_[static_cast<std::size_t>(i)];
    for (int const v : a.reads)
      if (int const k = std::exchange(move_to_[static_cast<std::size_t>(v)], -1); k >= 0) {
        begin(k);  // it has begun already, unless its source is the result of another move
        add(end_[static_cast<std::size_t>(k)]);
      }
    made_.push_back(a);
    for (int const v : a.makes)
      for (int const k : moves_from_[static_cast<std::size_t>(v)]) begin(k);
  }
  constexpr void begin(int k) {
    int const at = std::exchange(begin_[static_cast<std::size_t>(k)], -1);
    if (at >= 0) add(at);
  }

  /// Fills order_ with the indices of the actions in their new order. If the input gradient of a
  /// layer and micro-batch must be redistributed, it is computed before the weight gradient.
  constexpr void put_input_gradients_first() {
    std::vector<int> waiting(
        static_cast<std::size_t>(p_.elements) * static_cast<std::size_t>(p_.micro_batches), -1);
    auto const of = [&](action const& a) -> int& {
      return waiting[static_cast<std::size_t>(a.micro_batch) *
                         static_cast<std::size_t>(p_.elements) +
                     static_cast<std::size_t>(a.element)];
    };
    std::vector<int> behind(actions_.size(), -1);
    std::vector<int> later(actions_.size(), 0);
    for (int i = 0; i < static_cast<int>(actions_.size()); ++i) {
      action const& a = actions_[static_cast<std::size_t>(i)];
      if (a.kind == action_kind::weight_gradient) of(a) = i;
      if (a.kind == action_kind::begin_move && p_.move_of(a).phase == phase::synchronize) {
        // This action reduces the gradients of the layer over the ranks, so they must be complete
        // here. So no weight gradient of the layer may be moved behind this action.
        for (int b = 0; b < p_.micro_batches; ++b) {
          action any = a;
          any.micro_batch = b;
          of(any) = -1;
        }
      }
      if (a.kind != action_kind::input_gradient || of(a) < 0 || !result_travels(a)) continue;
      behind[static_cast<std::size_t>(i)] = of(a);
      later[static_cast<std::size_t>(of(a))] = true;
    }
    for (int i = 0; i < static_cast<int>(actions_.size()); ++i) {
      if (later[static_cast<std::size_t>(i)]) continue;
      order_.push_back(i);
      if (behind[static_cast<std::size_t>(i)] >= 0)
        order_.push_back(behind[static_cast<std::size_t>(i)]);
    }
  }
  constexpr bool result_travels(action const& a) const {
    for (int const v : a.makes)
      if (!moves_from_[static_cast<std::size_t>(v)].empty()) return true;
    return false;
  }

  program const& p_;
  std::vector<action> actions_, made_;
  std::vector<int> order_;
  std::vector<int> begin_, end_;  // per move: indices of its begin_move and end_move in actions_
  std::vector<int> travels_, is_read_;
  std::vector<int> move_to_;  // per value: the move that makes it, or -1 once that move has ended
  std::vector<std::vector<int>> moves_from_;  // per value: the moves whose source it is
};

}  // namespace step_detail

/// Returns the program in which redistributions begin as soon as their sources exist. `limit` is
/// the most memory that a rank may use, in bytes; 0 means no limit. If the new program would exceed
/// this limit, the result contains the given program.
constexpr pass_result early_moves(program const& p, std::int64_t limit = 0) {
  return step_detail::finish_pass(p, step_detail::early_moves_pass(p).run(), limit);
}

}  // namespace step
}  // namespace ashlar::search
