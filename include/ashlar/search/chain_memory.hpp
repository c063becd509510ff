// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the memory of a plan whose choices are taken from a chain_model. A search can add the
// elements of the chain one by one, or compute the whole chain at once (step/memory_fold.hpp). The
// number of recomputed segments comes from the model.

#include <ashlar/search/chain_model.hpp>

namespace ashlar::search {

/// What surrounds a sequence of elements inside a residual block, or inside one net of a branch.
struct enclosing {
  /// The choice of the element right after the sequence: the end of the block, or the turn or the
  /// end of the branch. -1 if nothing surrounds the sequence.
  int choice = -1;
  /// The element after the sequence passes a gradient unchanged to the sequence. `counts` says
  /// whether the surrounding block or branch, or one further out, keeps this gradient and counts
  /// its bytes.
  bool counts = false;
};

/// The element in front of another one: its memory, and its placements. Both pointers are null if
/// there is no such element.
struct element_in_front {
  element_bytes const* bytes = nullptr;
  layer_choice const* choice = nullptr;
};

template <int N>
class chain_memory {
 public:
  /// The model must outlive this object.
  constexpr explicit chain_memory(chain_model<N> const& model)
      : model_(model), fold_(model.net(), model.recomputed(), model.mesh().ranks()) {}

  /// Returns element i with choice number `own`, as the element in front of element i + 1. For
  /// i = -1, both pointers of the result are null. Expects that element i is not the turn of a
  /// branch.
  constexpr element_in_front at(int i, int own) const {
    if (i < 0) return {};
    return {&model_.memory(i, own), &model_.choices(i).choices.data()[own]};
  }

  /// Adds element i to a partial plan, which has the elements before i, and returns the memory of
  /// the result.
  ///   before    the memory of the elements before i
  ///   left      element i - 1
  ///   own       the choice of element i
  ///   around    what surrounds element i
  ///   outside   if element i ends a residual block: the result of outside_of() for the begin of
  ///             this block
  constexpr memory_so_far next(memory_so_far const& before, int i, element_in_front const& left,
                               int own, enclosing const& around,
                               held_by_residuals const& outside) const {
    return fold_.next(before, i, left.bytes, model_.memory(i, own), moves(i, left, own),
                      gradient_held(i, own, around), outside);
  }

  /// Adds element i of a branch: its begin, its turn or its end. `bytes` is the memory of the
  /// element. `branch` holds what is known of the branch (memory_fold::next_of_branch). For the
  /// turn, `own` is the choice of the branch's end.
  constexpr memory_so_far next_of_branch(memory_so_far const& before, int i,
                                         element_in_front const& left, element_bytes const& bytes,
                                         int own, branch_so_far& branch) const {
    return fold_.next_of_branch(before, i, left.bytes, bytes, moves(i, left, own), branch);
  }

  /// Returns the memory of the turn of the branch that begins at element `begin` with choice r and
  /// ends with choice s. Writes the placements of the turn into `choice`.
  constexpr element_bytes turn_of(int begin, int r, int s, layer_choice& choice) const {
    auto const& net = model_.net();
    int const turn = model_.partner(begin), again = model_.recomputed();
    choice = turn_between(model_.choices(begin).choices.data()[r],
                          model_.choices(turn).choices.data()[s]);
    element_role const role{element_kind::branch_turn, x_extents(net, turn), y_extents(net, turn),
                            net.runs(turn, again), part_held(net, turn, again)};
    return memory_of(net, net.spec(turn), role, choice, model_.mesh());
  }

  /// Sets two members of a branch that concern the gradient of the first net's output, which waits
  /// while the second net runs: `of_first` is its bytes, and `is_shared` says whether a residual
  /// around the branch counts them. The branch begins at element `begin`, and its end takes choice
  /// s. `around` says what surrounds the branch.
  constexpr void set_gradient_of_first(branch_so_far& branch, int begin, int s,
                                       enclosing const& around) const {
    int const end = model_.end(begin);
    branch.of_first = fold_.held_gradient(end, model_.memory(end, s), false);
    branch.is_shared = shares_gradient(end, s, around);
  }

  /// Returns what next() takes as `outside` for the end of a residual block: the bytes that the
  /// blocks around this block keep in memory after its end. `before` and `behind` are the members
  /// `residuals` of two results of next(): of the result for the element before the block's begin,
  /// and of the result for the begin itself. If the begin adds no bytes of the forward pass,
  /// `forward` of the result is -1. This value makes next() leave `residuals.forward` as it is.
  static constexpr held_by_residuals outside_of(held_by_residuals const& before,
                                                held_by_residuals const& behind) {
    return memory_fold<N>::outside_of(before, behind);
  }

  /// Returns the peak memory of a step, in bytes per rank. `memory` is the result of next() for the
  /// last element of the chain, and `last` is that element's choice.
  constexpr std::int64_t whole(memory_so_far const& memory, int last) const {
    return fold_.whole(memory, model_.memory(model_.size() - 1, last));
  }

  /// Returns the memory of the plan in which element i has choice number choice[i].
  constexpr std::int64_t of(scratch<int> const& choice) const {
    // In two cases the model's memory figures do not suffice. If the net has branches, the memory
    // of a turn depends on both ends of its branch. And neighbours of a residual block may view its
    // input or output with other extents. In both cases `plain` is false for some element, and the
    // memory is computed from the complete plan.
    for (int i = 0; i < model_.size(); ++i)
      if (!model_.choices(i).plain) return memory_per_rank(model_.net(), model_.plan_of(choice));
    return fold_memory(
        model_.net(), model_.recomputed(), model_.mesh().ranks(),
        [&](int i) -> element_bytes const& { return model_.memory(i, choice.data()[i]); },
        [&](int i) {
          return moves(i, at(i - 1, i > 0 ? choice.data()[i - 1] : 0), choice.data()[i]);
        });
  }

 private:
  /// Returns which tensors, the activation or its gradient, need a move at the boundary before
  /// element i. Element i has choice number `own`.
  constexpr crossing moves(int i, element_in_front const& left, int own) const {
    layer_choice const& c = model_.choices(i).choices.data()[own];
    if (i == 0) return {!(c.x == placement::all_broadcast(c.x.axes())), false};
    return {!(left.choice->y == c.x), !(c.dx == left.choice->dy)};
  }

  /// Element `end` ends a block or branch and keeps a gradient. Returns whether a surrounding block
  /// or branch already keeps and counts this gradient (shares_gradient in step/memory_fold.hpp).
  constexpr bool shares_gradient(int end, int own, enclosing const& around) const {
    if (!around.counts || end + 1 == model_.size() || !ends_in_sum(model_.net(), end)) return false;
    auto const next = model_.kind(end + 1);
    bool const ends = next == element_kind::residual_end || next == element_kind::branch_turn ||
                      ends_branch(next);
    return ends && !moves(end + 1, at(end, own), around.choice).gradient;
  }

  /// The backward pass of a residual block holds a gradient from the block's end until it reaches
  /// the begin. Returns the bytes of this gradient for the block that begins at element i, or 0 if
  /// no block begins there.
  constexpr std::int64_t gradient_held(int i, int own, enclosing const& around) const {
    if (model_.kind(i) != element_kind::residual_begin) return 0;
    int const end = model_.partner(i);
    return fold_.held_gradient(end, model_.memory(end, own), shares_gradient(end, own, around));
  }

  chain_model<N> const& model_;
  memory_fold<N> fold_;
};

}  // namespace ashlar::search
