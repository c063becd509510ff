// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::branch: a formula that joins is a function of the two outputs, each by value, and has no weights

#include <ashlar/nn/formula_join.hpp>
#include <ashlar/nn/linear.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
constexpr auto net = nn::branch(nn::linear(4, 5), nn::linear(4, 5),
                                nn::formula("f", [](auto u, auto v) { return u * v; }));
#else
constexpr auto net = nn::branch(nn::linear(4, 5), nn::linear(4, 5),
                                nn::formula(
                                    "f", [](auto u, auto v, auto gain) { return u * v * gain; },
                                    nn::weight("gain", {5}, nn::all_equal(1))));
#endif
