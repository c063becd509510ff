// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn: pooling takes images, [batch, channels, height, width], as its input.

#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/flatten.hpp>
#include <ashlar/nn/place.hpp>
#include <ashlar/nn/pooling.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
constexpr auto net = nn::chain(nn::max_pool(2), nn::flatten());
#else
constexpr auto net = nn::chain(nn::flatten(), nn::max_pool(2), nn::flatten());
#endif

void place(ashlar::mesh const& m, ashlar::search::plan const& plan) {
  nn::place<float>(net, m, plan);
}
