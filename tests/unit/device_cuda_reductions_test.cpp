// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs the CUDA kernels for reductions over a dimension, indices of extrema, cumulative sums,
// choices between elements, accumulated sums and conversions on an emulated device. The emulation
// runs the threads once in rising and once in falling order of their indices, so that results that
// depend on the order are noticed.

#include <doctest/doctest.h>

#include <ashlar/device/cuda/kernel/along_dim.hpp>
#include <ashlar/device/cuda/kernel/map.hpp>
#include <ashlar/device/cuda/kernel/reduce_dim.hpp>
#include <ashlar/device/cuda/kernel/select.hpp>
#include <ashlar/device/cuda/kernel/sum.hpp>

#include "support/emulated_arrays.hpp"
#include "support/message_of.hpp"

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

TEST_CASE("a_launch_that_no_device_can_do_is_refused") {
  using ashlar_test::has, ashlar_test::message_of;
  CHECK(ashlar::cuda::launched_blocks("sum", 0x7fffffff) == 0x7fffffffu);
  CHECK(has(message_of([] { ashlar::cuda::launched_blocks("sum", 0x80000000); }),
            "sum: a kernel of 2147483648 thread blocks is too large"));
  CHECK(has(message_of([] { ashlar::cuda::refuse_shared_memory("attention", 139776, 101376); }),
            "attention: a thread block needs 139776 bytes of shared memory, but this device has at "
            "most 101376"));
}
