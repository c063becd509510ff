// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which redistributions are measured, on which meshes, and the MPI programs beside each.
//
//   mesh of a case     2 ranks   4 ranks   8 ranks
//   line               2         4         8
//   grid               -         2x2       2x4
//   square             -         2x2       2x2x2, the third axis B on both sides
//
// Where several programs are listed, the fastest of them is what the case is compared with.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ashlar/ashlar.hpp>

#include "../support/extents.hpp"
#include "../support/trials.hpp"
#include "bare.hpp"

namespace ashlar_bench {

struct named_program {
  std::string name;
  std::vector<bare_stage> stages;
};

/// Our own contestants: `x` is filled, `result` is looked at.
struct subject {
  double* input = nullptr;
  std::function<void()> run, run_typed;
  std::function<double const*()> result, typed_result;
  std::shared_ptr<void> keep;
};

struct redistribution_case {
  std::string name;
  std::string group;  ///< "step" or "plan"
  ashlar::topology mesh;
  int rank = 2;
  ashlar::placement from, to;
  std::vector<named_program> programs;
  std::function<subject(ashlar::mesh const&, ashlar::shape const&)> make;
};

/// The cases of a run on `ranks` ranks: 2, 4 or 8.
std::vector<redistribution_case> all_cases(int ranks);

}  // namespace ashlar_bench
