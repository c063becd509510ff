// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs the CUDA kernels for softmax, cross-entropy and layer norm on an emulated device, once in
// rising and once in falling order of threads, so that results that depend on the order are
// noticed. Also tests that a kernel reads short rows only once from memory.

#include <doctest/doctest.h>

#include <ashlar/device/cuda/kernel/cross_entropy.hpp>
#include <ashlar/device/cuda/kernel/layer_norm_backward.hpp>
#include <ashlar/device/cuda/kernel/softmax.hpp>
#include <ashlar/device/cuda/kernel/softmax_backward.hpp>

#include "support/emulated_arrays.hpp"

// The header below calls the kernels without a namespace. This directive makes the kernels visible
// to that header.
namespace ashlar_test {
using namespace ashlar::cuda;
}  // namespace ashlar_test

#include "support/kernel_rows.hpp"

TEST_CASE_TEMPLATE("row_kernels_agree_with_the_host", T, float, ashlar::bfloat16) {
  for (bool const backwards : {false, true}) {
    ashlar_test::emulated_arrays device(backwards);
    ashlar_test::check_softmax<T>(device);
    ashlar_test::check_cross_entropy<T>(device);
    ashlar_test::check_layer_norm<T>(device);
  }
}

namespace {

/// A row operation that overwrites a row of x in memory after the threads have read it. The values
/// of y are correct only if the threads kept x in registers.
struct spoiling_op {
  static constexpr int kept = 1;
  using partial = float;
  float* x;
  float* y;
  std::int64_t cols;

  static float combine(float a, float b) { return a + b; }
  template <int Width, class Share>
  float gather(std::int64_t row, Share const& share) const {
    float* const from = x + row * cols;
    share.template keep<0>(static_cast<float const*>(from));
    share([&](std::int64_t c, int) {
      for (int k = 0; k < Width; ++k) from[c + k] = -1;
    });
    return 0;
  }
  template <int Width, class Share>
  void apply(std::int64_t row, Share const& share, float) const {
    float const* const from = x + row * cols;
    share([&](std::int64_t c, int k) {
      ashlar::cuda::store<Width>(y + row * cols + c, share.template read<0>(from, c, k));
    });
  }
};

}  // namespace

TEST_CASE("rows_of_up_to_1024_packs_are_read_once") {
  using ashlar_test::emulated_arrays;
  for (std::int64_t const cols : {4, 128, 132, 1024, 1028, 4096, 4100, 130}) {
    CAPTURE(cols);
    emulated_arrays device;
    auto const values = ashlar_test::values_of<float>(3 * cols, 1);
    auto x = device.upload(values);
    auto y = device.make<float>(3 * cols);
    ashlar::cuda::launch_rows<float>(device.queue(), "spoil", spoiling_op{x.data(), y.data(), cols},
                                     3, cols, true);
    bool const once = device.download(y) == values;
    CHECK(once == (cols <= 4096 && cols % 4 == 0));
  }
}
