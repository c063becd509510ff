// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Describes a pipeline, and which part of its mesh a program is for: the schedule, the cuts of the
// net into stages, and the parts of the mesh. From this description, build_stage.hpp makes the
// program of the part.

#include <algorithm>
#include <vector>

#include <ashlar/mesh/mesh_part.hpp>
#include <ashlar/step/pipeline/schedule.hpp>

namespace ashlar::search {
inline namespace step {

/// Returns the stage that holds an element. Stage s has the elements limits[s] to
/// limits[s + 1] - 1.
constexpr int stage_of_element(std::vector<int> const& limits, int element) {
  return static_cast<int>(std::upper_bound(limits.begin(), limits.end(), element) -
                          limits.begin()) -
         1;
}

struct pipeline_part {
  int position = 0;           ///< position of this part in the schedule
  pipelines::schedule order;  ///< an order without faults (pipeline/check.hpp)
  std::vector<int> limits;    ///< the first element of each stage, then the number of all elements
  topology whole;             ///< the mesh of all parts
  std::vector<mesh_part> parts;  ///< the parts of the mesh, by position; all have the same axes
  /// Says whether receives begin earlier than in the common order (build_stage.hpp). On a device
  /// they do not, because a device carries out all crossings of a rank one after the other, so
  /// crossings must begin in the common order.
  bool receives_ahead = true;

  constexpr int stages() const { return order.stages(); }
  constexpr int first_of(int stage) const { return limits[static_cast<std::size_t>(stage)]; }
  /// Returns the index after that of the stage's last element.
  constexpr int last_of(int stage) const { return limits[static_cast<std::size_t>(stage) + 1]; }
  constexpr mesh_part const& part_of(int stage) const {
    return parts[static_cast<std::size_t>(order.position_of(stage))];
  }
  /// Returns the position of the part that holds an element.
  constexpr int position_of_element(int element) const {
    return order.position_of(stage_of_element(limits, element));
  }
};

}  // namespace step
}  // namespace ashlar::search
