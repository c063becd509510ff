// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the element-wise, column and embedding kernels: their results must agree with the host's
// functions. The unit tests run the same test cases on an emulated device.

#include <doctest/doctest.h>

#include <ashlar/device/cuda/along_dim.hpp>
#include <ashlar/device/cuda/columns.hpp>
#include <ashlar/device/cuda/embedding.hpp>
#include <ashlar/device/cuda/map.hpp>
#include <ashlar/device/cuda/random.hpp>
#include <ashlar/device/cuda/reduce_dim.hpp>
#include <ashlar/device/cuda/select.hpp>
#include <ashlar/device/cuda/sum.hpp>
#include <ashlar/device/cuda/update.hpp>

#include "cuda/device_arrays.hpp"

// Lets the test cases included below find the device's functions.
namespace ashlar_test {
using namespace ashlar::cuda;
}  // namespace ashlar_test

#include "support/kernel_elements.hpp"
#include "support/kernel_embedding.hpp"
#include "support/kernel_reductions.hpp"

using ashlar::bfloat16;
using ashlar_test::device_arrays;

TEST_CASE_TEMPLATE("element_kernels_agree_with_the_host", T, float, double, bfloat16) {
  device_arrays device;
  ashlar_test::check_maps<T>(device);
  ashlar_test::check_random<T>(device);
  ashlar_test::check_sums<T>(device);
  ashlar_test::check_embedding<T>(device);
  ashlar_test::check_embedding_of_many<T>(device);
}

TEST_CASE("reductions_agree_with_the_host") {
  device_arrays device;
  ashlar_test::check_reductions(device);
}

TEST_CASE("updates_and_conversions_agree_with_the_host") {
  device_arrays device;
  ashlar_test::check_conversions(device);
  ashlar_test::check_updates<float, float>(device, false);
  ashlar_test::check_updates<float, float>(device, true);
  ashlar_test::check_updates<bfloat16, float>(device, true);
  ashlar_test::check_updates<double, double>(device, false);
}
