// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: argmax: the dimension is split, or the tensor is partial, and the index of an element in a shard is not its index in the tensor.

// A rank knows only the largest element of its own shard.

#include <ashlar/tensor/along_dim.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(tensor<float, 2, sbp<S<0>>> const& x) { return ashlar::argmax<1>(x); }
#else
auto f(tensor<float, 2, sbp<S<0>>> const& x) { return ashlar::argmax<0>(x); }
#endif
