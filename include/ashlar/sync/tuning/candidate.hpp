// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A point of the space of strategies that `tune` searches (strategy_space.hpp).

#include <vector>

#include <ashlar/step/bucket_rule.hpp>

namespace ashlar::sync {

/// A strategy for each parameter of a space, and how gradients are divided into buckets. `picks`
/// and `owners` have one entry for each parameter of the space.
struct candidate {
  std::vector<int> picks;   ///< the number of the parameter's strategy
  std::vector<int> owners;  ///< the rank that owns the parameter, or -1 if it has no owner
  search::bucket_rule division{};
  friend bool operator==(candidate const&, candidate const&) = default;
};

}  // namespace ashlar::sync
