// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: tensor: the placement does not fit the tensor. Split only dimensions it has, number the shard depths of a dimension 0, 1, ..., each once, and use one kind of reduction.

// A factory function gets a placement that splits a dimension that the tensor does not have.

#include <ashlar/tensor/factory.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

#ifdef ASHLAR_CONTROL
auto f(ashlar::mesh const& m) { return ashlar::zeros<float>(m, {4, 4}, sbp<S<1>>{}); }
#else
auto f(ashlar::mesh const& m) { return ashlar::zeros<float>(m, {4, 4}, sbp<S<2>>{}); }
#endif
