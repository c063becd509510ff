// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes a lower bound of a plan's memory that is a sum over the elements of the chain (layers
// and ends of residual blocks). Because the bound is a sum, a Lagrangian dual can add it to the
// cost with a price per byte.
//
// The sum is the memory at one moment of the step, at which a certain element, here called
// "fullest", runs. It adds these bytes:
//
//   the fullest element     the bytes that it holds for the whole step + the bytes that it needs
//                           while it runs
//   elements before it      the bytes that they hold for the whole step + the bytes that they hold
//                           between their forward and backward passes. For elements in the same
//                           recomputed segment as the fullest element, the second term is instead
//                           all bytes saved for the backward pass, because the segment has been
//                           recomputed by then
//   elements after it       the bytes that they hold for the whole step
//
// The fullest element is found as follows. For each layer, this sum is computed as if that layer
// were the fullest element, but without the bytes held for the whole step. Each term takes its
// least value over the choices of its element. The layer with the largest sum is the fullest
// element.

#include <algorithm>

#include <ashlar/search/chain_model.hpp>

namespace ashlar::search {

template <int N>
class counted_memory {
 public:
  constexpr explicit counted_memory(chain_model<N> const& model)
      : elements_(static_cast<std::size_t>(model.size())) {
    auto const& net = model.net();
    auto const& again = model.again();
    int const n = model.size();
    int fullest = 0;
    std::int64_t most = -1, held = 0, front_of_segment = 0, saved = 0;
    for (int i = 0; i < n; ++i) {
      forward_runs const runs = net.runs(i, again.least);
      bool const once = net.runs(i, again.most) == forward_runs::once;
      counted_part const running = runs != forward_runs::once ? counted_part::again
                                   : once                     ? counted_part::once
                                                              : counted_part::either;
      if (runs == forward_runs::twice_from_here) front_of_segment = held, saved = 0;
      entry& own = elements_.data()[i];
      own.running = running;
      own.in_front = runs == forward_runs::once ? held : front_of_segment + saved;
      std::int64_t const needed = least(model, i, running);
      if (model.kind(i) == element_kind::layer && own.in_front + needed > most)
        fullest = i, most = own.in_front + needed;
      held += least(model, i, counted_part::held);
      saved += least(model, i, counted_part::saved);
    }
    bool const recomputed = net.runs(fullest, again.least) != forward_runs::once;
    for (int i = 0; i < n; ++i) {
      entry& own = elements_.data()[i];
      own.part = i > fullest                                            ? counted_part::none
                 : i == fullest                                         ? own.running
                 : recomputed && net[i].segment == net[fullest].segment ? counted_part::saved
                                                                        : counted_part::held;
      own.lasting = least(model, i, counted_part::none, true);
      own.counted = least(model, i, own.part, true);
      lasting_ += own.lasting;
      counted_ += own.counted;
    }
  }

  /// Returns which bytes of element i the sum counts. The bytes that the element holds for the
  /// whole step are always counted in addition.
  constexpr counted_part part(int i) const { return elements_.data()[i].part; }

  /// Returns the bytes of element i that the sum counts, for a choice with the memory `own`. The
  /// result includes the bytes that the element holds for the whole step.
  constexpr std::int64_t bytes(int i, element_bytes const& own) const {
    return own.lasting + counted_bytes(part(i), own);
  }

  /// Returns a lower bound of the bytes that every plan needs.
  constexpr std::int64_t least() const { return counted_; }

  /// Returns a lower bound of the bytes of every plan in which element i takes a choice with the
  /// memory `own`.
  constexpr std::int64_t least_with(int i, element_bytes const& own) const {
    entry const& it = elements_.data()[i];
    return std::max(counted_ - it.counted + bytes(i, own), lasting_ - it.lasting + own.lasting +
                                                               it.in_front +
                                                               counted_bytes(it.running, own));
  }

 private:
  struct entry {
    counted_part part = counted_part::none, running = counted_part::once;
    std::int64_t in_front = 0;  ///< least bytes that earlier elements hold while this element runs
    /// Least values over all choices of the element. `lasting`: bytes held for the whole step.
    /// `counted`: the result of bytes().
    std::int64_t lasting = 0, counted = 0;
  };

  static constexpr std::int64_t least(chain_model<N> const& model, int i, counted_part part,
                                      bool with_lasting = false) {
    std::int64_t found = -1;
    for (int j = 0; j < model.choices(i).size(); ++j) {
      auto const& own = model.memory(i, j);
      std::int64_t const bytes = counted_bytes(part, own) + (with_lasting ? own.lasting : 0);
      found = found < 0 || bytes < found ? bytes : found;
    }
    return found;
  }

  scratch<entry> elements_;
  std::int64_t lasting_ = 0, counted_ = 0;  ///< sums of entry::lasting and entry::counted
};

}  // namespace ashlar::search
