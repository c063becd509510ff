// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::place: repeat(n, block) has a run-time n. A typed model needs the form repeat<n>(block).

#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/place.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
constexpr auto net = nn::repeat<2>(nn::linear(4, 4));
#else
constexpr auto net = nn::repeat(2, nn::linear(4, 4));
#endif

constexpr ashlar::search::basic_plan<3> plan;

void place(ashlar::mesh const& m) { nn::place<float>(net, m, nn::constant<plan>); }
