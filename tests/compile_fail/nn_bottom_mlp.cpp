// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::bottom_mlp: this layer is only for the search, because a model has no second input.

#include <ashlar/nn/dlrm.hpp>
#include <ashlar/nn/place.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
constexpr auto net = nn::dlrm();
#else
constexpr auto net = nn::dlrm_described();
#endif

void place(ashlar::mesh const& m, ashlar::search::plan const& plan) {
  nn::place<float>(net, m, plan);
}
