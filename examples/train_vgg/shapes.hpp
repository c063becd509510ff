// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The images that train_vgg learns from. They are drawn on demand: one of six patterns in two
// colours, at a random position and scale, with noise. A batch depends on (seed, number) only.

#pragma once

#include <array>
#include <cmath>
#include <random>

#include <ashlar/train/trainer.hpp>

namespace example {

inline constexpr std::array<char const*, 6> shape_names{
    "horizontal stripes", "vertical stripes", "diagonal stripes", "checkerboard", "disc", "square"};

/// Returns whether the pattern covers a point. The coordinates are relative to the pattern's centre
/// and in units of its scale.
inline bool covers(int pattern, double y, double x) {
  auto const odd = [](double v) { return static_cast<long>(std::floor(v)) % 2 != 0; };
  switch (pattern) {
    case 0: return odd(y);
    case 1: return odd(x);
    case 2: return odd((x + y) / std::sqrt(2.0));
    case 3: return odd(x) != odd(y);
    case 4: return x * x + y * y < 4;
    default: return std::max(std::abs(x), std::abs(y)) < 1.8;
  }
}

/// Returns batch `number`, which has `samples` images [3, side, side]. Each image shows one
/// pattern, with normal noise of deviation `noise`. The label of an image is the index of the
/// pattern.
inline ashlar::train::batch_data<float> shape_images(int samples, int side, double noise,
                                                     std::uint64_t seed, std::int64_t number) {
  std::mt19937_64 random(seed * 1000003 + static_cast<std::uint64_t>(number));
  std::uniform_real_distribution<double> unit(0, 1);
  std::normal_distribution<double> normal(0, noise);
  ashlar::train::batch_data<float> batch;
  for (int s = 0; s < samples; ++s) {
    int const pattern = static_cast<int>(random() % shape_names.size());
    double const scale = side * (0.08 + 0.08 * unit(random));
    double const row = side * (0.35 + 0.3 * unit(random));
    double const column = side * (0.35 + 0.3 * unit(random));
    std::array<double, 3> ground{}, figure{};
    for (auto& c : ground) c = 2 * unit(random) - 1;
    for (auto& c : figure) c = 2 * unit(random) - 1;
    for (std::size_t c = 0; c < 3; ++c)
      for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x) {
          bool const inside = covers(pattern, (y - row) / scale, (x - column) / scale);
          batch.inputs.push_back(
              static_cast<float>((inside ? figure[c] : ground[c]) + normal(random)));
        }
    batch.targets.push_back(pattern);
  }
  return batch;
}

}  // namespace example
