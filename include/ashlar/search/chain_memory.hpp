// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The memory of a plan whose choices are those of a chain_model, added element by element or for
// all elements at once (step/memory_fold.hpp). The number of recomputed segments is that of the
// model.

#include <ashlar/search/chain_model.hpp>

namespace ashlar::search {

template <int N>
class chain_memory {
 public:
  /// The model must outlive this object.
  constexpr explicit chain_memory(chain_model<N> const& model)
      : model_(model), fold_(model.net(), model.recomputed(), model.mesh().ranks()) {}

  /// Returns the memory after element i is added. `before` is the memory of the elements before it.
  /// The element has choice `own`, the previous one `left`, and the enclosing residual `outer`. For
  /// a residual's end, `outside` is the result of outside_of for its begin.
  constexpr memory_so_far next(memory_so_far const& before, int i, int left, int own, int outer,
                               held_by_residuals const& outside) const {
    element_bytes const* const in_front = i > 0 ? &model_.memory(i - 1, left) : nullptr;
    return fold_.next(before, i, in_front, model_.memory(i, own), moves(i, left, own),
                      gradient_held(i, own, outer), outside);
  }

  /// Returns the argument `outside` of next() for a residual's end. `before` and `behind` are the
  /// bytes that residuals hold before and after its begin.
  static constexpr held_by_residuals outside_of(held_by_residuals const& before,
                                                held_by_residuals const& behind) {
    return memory_fold<N>::outside_of(before, behind);
  }

  /// Returns the peak of the step. `memory` is the result of next() for the last element, which has
  /// choice `last`.
  constexpr std::int64_t whole(memory_so_far const& memory, int last) const {
    return fold_.whole(memory, model_.memory(model_.size() - 1, last));
  }

  /// Returns the memory of the plan in which element i has choice number choice[i].
  constexpr std::int64_t of(scratch<int> const& choice) const {
    // The memory figures of a residual assume that its neighbours see its own extents. If they do
    // not (`plain` is false), the memory is computed from the plan instead.
    for (int i = 0; i < model_.size(); ++i)
      if (!model_.choices(i).plain) return memory_per_rank(model_.net(), model_.plan_of(choice));
    return fold_memory(
        model_.net(), model_.recomputed(), model_.mesh().ranks(),
        [&](int i) -> element_bytes const& { return model_.memory(i, choice.data()[i]); },
        [&](int i) { return moves(i, i > 0 ? choice.data()[i - 1] : 0, choice.data()[i]); });
  }

 private:
  /// Returns which of the two tensors of the boundary before element i change their placement.
  constexpr crossing moves(int i, int left, int own) const {
    layer_choice const& c = model_.choices(i).choices.data()[own];
    if (i == 0) return {!(c.x == placement::all_broadcast(c.x.axes())), false};
    layer_choice const& b = model_.choices(i - 1).choices.data()[left];
    return {!(b.y == c.x), !(c.dx == b.dy)};
  }

  /// Returns the bytes of the gradient that the end of a residual holds for its begin, element i; 0
  /// for other elements.
  constexpr std::int64_t gradient_held(int i, int own, int outer) const {
    if (model_.kind(i) != element_kind::residual_begin) return 0;
    int const end = model_.partner(i);
    bool const shared = end + 1 < model_.size() &&
                        model_.kind(end + 1) == element_kind::residual_end &&
                        !moves(end + 1, own, outer).gradient;
    return fold_.held_gradient(end, model_.memory(end, own), shared);
  }

  chain_model<N> const& model_;
  memory_fold<N> fold_;
};

}  // namespace ashlar::search
