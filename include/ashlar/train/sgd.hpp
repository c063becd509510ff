// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Gradient descent with momentum: sgd{.lr = 0.1, .momentum = 0.9}. Weight decay adds to the gradient,
// and so to the momentum (an L2 penalty; adam_w.hpp decouples it). One value is kept per element.

#include <cstdint>
#include <span>
#include <vector>

#include <ashlar/device/host/optimizer.hpp>
#include <ashlar/train/optimizer.hpp>

namespace ashlar::train {

template <class T>
class sgd_state;

struct sgd {
  double lr = 1e-2;
  double momentum = 0;
  double weight_decay = 0;

  static constexpr int states = 1;

  template <class T>
  using state = sgd_state<T>;
};

template <class T>
class sgd_state {
 public:
  explicit sgd_state(sgd const& options) : options_(options) {}

  void update(std::size_t index, std::int64_t, std::span<T> value, std::span<T const> gradient,
              bool decays, update_scale scale) {
    if (index >= velocity_.size()) velocity_.resize(index + 1);
    auto& v = velocity_[index];
    v.resize(value.size());
    device::host::sgd_factors f;
    f.lr = options_.lr * scale.rate;
    f.momentum = options_.momentum;
    f.weight_decay = decays ? options_.weight_decay : 0;
    f.gradient_scale = scale.clip;
    device::host::sgd_update(f, gradient.data(), static_cast<std::int64_t>(value.size()), v.data(),
                             value.data());
  }

 private:
  sgd options_;
  std::vector<std::vector<T>> velocity_;
};

}  // namespace ashlar::train
