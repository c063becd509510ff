// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// train_gpt on GPUs: cuda/ where the build has CUDA, no_cuda/ where it has none.

#pragma once

#include "options.hpp"

namespace example {

bool has_cuda();

/// Trains on a rank for each GPU, started by mpirun, torchrun or srun.
void run_on_cuda(options const& o, int& argc, char**& argv);

}  // namespace example
