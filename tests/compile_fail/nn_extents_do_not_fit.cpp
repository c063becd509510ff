// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// Clang shows the extents of the layer and of its input, GCC only the layer's type.
// expect pattern: spec_for(<ashlar::nn::linear<1, 1> >|[(][{]+17, 0[^<>()]*[{]32, 16, )

#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/linear.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
constexpr auto net = nn::chain(nn::linear(8, 16), nn::linear(16, 4));
#else
constexpr auto net = nn::chain(nn::linear(8, 16), nn::linear(17, 4));
#endif

constexpr auto problem = nn::describe(net, nn::feature_batch{32, 8});
