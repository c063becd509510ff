// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::tied: the first and the last part must be layers with a parameter, not nets. Write nn::tied(embedding, body, output_embedding).

#include <ashlar/nn/gpt.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
constexpr auto net = nn::tied(nn::embedding(8, 4), nn::gelu(), nn::output_embedding(4, 8));
#else
auto const net = nn::tied(nn::embedding(8, 4), nn::chain(nn::gelu(), nn::output_embedding(4, 8)));
#endif
