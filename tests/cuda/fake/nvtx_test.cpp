// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the NVTX ranges that the library marks. The test program itself contains the tool that
// records the ranges (fake_nvtx.cpp). NVTX finds this tool by static injection.

#include <doctest/doctest.h>

#include <ashlar/device/cuda/nvtx.hpp>

#include "recorded_ranges.hpp"

namespace {

ashlar::cuda::processor const on{};

void nested(int depth) {
  [[maybe_unused]] auto const scope = range(on, depth == 0 ? "inner" : "outer");
  if (depth == 0) throw 1;
  nested(depth - 1);
}

}  // namespace

TEST_CASE("ranges begin and end in turn, with their names, in the domain of the library") {
  if (!ASHLAR_HAS_NVTX) return;
  fake::recorded_ranges ranges;
  {
    [[maybe_unused]] auto const scope = range(on, "step");
    CHECK(ranges.open() == 1);
    [[maybe_unused]] auto const part = range(on, "forward");
    CHECK(ranges.open() == 2);
  }
  CHECK(ranges.open() == 0);
  CHECK(ranges.text() == "step{forward{}}");
  CHECK(ranges.domain() == "ashlar");
}

TEST_CASE("an exception ends the ranges that it leaves") {
  if (!ASHLAR_HAS_NVTX) return;
  fake::recorded_ranges ranges;
  CHECK_THROWS_AS(nested(1), int);
  CHECK(ranges.open() == 0);
  CHECK(ranges.text() == "outer{inner{}}");
}
