// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::branch: the third argument says how the outputs are joined: nn::join::add, nn::join::multiply, nn::join::concat<1>

#include <ashlar/nn/branch.hpp>
#include <ashlar/nn/linear.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
constexpr auto net = nn::branch(nn::linear(4, 5), nn::linear(4, 5), nn::join::add);
#else
constexpr auto net = nn::branch(nn::linear(4, 5), nn::linear(4, 5),
                                [](auto u, auto v) { return u * v; });
#endif
