// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The operators of tensors on ranks with a device each, against the host's kernels on the whole arrays: on a
// device (tests/cuda) and on one that is played (tests/cuda/fake), compiled once for both. Each function is
// one rank's part. The rules, of which placements an operator takes and what it refuses, are tested on the
// host's meshes: they are the same code. Here a refusal is passed over, and there must be enough that are
// none.
//
//   values             small integers, partial ones split unevenly: sums and products are exact
//   exact              + - * scale relu max min sums transpose matmul
//   within 1e-5        gelu, softmax (of bfloat16 8e-3: it is rounded once on either side)

#include <ashlar/comm/nccl/backend.hpp>

namespace ashlar_test {

using device_mesh = ashlar::nccl::mesh;

/// Operators of one and of two tensors on every placement, in several element types.
void check_operators(device_mesh const& m);
/// Products between many placements, transposed or not, by every sort of plan.
void check_products(device_mesh const& m);
/// Typed placements, on a mesh of one axis.
void check_typed_operators(device_mesh const& m);

}  // namespace ashlar_test
