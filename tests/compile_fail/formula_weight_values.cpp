// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::weight: a weight of one dim is a gain or a bias. Say its initial values

// The call does not say which values the gain has before training.

#include <ashlar/nn/formula.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
auto const gain = nn::weight("gain", {5}, nn::all_equal(1));
#else
auto const gain = nn::weight("gain", {5});
#endif
