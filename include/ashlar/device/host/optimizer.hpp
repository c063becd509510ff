// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Parameter updates, each one pass over the arrays. g' = gradient_scale * gradient (clipping by the
// norm, or averaging, costs no pass of its own):
//
//   adam_w   m = b1 m + (1 - b1) g',  v = b2 v + (1 - b2) g'^2
//            w -= lr (m / c1 / (sqrt(v / c2) + epsilon) + weight_decay w)
//   sgd      u = momentum u + g' + weight_decay w,  w -= lr u
//
// The caller counts the steps and passes c1 = 1 - b1^t, c2 = 1 - b2^t (Loshchilov, Hutter: Decoupled
// weight decay regularization, 2019). Which parameters decay, and how lr moves, is decided elsewhere.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/device/math.hpp>

namespace ashlar::device::host {

struct adam_w_factors {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  double correction1 = 1.0;  // 1 - beta1^step
  double correction2 = 1.0;  // 1 - beta2^step
  double gradient_scale = 1.0;
};

struct sgd_factors {
  double lr = 1e-2;
  double momentum = 0.0;
  double weight_decay = 0.0;
  double gradient_scale = 1.0;
};

/// Updates weights, first and second moments. The four arrays are disjoint.
template <class T>
void adam_w_update(adam_w_factors const& factors, T const* ASHLAR_RESTRICT gradient,
                   std::int64_t count, T* ASHLAR_RESTRICT first, T* ASHLAR_RESTRICT second,
                   T* ASHLAR_RESTRICT weight) {
  auto const keep1 = static_cast<T>(factors.beta1);
  auto const take1 = static_cast<T>((1.0 - factors.beta1) * factors.gradient_scale);
  auto const keep2 = static_cast<T>(factors.beta2);
  auto const take2 = static_cast<T>(1.0 - factors.beta2);
  auto const scale = static_cast<T>(factors.gradient_scale);
  auto const step = static_cast<T>(factors.lr / factors.correction1);
  auto const inverse2 = static_cast<T>(1.0 / factors.correction2);
  auto const epsilon = static_cast<T>(factors.epsilon);
  auto const decay = static_cast<T>(1.0 - factors.lr * factors.weight_decay);
  ASHLAR_VECTORIZE
  for (std::int64_t i = 0; i < count; ++i) {
    T const g = gradient[i] * scale;
    T const m = keep1 * first[i] + take1 * gradient[i];
    T const v = keep2 * second[i] + take2 * (g * g);
    first[i] = m;
    second[i] = v;
    weight[i] = decay * weight[i] - step * m / (math::sqrt(v * inverse2) + epsilon);
  }
}

/// Updates weights and velocity. The three arrays are disjoint.
template <class T>
void sgd_update(sgd_factors const& factors, T const* ASHLAR_RESTRICT gradient, std::int64_t count,
                T* ASHLAR_RESTRICT velocity, T* ASHLAR_RESTRICT weight) {
  auto const lr = static_cast<T>(factors.lr);
  auto const momentum = static_cast<T>(factors.momentum);
  auto const decay = static_cast<T>(factors.weight_decay);
  auto const scale = static_cast<T>(factors.gradient_scale);
  ASHLAR_VECTORIZE
  for (std::int64_t i = 0; i < count; ++i) {
    T const u = momentum * velocity[i] + scale * gradient[i] + decay * weight[i];
    velocity[i] = u;
    weight[i] -= lr * u;
  }
}

}  // namespace ashlar::device::host
