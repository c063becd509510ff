// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::place: this layer computes on the host only. Place the net on an ashlar::mesh, or write its passes with the processor's operations and define runs_on_devices (nn/layer.hpp).

// A layer that computes only on the host is placed on a mesh of GPU ranks.

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/flatten.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/place.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
void place(ashlar::nccl::mesh const& m, ashlar::search::plan const& plan) {
  nn::place<float>(nn::chain(nn::flatten(), nn::linear(4, 4)), m, plan);
}
#else
void place(ashlar::nccl::mesh const& m, ashlar::search::plan const& plan) {
  nn::place<float>(nn::chain(nn::convolution(3, 4, 3), nn::flatten(), nn::linear(4, 4)), m, plan);
}
#endif
