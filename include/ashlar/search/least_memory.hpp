// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the path (one choice per element of the chain) of least memory, or any path that fits a
// memory limit. Time does not matter. Both searches use label_search.hpp, which can ignore time.
//
// A first search considers few choices, so that it finds a good path soon. It drops each choice
// that needs no less memory than another choice of the same element. But a dropped choice may have
// other placements at the boundaries, and these placements might save memory in neighbouring
// elements. So later searches drop a choice only if another choice with the same placements at the
// boundaries needs no more memory.

#include <limits>

#include <ashlar/search/label_search.hpp>
#include <ashlar/search/search_effort.hpp>

namespace ashlar::search::detail {

/// The least bytes per rank that a search found; -1 if it found no path that fits. If `complete` is
/// set, the search was exhaustive, so the result is proven.
struct least_memory_result {
  std::int64_t bytes = -1;
  bool complete = false;
};

/// The most labels (partial plans) that each of the later searches makes if it looks for the least
/// memory.
inline constexpr std::int64_t least_memory_effort = 500'000;

/// Returns the model without choices that another choice of the same element dominates: the other
/// choice needs no more memory of any kind. If `same_boundaries` is set, the other choice must also
/// have the same placements of x, y and their gradients.
template <int N>
constexpr chain_model<N> least_memory_choices(chain_model<N> const& model, bool same_boundaries) {
  chain_model<N> lean = model.in_use();
  for (int k = 0; k < lean.classes(); ++k)
    lean.restrict(k, undominated_in_memory(lean.class_at(k), {false, same_boundaries}));
  return lean;
}

/// Searches for any path (one choice per element) of at most `limit` bytes per rank. If `least` is
/// set, searches for the path of least memory among these. Writes the path into `choice`, which
/// stays unchanged if no path is found.
template <int N>
constexpr least_memory_result least_memory_path(chain_model<N> const& model, std::int64_t limit,
                                                bool least, scratch<int>& choice) {
  least_memory_result found;
  auto const look = [&](chain_model<N>& among, int width, std::int64_t effort) {
    counted_memory<N> const counted(among);
    label_search<N> labels(among, nullptr, 0, counted, limit, unreachable, width, effort);
    scratch<int> path(choice.size(), -1);
    labels.improve(path);
    if (path.data()[0] >= 0) {
      found.bytes = limit = chain_memory<N>(among).of(path);
      choice = model.path_from(among, path);
    }
    return labels.complete();
  };
  chain_model<N> few = least_memory_choices(model, false);
  std::int64_t const usual = search_effort{}.labels;
  look(few, label_beam, usual);
  chain_model<N> all = least_memory_choices(model, true);
  for (int const width : {label_beam, label_width})
    if (!found.complete && (least || found.bytes < 0))
      found.complete = look(all, width, least ? least_memory_effort : usual);
  return found;
}

/// Writes the path (one choice per element) of the least memory found into `choice` and returns its
/// memory.
template <int N>
constexpr least_memory_result least_memory(chain_model<N> const& model, scratch<int>& choice) {
  return least_memory_path(model, std::numeric_limits<std::int64_t>::max() / 2, true, choice);
}

}  // namespace ashlar::search::detail
