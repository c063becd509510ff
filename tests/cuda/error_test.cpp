// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <doctest/doctest.h>

#include <ashlar/device/cuda/error.hpp>

TEST_CASE("a_failed_call_is_named") {
  CHECK_THROWS_WITH_AS(ashlar::cuda::check(cudaSetDevice(1 << 20), "cudaSetDevice"),
                       doctest::Contains("cudaSetDevice: cudaErrorInvalidDevice"), ashlar::error);
}
