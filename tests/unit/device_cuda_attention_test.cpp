// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Attention of devices on an emulated one, forwards and backwards. Shared memory there begins as NaN and is
// as large as was asked for: what is read before it is written shows.

#include <doctest/doctest.h>

#include <ashlar/device/cuda/kernel/attention_backward.hpp>

#include "support/emulated_arrays.hpp"

namespace ashlar_test {
using namespace ashlar::cuda;
}  // namespace ashlar_test

#include "support/kernel_attention.hpp"

TEST_CASE("attention_kernels_give_what_the_host_gives") {
  ashlar_test::emulated_arrays forwards, backwards(true);
  ashlar_test::check_attention<float>(forwards, true);
  ashlar_test::check_attention<ashlar::bfloat16>(backwards, true);
}
