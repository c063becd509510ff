// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "../cuda.hpp"

#include <ashlar/comm/nccl/environment.hpp>
#include <ashlar/device/cuda/device.hpp>
#include <ashlar/machine/presets.hpp>

#include "train_on_cuda.hpp"

namespace example {
namespace {

peak peak_of_device(options const& o) {
  if (o.peak_flops > 0) return {o.peak_flops, "--peak-flops"};
  auto const name = ashlar::cuda::describe().name;
  return {ashlar::peak_flops(name, o.arithmetic()),
          "data sheet of " + name + ", " + ashlar::to_string(o.arithmetic())};
}

}  // namespace

bool has_cuda() { return true; }

void run_on_cuda(options const& o, int& argc, char**& argv) {
  ashlar::nccl::environment const env(argc, argv);
  ashlar::nccl::mesh const mesh(env.world(), choose_mesh(o, env.size()),
                                choose_machine(o, ashlar::machines::h200_server));
  auto const precision = o.arithmetic();
  if (precision == ashlar::arithmetic::tf32)
    mesh.processor().products->multiply_floats_as(ashlar::cuda::float_products::tf32);
  if (precision == ashlar::arithmetic::bfloat16) train_bfloat16(o, mesh, peak_of_device(o));
  else train_float(o, mesh, peak_of_device(o));
}

}  // namespace example
