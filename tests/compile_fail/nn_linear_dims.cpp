// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::linear: the input needs at least one dim besides those that the layer takes.

#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/place.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
constexpr auto net = nn::linear<1, 2>({4}, {2, 2});
#else
constexpr auto net = nn::linear<2, 1>({3, 4}, {4});
#endif

void place(ashlar::mesh const& m, ashlar::search::plan const& plan) {
  nn::place<float>(net, m, plan);
}
