// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compiles the executor that runs the program of a training step on the host.

#define ASHLAR_COMPILES_NN 1
#include <ashlar/nn/executor.hpp>

template class ashlar::nn::executor<ashlar::device::host::processor>;
