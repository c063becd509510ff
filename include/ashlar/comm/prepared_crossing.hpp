// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What a mesh keeps of a redistribution from one of its parts to another (cross_plan_cache.hpp): the
// plan, and this rank's messages of its crossing, in the order in which they begin.

#include <vector>

#include <ashlar/plan/cross_mesh_plan.hpp>

namespace ashlar {

struct prepared_crossing {
  cross_mesh_plan plan;
  std::vector<crossing_transfer> sends, receives;
};

}  // namespace ashlar
