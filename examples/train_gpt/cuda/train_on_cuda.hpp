// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// train() on GPUs, by the type of activations. Each function is compiled in a file of its own.

#pragma once

#include <ashlar/comm/nccl/backend.hpp>

#include "../train.hpp"

namespace example {

void train_float(options const& o, ashlar::nccl::mesh const& mesh, peak const& limit);
void train_bfloat16(options const& o, ashlar::nccl::mesh const& mesh, peak const& limit);

}  // namespace example
