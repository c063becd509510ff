// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs the CUDA kernels for reductions over a dimension, accumulated sums and conversions on an
// emulated device. The emulation runs the threads once in rising and once in falling order of their
// indices, so that results that depend on the order are noticed.

#include <doctest/doctest.h>

#include <ashlar/device/cuda/kernel/map.hpp>
#include <ashlar/device/cuda/kernel/reduce_dim.hpp>
#include <ashlar/device/cuda/kernel/sum.hpp>

#include "support/emulated_arrays.hpp"

// The header below calls the kernels without a namespace. This directive makes the kernels visible
// to that header.
namespace ashlar_test {
using namespace ashlar::cuda;
}  // namespace ashlar_test

#include "support/kernel_reductions.hpp"

TEST_CASE("reductions_agree_with_the_host") {
  for (bool const backwards : {false, true}) {
    ashlar_test::emulated_arrays device(backwards);
    ashlar_test::check_reductions(device);
  }
}
