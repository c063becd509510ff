// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Softmax, cross-entropy and layer norm of devices on an emulated one, forwards and backwards.

#include <doctest/doctest.h>

#include <ashlar/device/cuda/kernel/cross_entropy.hpp>
#include <ashlar/device/cuda/kernel/layer_norm_backward.hpp>
#include <ashlar/device/cuda/kernel/softmax.hpp>
#include <ashlar/device/cuda/kernel/softmax_backward.hpp>

#include "support/emulated_arrays.hpp"

// What the cases call, found before they are defined.
namespace ashlar_test {
using namespace ashlar::cuda;
}  // namespace ashlar_test

#include "support/kernel_rows.hpp"

TEST_CASE_TEMPLATE("row_kernels_give_what_the_host_gives", T, float, ashlar::bfloat16) {
  for (bool const backwards : {false, true}) {
    ashlar_test::emulated_arrays device(backwards);
    ashlar_test::check_softmax<T>(device);
    ashlar_test::check_cross_entropy<T>(device);
    ashlar_test::check_layer_norm<T>(device);
  }
}
