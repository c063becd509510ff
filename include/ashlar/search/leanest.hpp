// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The choices of least memory, and choices that fit a limit, whatever they cost: label_search.hpp without
// weights, on the choices that memory leaves over. First with few labels per choice, which finds a good
// path soon; then with many, below what that path needs.

#include <limits>

#include <ashlar/search/label_search.hpp>

namespace ashlar::search::detail {

/// The model without choices that need no less memory than another one with the same boundaries.
template <int N>
constexpr chain_model<N> leanest_choices(chain_model<N> const& model) {
  chain_model<N> lean = model.in_use();
  for (int k = 0; k < lean.classes(); ++k)
    lean.restrict(k, undominated_in_memory(lean.class_at(k), false));
  return lean;
}

/// Looks for a path of at most `limit` bytes, of the least bytes if `least`, and writes it into `choice`.
/// Returns its bytes; -1: there is none.
template <int N>
constexpr std::int64_t lean_path(chain_model<N> const& model, std::int64_t limit, bool least,
                                 scratch<int>& choice) {
  chain_model<N> lean = leanest_choices(model);
  counted_memory<N> const counted(lean);
  scratch<int> path(choice.size(), -1);
  std::int64_t found = -1;
  for (int const width : {label_beam, label_width}) {
    label_search<N> labels(lean, nullptr, 0, counted, limit, unreachable, width,
                           width == label_beam ? std::numeric_limits<std::int64_t>::max()
                                               : label_effort);
    labels.improve(path);
    if (path.data()[0] >= 0) found = limit = lean.memory(path);
    if (labels.complete() || (found >= 0 && !least)) break;
  }
  for (int i = 0; i < model.size() && found >= 0; ++i)
    choice.data()[i] = model.find(i, lean.choices(i).choices.data()[path.data()[i]]);
  return found;
}

/// The choices of least memory, and that memory.
template <int N>
constexpr std::int64_t leanest(chain_model<N> const& model, scratch<int>& choice) {
  return lean_path(model, std::numeric_limits<std::int64_t>::max() / 2, true, choice);
}

}  // namespace ashlar::search::detail
