// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Says how much work a search below a memory limit may do, and which plans it looks for. A search
// that makes many plans, such as the search for pipelines, does less work for each plan than a
// search that makes a single plan. A watch (algorithm.hpp) observes a search and tells it when to
// end. watch_of_part lets the watch of a search observe a part of this search, too.

#include <cstdint>

#include <ashlar/plan/step_prices.hpp>

namespace ashlar::search {

class shared_moves;

struct search_effort {
  /// The maximum number of labels (partial plans, label_search.hpp) that a search makes. Making
  /// 20 million takes some seconds.
  std::int64_t labels = 20'000'000;
  /// Only plans of fewer seconds than this are of interest. If a search finds none, it may return a
  /// plan without choices. The seconds of that plan are then a lower bound of all plans, at most
  /// `known`.
  double known = unreachable;
  /// Tables of moves that several searches share (move_tables.hpp), or null.
  shared_moves* moves = nullptr;
};

namespace detail {

/// Returns the effort that a watch (within_memory.hpp, algorithm.hpp) states, or the default effort
/// if the watch states none.
template <class Watch>
constexpr search_effort effort_of(Watch const& watch) {
  if constexpr (requires { watch.effort; }) return watch.effort;
  else return {};
}

/// Reports the progress of a part of a search to the watch of the whole search. Such a part is, for
/// example, the search with one storage of a tied parameter. Lower bounds are not reported, because
/// they hold only for that part.
template <class Watch>
struct watch_of_part {
  Watch& watch;
  search_effort effort{};
  constexpr bool go_on() { return watch.go_on(); }
  constexpr bool improves(double weight) { return watch.improves(weight); }
  constexpr void raise_bound(double) {}
};

}  // namespace detail

}  // namespace ashlar::search
