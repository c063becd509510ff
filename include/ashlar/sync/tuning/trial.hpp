// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What `tune` remembers of the steps that it has measured. A log can contain trials of several
// clusters. Trials of the same space (net, mesh, layouts and machine) can be compared with each
// other, and `tune` does not repeat them. Trials of other spaces only train the ranker, by their
// features and their seconds. io/json/trial_file.hpp stores logs.

#include <array>
#include <cstdint>
#include <vector>

#include <ashlar/sync/tuning/candidate.hpp>
#include <ashlar/sync/tuning/influences.hpp>

namespace ashlar::sync {

/// The twelve totals of a candidate (strategy_features.hpp).
using strategy_totals = std::array<double, 12>;

/// A step that was measured.
struct trial {
  std::uint64_t space = 0;  ///< hash of the space (strategy_space::hash)
  double seconds = 0;       ///< measured seconds of a step
  double predicted = 0;     ///< seconds that the timeline has predicted
  influences slopes{};      ///< influences of the machine's figures on `predicted` (price.hpp)
  strategy_totals totals{};
  candidate strategy;
};

struct trial_log {
  std::uint64_t parameters = 0;  ///< parameters_hash of the net; 0 in an empty log
  std::vector<trial> trials;     ///< in the order in which they were measured
};

/// Returns the trials of a log that are of this space or, if `of_it` is false, those that are not.
inline std::vector<trial> trials_of(trial_log const& log, std::uint64_t space, bool of_it = true) {
  std::vector<trial> list;
  for (auto const& t : log.trials)
    if ((t.space == space) == of_it) list.push_back(t);
  return list;
}

}  // namespace ashlar::sync
