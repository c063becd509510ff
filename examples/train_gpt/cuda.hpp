// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// train_gpt on GPUs. The implementation is in cuda/ if the build has CUDA, otherwise in no_cuda/.

#pragma once

#include "options.hpp"

namespace example {

bool has_cuda();

/// Trains with one rank per GPU. The ranks are started by mpirun, torchrun or srun.
void run_on_cuda(options const& o, int& argc, char**& argv);

}  // namespace example
