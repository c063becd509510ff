// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What the ranks of one part of a mesh run of a pipeline: the schedule, the cuts of the net, and
// the parts. build_stage.hpp makes the program of the part from it.

#include <vector>

#include <ashlar/mesh/mesh_part.hpp>
#include <ashlar/step/pipeline/schedule.hpp>

namespace ashlar::search {
inline namespace step {

struct pipeline_part {
  int position = 0;           ///< of this part in the schedule
  pipelines::schedule order;  ///< without faults (pipeline/check.hpp)
  std::vector<int> limits;    ///< the first element of each stage, then the number of all elements
  topology whole;             ///< the mesh of all parts
  std::vector<mesh_part> parts;  ///< by position, all of the same axes
  /// Whether receives begin one transfer ahead (build_stage.hpp). A device carries out all crossings
  /// of a rank one after the other, so there they begin in the common order.
  bool receives_ahead = true;

  constexpr int stages() const { return order.stages(); }
  constexpr int first_of(int stage) const { return limits[static_cast<std::size_t>(stage)]; }
  constexpr int last_of(int stage) const { return limits[static_cast<std::size_t>(stage) + 1]; }
  constexpr mesh_part const& part_of(int stage) const {
    return parts[static_cast<std::size_t>(order.position_of(stage))];
  }
};

}  // namespace step
}  // namespace ashlar::search
