// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs the CUDA kernels for strided copies and reductions on an emulated device, once in rising and
// once in falling order of indices, so that results that depend on the order are noticed.

#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/device/cuda/kernel/reduce_strided.hpp>
#include <ashlar/device/cuda/kernel/strided_copy.hpp>

#include "support/emulated_arrays.hpp"

namespace ashlar_test {
using namespace ashlar::cuda;
}  // namespace ashlar_test

#include "support/kernel_strided.hpp"

TEST_CASE("strided_kernels_agree_with_the_host") {
  for (bool const backwards : {false, true}) {
    ashlar_test::emulated_arrays device(backwards);
    ashlar_test::check_strided_copy<std::int8_t>(device);
    ashlar_test::check_strided_copy<ashlar::bfloat16>(device);
    ashlar_test::check_strided_copy<float>(device);
    ashlar_test::check_strided_copy<double>(device);
    ashlar_test::check_strided_reduction<float>(device);
    ashlar_test::check_strided_reduction<ashlar::bfloat16>(device);
    ashlar_test::check_strided_reduction<std::int32_t>(device);
  }
}

TEST_CASE("a_unit_is_as_wide_as_all_rows_allow") {
  using ashlar::device::host::canonical_loop;
  std::int64_t const extents[] = {3, 8}, rows[] = {12, 1}, odd[] = {9, 1}, packed[] = {8, 1};
  CHECK(ashlar::cuda::widest_unit(canonical_loop(2, extents, rows, packed), 4, 0) == 16);
  CHECK(ashlar::cuda::widest_unit(canonical_loop(2, extents, rows, packed), 4, 8) == 8);
  CHECK(ashlar::cuda::widest_unit(canonical_loop(2, extents, rows, packed), 2, 0) == 8);
  CHECK(ashlar::cuda::widest_unit(canonical_loop(2, extents, odd, packed), 4, 0) == 4);
  CHECK(ashlar::cuda::widest_unit(canonical_loop(2, extents, packed, packed), 1, 0) == 8);
  CHECK(ashlar::cuda::widest_unit(canonical_loop(0, extents, rows, rows), 2, 0) == 2);
}

TEST_CASE("copies_refuse_elements_of_other_sizes") {
  ashlar_test::emulated_arrays device;
  auto const from = device.make<double>(24);
  auto to = device.make<double>(24);
  std::int64_t const extent = 16, stride = 1;
  for (std::int64_t const size : {3, 6, 12})
    CHECK_THROWS_WITH_AS(ashlar::cuda::copy_strided_bytes(device.queue(), size, 1, &extent,
                                                          from.data(), &stride, to.data(), &stride),
                         "copy_strided: elements must have 1, 2, 4 or 8 bytes.",
                         std::invalid_argument);
}

TEST_CASE("a_reduction_of_one_source_keeps_a_signalling_nan") {
  ashlar_test::emulated_arrays device;
  for (std::int64_t const n : {1, 8}) {  // an element, and a pack
    auto const x = device.upload(std::vector<ashlar::bfloat16>(
        static_cast<std::size_t>(n), ashlar::bfloat16::from_bits(0x7f81)));
    auto y = device.make<ashlar::bfloat16>(n);
    ashlar::bfloat16 const* const source = x.data();
    std::int64_t const stride = 1;
    ashlar::cuda::reduce_strided(device.queue(), ashlar::reduction::sum, 1, &n,
                                 std::span<ashlar::bfloat16 const* const>(&source, 1), &stride,
                                 y.data(), &stride);
    for (auto const v : device.download(y)) CHECK(v.bits() == 0x7f81);
  }
}
