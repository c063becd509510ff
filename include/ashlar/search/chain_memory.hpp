// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the memory of a plan whose choices are taken from a chain_model. A search can add the
// elements of the chain one by one, or compute the whole chain at once (step/memory_fold.hpp). The
// number of recomputed segments comes from the model.

#include <ashlar/search/chain_model.hpp>

namespace ashlar::search {

template <int N>
class chain_memory {
 public:
  /// The model must outlive this object.
  constexpr explicit chain_memory(chain_model<N> const& model)
      : model_(model), fold_(model.net(), model.recomputed(), model.mesh().ranks()) {}

  /// Adds element i to a partial plan, which has the elements before i, and returns the memory of
  /// the result.
  ///   before    the memory of the elements before i
  ///   left      the choice of element i - 1
  ///   own       the choice of element i
  ///   outer     the choice of the residual block that encloses element i; 0 if there is none
  ///   outside   if element i ends a residual block: the result of outside_of() for the begin of
  ///             this block
  constexpr memory_so_far next(memory_so_far const& before, int i, int left, int own, int outer,
                               held_by_residuals const& outside) const {
    element_bytes const* const in_front = i > 0 ? &model_.memory(i - 1, left) : nullptr;
    return fold_.next(before, i, in_front, model_.memory(i, own), moves(i, left, own),
                      gradient_held(i, own, outer), outside);
  }

  /// Returns what next() takes as `outside` for the end of a residual block: the bytes that stay in
  /// memory for the blocks around this one when this one ends. `before` and `behind` are the
  /// members `residuals` of two results of next(): of the element before the block's begin, and of
  /// the begin itself. If the begin adds no bytes of the forward pass, `forward` of the result is
  /// -1, and next() then leaves these bytes as they are.
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
    // The model's memory figures are valid only if the neighbours of each residual block view the
    // block's input with the same extents as the block. If they do not (`plain` is false), the
    // memory is computed from the complete plan.
    for (int i = 0; i < model_.size(); ++i)
      if (!model_.choices(i).plain) return memory_per_rank(model_.net(), model_.plan_of(choice));
    return fold_memory(
        model_.net(), model_.recomputed(), model_.mesh().ranks(),
        [&](int i) -> element_bytes const& { return model_.memory(i, choice.data()[i]); },
        [&](int i) { return moves(i, i > 0 ? choice.data()[i - 1] : 0, choice.data()[i]); });
  }

 private:
  /// Returns whether the activation and its gradient need a move at the boundary before element i.
  /// `left` and `own` are the choices of elements i - 1 and i.
  constexpr crossing moves(int i, int left, int own) const {
    layer_choice const& c = model_.choices(i).choices.data()[own];
    if (i == 0) return {!(c.x == placement::all_broadcast(c.x.axes())), false};
    layer_choice const& b = model_.choices(i - 1).choices.data()[left];
    return {!(b.y == c.x), !(c.dx == b.dy)};
  }

  /// In the backward pass, a residual block holds a gradient from its end to its begin. Returns the
  /// bytes of this gradient for the block that begins at element i, or 0 if no block begins there.
  constexpr std::int64_t gradient_held(int i, int own, int outer) const {
    if (model_.kind(i) != element_kind::residual_begin) return 0;
    int const end = model_.partner(i);
    bool const shared = end + 1 < model_.size() && ends_in_sum(model_.net(), end + 1) &&
                        !moves(end + 1, own, outer).gradient;
    return fold_.held_gradient(end, model_.memory(end, own), shared);
  }

  chain_model<N> const& model_;
  memory_fold<N> fold_;
};

}  // namespace ashlar::search
