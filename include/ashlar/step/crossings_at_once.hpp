// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Changes the program of a pipeline's part so that no send or receive goes on while the part
// computes: each ends right after its begin. The programs of build_stage.hpp begin receives ahead.
// If a part waited for the tensor at that early place, it might wait forever, since the sender may
// first need a tensor of this part. So each receive moves to a later place, right before
//
//   - the part's next transfer in the common order of all parts (pipeline/lower.hpp), or
//   - the pass that reads the received tensor, if this pass comes first.
//
// The transfers of each part then are in the common order, so the parts never wait in a circle.

#include <ashlar/config.hpp>
#include <ashlar/step/program.hpp>

namespace ashlar::search {
inline namespace step {

/// Returns the program in which every send and every receive ends right after its begin.
ASHLAR_INLINE program with_crossings_at_once(program p);

}  // namespace step
}  // namespace ashlar::search

#if ASHLAR_DEFINES(STEP)
#include <algorithm>
#include <vector>

#include <ashlar/step/release.hpp>

namespace ashlar::search {
inline namespace step {

ASHLAR_INLINE program with_crossings_at_once(program p) {
  std::vector<action> ends(p.crossings.size()), ordered, waiting;
  for (auto const& a : p.actions)
    if (a.kind == action_kind::end_send || a.kind == action_kind::end_receive)
      ends.data()[a.crossing] = a;
  auto const receive_up_to = [&](int number) {
    std::sort(waiting.begin(), waiting.end(), [&](action const& a, action const& b) {
      return p.crossing_of(a).number < p.crossing_of(b).number;
    });
    std::size_t k = 0;
    for (; k < waiting.size() && p.crossing_of(waiting.data()[k]).number <= number; ++k) {
      ordered.push_back(waiting.data()[k]);
      ordered.push_back(ends.data()[waiting.data()[k].crossing]);
    }
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(k));
  };
  for (auto const& a : p.actions) {
    switch (a.kind) {
      case action_kind::end_send: break;
      case action_kind::begin_receive: waiting.push_back(a); break;
      case action_kind::end_receive: receive_up_to(p.crossing_of(a).number); break;
      case action_kind::begin_send:
        receive_up_to(p.crossing_of(a).number);
        ordered.push_back(a);
        ordered.push_back(ends.data()[a.crossing]);
        break;
      default: ordered.push_back(a);
    }
  }
  p.actions = static_cast<std::vector<action>&&>(ordered);
  return with_releases(p);
}

}  // namespace step
}  // namespace ashlar::search
#endif
