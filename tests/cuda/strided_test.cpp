// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the kernels for strided copies, reductions and attention: their results must agree with the
// host's functions. The unit tests run the same test cases on an emulated device.

#include <doctest/doctest.h>

#include <ashlar/device/cuda/attention.hpp>
#include <ashlar/device/cuda/strided.hpp>

#include "cuda/device_arrays.hpp"

// Lets the test cases included below find the device's functions.
namespace ashlar_test {
using namespace ashlar::cuda;
}  // namespace ashlar_test

#include "support/kernel_attention.hpp"
#include "support/kernel_strided.hpp"

using ashlar::bfloat16;
using ashlar_test::device_arrays;

TEST_CASE_TEMPLATE("strided_kernels_and_attention_agree_with_the_host", T, float, double,
                   bfloat16) {
  device_arrays device;
  ashlar_test::check_strided_copy<T>(device);
  ashlar_test::check_strided_reduction<T>(device);
  ashlar_test::check_attention<T>(device, sizeof(T) < 8);
}

TEST_CASE("strided_kernels_of_integers_agree_with_the_host") {
  device_arrays device;
  ashlar_test::check_strided_copy<std::int8_t>(device);
  ashlar_test::check_strided_reduction<std::int32_t>(device);
  ashlar_test::check_strided_reduction<std::int64_t>(device);
}
