// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::place: models on the host are of float or double. Place the net as nn::place<float>(...), or as bfloat16 on a mesh of devices.

#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/place.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
using element = float;
#else
using element = ashlar::bfloat16;
#endif

void place(ashlar::mesh const& m, ashlar::search::plan const& plan) {
  nn::place<element>(nn::chain(nn::linear(4, 4)), m, plan);
}
