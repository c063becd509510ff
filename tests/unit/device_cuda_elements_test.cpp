// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs the elementwise and column kernels for CUDA on an emulated device, once in rising and once
// in falling order of indices, so that results that depend on the order are noticed.

#include <doctest/doctest.h>

#include <ashlar/device/cuda/kernel/columns.hpp>
#include <ashlar/device/cuda/kernel/embedding_backward.hpp>
#include <ashlar/device/cuda/kernel/map.hpp>
#include <ashlar/device/cuda/kernel/random.hpp>
#include <ashlar/device/cuda/kernel/sum.hpp>
#include <ashlar/device/cuda/kernel/update.hpp>

#include "support/emulated_arrays.hpp"

// The header below calls the kernels without a namespace. This directive makes the kernels visible
// to that header.
namespace ashlar_test {
using namespace ashlar::cuda;
}  // namespace ashlar_test

#include "support/kernel_elements.hpp"
#include "support/kernel_embedding.hpp"

using ashlar_test::emulated_arrays;

TEST_CASE_TEMPLATE("element_kernels_agree_with_the_host", T, float, ashlar::bfloat16) {
  for (bool const backwards : {false, true}) {
    emulated_arrays device(backwards);
    ashlar_test::check_maps<T>(device);
    ashlar_test::check_random<T>(device);
    ashlar_test::check_sums<T>(device);
    ashlar_test::check_embedding<T>(device);
    ashlar_test::check_embedding_of_many<T>(device);
  }
}

TEST_CASE("updates_and_conversions_agree_with_the_host") {
  for (bool const backwards : {false, true}) {
    emulated_arrays device(backwards);
    ashlar_test::check_conversions(device);
    ashlar_test::check_updates<float, float>(device, false);
    ashlar_test::check_updates<float, float>(device, true);
    ashlar_test::check_updates<ashlar::bfloat16, float>(device, true);
  }
}
