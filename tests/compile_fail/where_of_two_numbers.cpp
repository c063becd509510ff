// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: where: it takes a mask and two tensors of one element type, or one tensor and a number, all on one type of processor.

// Two numbers do not say which element type the result has.

#include <ashlar/tensor/where.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<B>> const& mask) { return where(mask, mask, 0); }
#else
auto f(tensor<float, 2, sbp<B>> const& mask) { return where(mask, 1, 0); }
#endif
