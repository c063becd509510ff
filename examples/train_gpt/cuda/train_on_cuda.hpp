// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The functions that train on GPUs, one for each type of activations. Each of them is compiled in
// its own source file.

#pragma once

#include <ashlar/comm/nccl/backend.hpp>

#include "../train.hpp"

namespace example {

void train_float(options const& o, ashlar::nccl::mesh const& mesh, peak const& limit);
void train_bfloat16(options const& o, ashlar::nccl::mesh const& mesh, peak const& limit);

}  // namespace example
