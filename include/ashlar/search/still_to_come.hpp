// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes bounds of the memory that the later elements of a chain need in addition to the memory
// of the earlier elements (memory_so_far in step/memory_fold.hpp). The bounds hold for all choices
// of the later elements. label_search.hpp uses them to discard partial plans that cannot fit or
// that are dominated.

#include <algorithm>

#include <ashlar/search/chain_model.hpp>

namespace ashlar::search {

template <int N>
class still_to_come {
 public:
  /// Computes the bounds for all elements of the chain. The model must outlive this object, and its
  /// choices must not change.
  constexpr explicit still_to_come(chain_model<N> const& model)
      : model_(model), behind_(static_cast<std::size_t>(model.size())) {
    for (int i = model.size() - 1; i > 0; --i)
      behind_.data()[i - 1] = in_front(i, behind_.data()[i]);
  }

  /// Returns a lower bound of the bytes that all elements after element i hold for the whole step.
  constexpr std::int64_t lasting(int i) const { return behind_.data()[i].lasting; }

  /// Returns an upper bound of the bytes that are needed while an element after i synchronizes its
  /// gradients or renews its parameters. The bound also includes the gradients of the other
  /// elements after i that are already synchronized.
  constexpr std::int64_t synchronize(int i) const {
    return behind_.data()[i].synchronize + behind_.data()[i].renew;
  }

  /// Returns a lower bound of the peak memory of every complete plan that begins like a partial
  /// plan. `memory` is the memory of the partial plan, which ends with element i. The bound does
  /// not include the bytes that later elements hold for the whole step.
  constexpr std::int64_t least_of(memory_so_far const& memory, int i) const {
    auto const& later = behind_.data()[i];
    return std::max(
        {memory.peak, memory.forward + later.forward, memory.backward + later.backward});
  }

 private:
  /// The memory that all elements after some element of the chain need. Below, "the elements" are
  /// these later elements.
  struct needed {
    /// A lower bound of the bytes that the elements hold for the whole step.
    std::int64_t lasting = 0;
    /// A lower bound of the peak bytes of the elements, in addition to memory_so_far::forward (the
    /// bytes in memory when the first of them begins its forward pass).
    std::int64_t forward = 0;
    /// A lower bound of the peak bytes of the elements, up to the end of the current recomputed
    /// segment. These bytes come in addition to memory_so_far::backward: the bytes in memory when
    /// the backward pass of the element before them begins.
    std::int64_t backward = 0;
    /// An upper bound of the bytes that the elements need to synchronize their gradients, in
    /// addition to memory_so_far::synchronize.
    std::int64_t synchronize = 0;
    /// An upper bound of the bytes that one of the elements needs to renew its parameters.
    std::int64_t renew = 0;
  };

  /// Returns the memory needs of element i and all later elements. `here` are the memory needs of
  /// the later elements alone.
  constexpr needed in_front(int i, needed const& here) const {
    element_bytes low = model_.memory(i, 0);
    // The least bytes that element i needs while it runs, or -1 while unknown
    std::int64_t running = -1;
    needed all{here.lasting, 0, 0, 0, here.renew};
    forward_runs const runs = model_.net().runs(i, model_.recomputed());
    bool const back = !ends_in_sum(model_.net(), i) || i + 1 == model_.size();
    for (int j = 0; j < model_.choices(i).size(); ++j) {
      auto const& own = model_.memory(i, j);
      low.lasting = std::min(low.lasting, own.lasting);
      low.held = std::min(low.held, own.held);
      low.saved = std::min(low.saved, own.saved);
      low.forward = std::min(low.forward, own.forward);
      std::int64_t const forward = runs == forward_runs::once ? own.forward : own.again;
      std::int64_t const most = back ? std::max(forward, own.saved + own.backward) : forward;
      running = running < 0 || most < running ? most : running;
      all.synchronize = std::max(
          {all.synchronize, own.synchronize, own.gradients + here.synchronize});
      all.renew = std::max(all.renew, own.renew);
    }
    all.lasting += low.lasting;
    all.forward = std::max(low.forward, low.held + here.forward);
    std::int64_t const from_backward = std::max(running, low.saved + here.backward);
    if (runs == forward_runs::twice) all.backward = from_backward;
    else all.forward = std::max(all.forward, from_backward);
    return all;
  }

  chain_model<N> const& model_;
  scratch<needed> behind_;  ///< per element: the memory needs of the elements after it
};

}  // namespace ashlar::search
