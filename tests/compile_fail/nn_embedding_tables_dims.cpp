// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::embedding_tables: the input must be [batch, tables].

#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/embedding_tables.hpp>
#include <ashlar/nn/flatten.hpp>
#include <ashlar/nn/place.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
constexpr auto net = nn::chain(nn::embedding_tables(3, 5, 4), nn::flatten());
#else
constexpr auto net = nn::chain(nn::embedding_tables(3, 5, 4), nn::embedding_tables(3, 5, 4));
#endif

void place(ashlar::mesh const& m, ashlar::search::plan const& plan) {
  nn::place<float>(net, m, plan);
}
