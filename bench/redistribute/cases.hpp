// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Lists the redistributions that bench/redistribute measures, their meshes, and the MPI programs
// with which the redistributions are compared. The extents of the meshes:
//
//   mesh of a case     2 ranks   4 ranks   8 ranks
//   line               2         4         8
//   grid               -         2x2       2x4
//   square             -         2x2       2x2x2, with B on the third axis before and after
//
// If a case lists several programs, the library is compared with the fastest program.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ashlar/tensor.hpp>

#include "../support/extents.hpp"
#include "../support/trials.hpp"
#include "bare.hpp"

namespace ashlar_bench {

struct named_program {
  std::string name;
  std::vector<bare_stage> stages;
};

/// The library's own contestants for one case. The caller fills `input`, calls run() or
/// run_typed(), and checks result() or typed_result(). `keep` owns the tensors.
struct subject {
  double* input = nullptr;
  std::function<void()> run, run_typed;
  std::function<double const*()> result, typed_result;
  std::shared_ptr<void> keep;
};

struct redistribution_case {
  std::string name;
  /// "step" for a single step on a line or square, "plan" for a redistribution on the grid.
  std::string group;
  ashlar::topology mesh;
  int rank = 2;
  ashlar::placement from, to;
  std::vector<named_program> programs;
  std::function<subject(ashlar::mesh const&, ashlar::shape const&)> make;
};

/// Returns the cases for 2, 4 or 8 ranks.
std::vector<redistribution_case> all_cases(int ranks);

}  // namespace ashlar_bench
