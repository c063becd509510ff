// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The plan of a redistribution from one part of a mesh to another, as data: steps on the source,
// one crossing (crossing/crossing.hpp), steps on the target. cross_mesh.hpp makes it.

#include <ashlar/plan/crossing/crossing.hpp>
#include <ashlar/plan/redistribution.hpp>

namespace ashlar {

struct cross_mesh_plan {
  mesh_part source, target;
  redistribution_plan before, after;  ///< the steps on the source and on the target
  crossing across;                    ///< the crossing from placement before.to to after.from
  double seconds = 0;

  friend constexpr bool operator==(cross_mesh_plan const&, cross_mesh_plan const&) = default;
};

}  // namespace ashlar
