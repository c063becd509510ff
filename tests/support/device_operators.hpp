// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs tensor operators on several ranks with one device each. The results must agree with
// results that the host computes from unsharded arrays. The cases run on a real device (tests/cuda)
// and on the fake device (tests/cuda/fake), and are compiled once for both. Every rank must call
// each function.
//
// These tests do not check which placements an operator accepts. The code that decides this is the
// same on the host, and is tested on host meshes. The tests here skip the placements that an
// operator refuses. They require that each operator accepts some placement, and that no call throws
// another error.
//
//   values             small integers, so that sums and products are exact; the addends of a
//                      partial tensor differ between ranks
//   exact              operators whose results the element type represents exactly, such as sums,
//                      products and comparisons of these integers, and quotients by powers of two
//   within 1e-5        functions such as gelu, softmax and mean (bfloat16: 8e-3, because the results
//                      are rounded)

#include <support/device_instances.hpp>

#include <ashlar/comm/nccl/backend.hpp>

namespace ashlar_test {

using device_mesh = ashlar::nccl::mesh;

/// Checks the arithmetic of one and of two tensors, functions and reductions on every placement, in
/// several element types.
void check_operators(device_mesh const& m);
/// Checks comparisons, extrema, choices between elements, indices of extrema, cumulative sums,
/// conversions, means and rows of tables on every placement.
void check_selections(device_mesh const& m);
/// Checks products of matrices and vectors, einsums and permutations on many placements.
void check_letters(device_mesh const& m);
/// Checks the functions that make tensors on every placement.
void check_factories(device_mesh const& m);
/// Checks matrix products between many placements. The cases vary which operands are transposed. A
/// product is computed either at once, or in panels (blocks of m, n or k) one after another.
void check_products(device_mesh const& m);
/// Checks operators on tensors with static placements, on a mesh with one axis.
void check_typed_operators(device_mesh const& m);

}  // namespace ashlar_test
