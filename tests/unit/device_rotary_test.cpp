// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares the angles of rotary positions of Llama 3, and the scaled angles of Llama 3.1, with the
// formulas of Hugging Face's package transformers, which are written in wavelengths.

#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/device/host/rotary.hpp>

namespace device = ashlar::device;

TEST_CASE("the pairs of Llama 3.1 turn fast as in Llama 3, slowly at an eighth, or between") {
  constexpr std::int64_t size = 128, half = size / 2, length = 3, first = 1000;
  double const base = 500000, factor = 8, low = 1, high = 4, original = 8192;
  device::rotary_angles const plain{base}, scaled{base, {factor, low, high, original}};
  std::vector<double> table(length * size), scaled_table(length * size);
  device::host::rotary_table(length, size, plain, table.data(), first);
  device::host::rotary_table(length, size, scaled, scaled_table.data(), first);
  int fast = 0, between = 0, slow = 0;
  for (std::int64_t i = 0; i < half; ++i) {
    CAPTURE(i);
    double const turn = 1 / std::pow(base, static_cast<double>(2 * i) / size);
    double const wavelength = 2 * std::acos(-1.0) / turn;
    double expected = turn;
    if (wavelength > original / low) {
      expected = turn / factor;
      ++slow;
    } else if (wavelength >= original / high) {
      double const smooth = (original / wavelength - low) / (high - low);
      expected = (1 - smooth) * turn / factor + smooth * turn;
      ++between;
    } else ++fast;
    for (std::int64_t row = 0; row < length; ++row) {
      double const position = static_cast<double>(first + row);
      auto const at = static_cast<std::size_t>(row * size + i), other = at + half;
      CHECK(std::abs(table[at] - std::cos(position * turn)) < 1e-12);
      CHECK(std::abs(table[other] - std::sin(position * turn)) < 1e-12);
      CHECK(std::abs(scaled_table[at] - std::cos(position * expected)) < 1e-12);
      CHECK(std::abs(scaled_table[other] - std::sin(position * expected)) < 1e-12);
    }
  }
  CHECK(fast == 29);
  CHECK(between == 6);
  CHECK(slow == 29);
}

TEST_CASE("numbers that are no scaling of rotary positions") {
  CHECK(device::rotary_scaling{}.is_possible());
  CHECK(device::rotary_scaling{8, 1, 4, 8192}.is_possible());
  for (auto const& wrong : {device::rotary_scaling{0, 1, 4, 8192},
                            {-8, 1, 4, 8192},
                            {8, 0, 4, 8192},
                            {8, 4, 4, 8192},
                            {8, 1, 4, 0},
                            {std::nan(""), 1, 4, 8192}})
    CHECK_FALSE(wrong.is_possible());
}
