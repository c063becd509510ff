// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts the steps of redistribution plans by kind. Property tests use it to show which kinds of
// steps their random cases cover.

#include <array>
#include <string>

#include <ashlar/plan/redistribution.hpp>

namespace ashlar_test {

class step_census {
 public:
  static constexpr int kinds = 7;

  void add(ashlar::redistribution_plan const& plan, ashlar::topology const& t) {
    for (auto const& s : plan.steps) {
      auto const kind = static_cast<std::size_t>(s.kind);
      ++steps_[kind];
      if (t.group_size(s.axes) > 1 && plan.extents.elements() > 0) ++among_ranks_[kind];
      if (s.kind == ashlar::collective::permute && !is_pairwise(s, t)) ++uneven_permutes_;
      if (s.axes.size() > 1) ++fused_;
    }
    longest_ = std::max(longest_, plan.steps.size());
  }

  int steps(ashlar::collective kind) const { return steps_[static_cast<std::size_t>(kind)]; }
  /// Returns the number of steps of the given kind that move data in groups of at least two ranks.
  int among_ranks(ashlar::collective kind) const {
    return among_ranks_[static_cast<std::size_t>(kind)];
  }

  std::string text() const {
    std::string line = "steps (of them among ranks):";
    for (std::size_t k = 0; k < kinds; ++k)
      line += " " + std::string(to_string(static_cast<ashlar::collective>(k))) + " " +
              std::to_string(steps_[k]) + " (" + std::to_string(among_ranks_[k]) + "),";
    return line + " fused " + std::to_string(fused_) + ", permutes that do not pair " +
           std::to_string(uneven_permutes_) + ", longest plan " + std::to_string(longest_);
  }

 private:
  std::array<int, kinds> steps_{}, among_ranks_{};
  int fused_ = 0, uneven_permutes_ = 0, longest_ = 0;
};

}  // namespace ashlar_test
