// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The choices of one layer as numbers: what each costs and keeps, and the states of its boundaries.
// Elements of a chain that have the same layer and the same permitted choices share one class.

#include <ashlar/search/choices.hpp>
#include <ashlar/search/cost.hpp>

namespace ashlar::search {

/// A filter that permits every choice.
struct any_choice {
  constexpr bool operator()(int, layer_choice const&) const { return true; }
};

/// Whether memory is part of what is optimized, so that choices may only be dropped in favour of
/// ones that need no more of it; `keep_all` drops none.
enum class pruning : signed char { by_time, by_time_and_memory, keep_all };

/// Weight of one collective against seconds: 1e-12 of a lower bound of the step's seconds, so that
/// all ties of a plan together cannot hide a relative difference of 1e-9.
template <int N>
constexpr double tie_weight(basic_problem<N> const& net, topology const& t, machine const& m) {
  double work = 0;
  for (int i = 0; i < net.size(); ++i) work += whole_work_seconds(net.spec(i), m, net.element_size);
  double const bound = net.micro_batches * work / t.ranks();
  return bound > 0 ? 1e-12 * bound : 1e-18;
}

/// The entries that are to be kept, `n` of them.
template <class T>
constexpr scratch<T> kept_of(scratch<T> const& list, scratch<char> const& keep, std::size_t n) {
  scratch<T> result(n);
  T* out = result.data();
  for (std::size_t j = 0; j < list.size(); ++j)
    if (keep.data()[j]) *out++ = list.data()[j];
  return result;
}

/// The choices of one layer, priced.
struct choice_class {
  int layer = 0;               ///< of a residual: of its begin
  int end = -1;                ///< of a residual: the layer of its end
  shape x_extents, y_extents;  ///< as its boundaries see them
  bool plain = true;           ///< false for a residual whose neighbours see other extents
  forward_runs runs = forward_runs::once;
  saved_parts saved;
  std::vector<layer_choice> choices;
  scratch<double> weight;  ///< per choice; of a residual: of its two ends
  scratch<element_memory> memory;
  scratch<int> x, y, dy, dx;  ///< states of the boundaries in the graphs of those extents

  constexpr int size() const { return static_cast<int>(choices.size()); }

  /// Whether it is that of an element of which all this is so.
  constexpr bool is_of(int layer_of_it, int end_of_it, shape const& its_x, shape const& its_y,
                       bool is_plain, forward_runs its_runs, saved_parts const& its_saved) const {
    return layer == layer_of_it && end == end_of_it && plain == is_plain && runs == its_runs &&
           saved == its_saved && x_extents == its_x && y_extents == its_y;
  }

  /// Leaves out what is not to be kept; whether that is anything.
  constexpr bool restrict(scratch<char> const& keep) {
    int n = 0;
    for (int j = 0; j < size(); ++j)
      if (keep.data()[j]) choices.data()[n++] = choices.data()[j];
    if (n == size()) return false;
    choices.resize(static_cast<std::size_t>(n));
    keep_numbers(keep);
    return true;
  }

  /// The same of the numbers alone.
  constexpr void keep_numbers(scratch<char> const& keep) {
    std::size_t n = 0;
    for (char const kept : keep) n += kept != 0;
    weight = kept_of(weight, keep, n);
    memory = kept_of(memory, keep, n);
    for (auto* states : {&x, &y, &dy, &dx}) *states = kept_of(*states, keep, n);
  }
};

}  // namespace ashlar::search
