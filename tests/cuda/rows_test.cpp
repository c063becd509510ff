// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the kernels for softmax, cross-entropy and layer norm: their results must agree with the
// host's functions. The unit tests run the same test cases on an emulated device.

#include <doctest/doctest.h>

#include <ashlar/device/cuda/cross_entropy.hpp>
#include <ashlar/device/cuda/layer_norm.hpp>
#include <ashlar/device/cuda/softmax.hpp>

#include "cuda/device_arrays.hpp"

// Lets the test cases included below find the device's functions.
namespace ashlar_test {
using namespace ashlar::cuda;
}  // namespace ashlar_test

#include "support/kernel_rows.hpp"

using ashlar::bfloat16;
using ashlar_test::device_arrays;

TEST_CASE_TEMPLATE("row_kernels_agree_with_the_host", T, float, double, bfloat16) {
  device_arrays device;
  ashlar_test::check_softmax<T>(device);
  ashlar_test::check_cross_entropy<T>(device);
  ashlar_test::check_layer_norm<T>(device);
}
