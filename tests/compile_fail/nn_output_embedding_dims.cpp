// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::output_embedding: the input needs at least one dim besides the features.

#include <ashlar/nn/output_embedding.hpp>
#include <ashlar/nn/place.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
constexpr auto net = nn::chain(nn::linear<1, 1>(4, 4), nn::output_embedding(4, 8));
#else
constexpr auto net = nn::chain(nn::linear<2, 1>({3, 4}, {4}), nn::output_embedding(4, 8));
#endif

void place(ashlar::mesh const& m, ashlar::search::plan const& plan) {
  nn::place<float>(net, m, plan);
}
