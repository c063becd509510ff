// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the host's versions of the operations that every processor type (host or CUDA) must
// provide. Only operations that consist of more than one kernel are tested here.

#include <algorithm>
#include <cstdlib>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/device/host/operations.hpp>

namespace {

using namespace ashlar;

/// A memory resource that counts the blocks that are allocated and not yet released.
struct counted_memory {
  int lent = 0;
  void* allocate(std::size_t bytes) {
    ++lent;
    return std::malloc(bytes);
  }
  void release(void* block, std::size_t) {
    --lent;
    std::free(block);
  }
};

device::host::processor const on;

std::vector<double> counted(int n, int from = 1) {
  std::vector<double> v;
  for (int i = 0; i < n; ++i) v.push_back(i + from);
  return v;
}

}  // namespace

TEST_CASE("linear_forward is a product with or without a bias") {
  auto const x = counted(6), w = counted(6), bias = counted(2, 10);
  std::vector<double> y(4, -1);
  linear_forward(on, 2, 2, 3, x.data(), w.data(), nullptr, y.data());
  CHECK(y == std::vector<double>{22, 28, 49, 64});
  linear_forward(on, 2, 2, 3, x.data(), w.data(), bias.data(), y.data());
  CHECK(y == std::vector<double>{32, 39, 59, 75});
  linear_forward(on, 2, 2, 0, x.data(), w.data(), bias.data(), y.data());
  CHECK(y == std::vector<double>{10, 11, 10, 11});
}

TEST_CASE("reduce_dim reduces a dim in the middle and gives its workspace back") {
  counted_memory memory;
  auto const x = counted(12);  // 2 x 3 x 2
  std::vector<double> y(4);
  reduce_dim(on, memory, reduction::sum, x.data(), 2, 3, 2, y.data());
  CHECK(y == std::vector<double>{9, 12, 27, 30});
  reduce_dim(on, memory, reduction::max, x.data(), 2, 3, 2, y.data());
  CHECK(y == std::vector<double>{5, 6, 11, 12});
  reduce_dim(on, memory, reduction::min, x.data(), 2, 3, 2, y.data());
  CHECK(y == std::vector<double>{1, 2, 7, 8});
  reduce_dim(on, memory, reduction::sum, x.data(), 2, 0, 2, y.data());
  CHECK(y == std::vector<double>{0, 0, 0, 0});
  // 256 + 1 is not a bfloat16 value, but 256 + 1 + 1 is, so the sum must be rounded only once.
  std::vector<bfloat16> const z{bfloat16(256.0f), bfloat16(1.0f), bfloat16(1.0f)};
  bfloat16 sum(0.0f);
  reduce_dim(on, memory, reduction::sum, z.data(), 1, 3, 1, &sum);
  CHECK(static_cast<float>(sum) == 258.0f);
  CHECK(memory.lent == 0);
}

TEST_CASE("sums are added to the existing values") {
  counted_memory memory;
  auto const x = counted(6);
  std::vector<double> columns(3, 100);
  add_column_sums(on, memory, x.data(), 2, 3, columns.data());
  CHECK(columns == std::vector<double>{105, 107, 109});
  double total = 1;
  add_sum(on, memory, x.data(), 6, &total);
  CHECK(total == 22);
  add_sum_of_squares(on, memory, x.data(), 6, &total);
  CHECK(total == 113);
}

TEST_CASE("sums of many rows stay accurate, and are exact if their addends are small integers") {
  counted_memory memory;
  // In float, adding 1 to 2^24 changes nothing, so one running sum would lose all ones.
  std::int64_t const rows = 65536;
  std::vector<float> x(2 * 65536, 1.0f);
  x[0] = x[1] = 0x1p24f;
  double const exact = 0x1p24 + 65535;
  std::vector<float> sum(2), y(2);
  add_column_sums(on, memory, x.data(), rows, 2, sum.data());
  reduce_dim(on, memory, reduction::sum, x.data(), 1, rows, 2, y.data());
  for (auto const* found : {&sum, &y})
    for (float const each : *found) CHECK(each == doctest::Approx(exact).epsilon(1e-4));
  // The kernels combine several rows and columns at a time. m and n are no multiples of these
  // numbers.
  std::int64_t const m = 700, n = 300;
  std::vector<double> z(700 * 300), columns(300), largest(300);
  for (std::size_t i = 0; i < z.size(); ++i) z[i] = static_cast<double>(i * 7919 % 1009) - 500;
  add_column_sums(on, memory, z.data(), m, n, columns.data());
  reduce_dim(on, memory, reduction::max, z.data(), 1, m, n, largest.data());
  for (std::size_t c = 0; c < 300; ++c) {
    double total = 0, most = z[c];
    for (std::size_t r = 0; r < 700; ++r) {
      total += z[r * 300 + c];
      most = std::max(most, z[r * 300 + c]);
    }
    CHECK(columns[c] == total);
    CHECK(largest[c] == most);
  }
}

TEST_CASE("an update writes the rounded weights into a copy") {
  std::vector<float> const gradient{1, -1, 0.5f};
  std::vector<float> velocity(3), weight{1.001f, 2.003f, -0.3f};
  std::vector<bfloat16> copy(3, bfloat16(0.0f));
  device::sgd_factors factors;
  factors.lr = 0.1;
  sgd_update(on, factors, gradient.data(), 3, velocity.data(), weight.data(), copy.data());
  CHECK(weight[0] == doctest::Approx(0.901f));
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(static_cast<float>(copy[i]) == static_cast<float>(bfloat16(weight[i])));
}
