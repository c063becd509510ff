// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::attention_core: the input must be [batch, seq, heads, 3 head_dim], or [batch, height, width, heads, 3 head_dim] for images.

#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/place.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
constexpr auto net = nn::chain(nn::embedding(7, 4), nn::linear<1, 2>({4}, {2, 6}),
                               nn::attention_core());
#else
constexpr auto net = nn::chain(nn::embedding(7, 12), nn::attention_core());
#endif

void place(ashlar::mesh const& m, ashlar::search::plan const& plan) {
  nn::place<float>(net, m, plan);
}
