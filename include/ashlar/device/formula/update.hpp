// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Updates of one parameter element, shared by the host's loops and the device's kernels. With g' =
// gradient_scale * gradient, so that clipping by the norm and averaging need no pass of their own:
//
//   adam_w_rule   m = b1 m + (1 - b1) g',  v = b2 v + (1 - b2) g'^2
//                 w -= lr (m / c1 / (sqrt(v / c2) + epsilon) + weight_decay w)
//   sgd_rule      u = momentum u + g' + weight_decay w,  w -= lr u
//
// The caller counts the steps t and passes c1 = 1 - b1^t and c2 = 1 - b2^t (Loshchilov, Hutter:
// Decoupled weight decay regularization, 2019). The caller also chooses which parameters decay, and
// the learning rate lr.

#include <ashlar/config.hpp>
#include <ashlar/device/math.hpp>

namespace ashlar::device {

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

/// AdamW with the factors of one step, computed once in double and rounded to T.
template <class T>
struct adam_w_rule {
  T keep1, take1, keep2, take2, scale, step, inverse2, epsilon, decay;

  explicit adam_w_rule(adam_w_factors const& f)
      : keep1(static_cast<T>(f.beta1)), take1(static_cast<T>((1.0 - f.beta1) * f.gradient_scale)),
        keep2(static_cast<T>(f.beta2)), take2(static_cast<T>(1.0 - f.beta2)),
        scale(static_cast<T>(f.gradient_scale)), step(static_cast<T>(f.lr / f.correction1)),
        inverse2(static_cast<T>(1.0 / f.correction2)), epsilon(static_cast<T>(f.epsilon)),
        decay(static_cast<T>(1.0 - f.lr * f.weight_decay)) {}

  /// Updates the two moments and returns the new weight.
  [[gnu::always_inline]] ASHLAR_HD T operator()(T gradient, T& first, T& second, T weight) const {
    T const g = gradient * scale;
    T const m = keep1 * first + take1 * gradient;
    T const v = keep2 * second + take2 * (g * g);
    first = m;
    second = v;
    return decay * weight - step * m / (math::sqrt(v * inverse2) + epsilon);
  }
};

/// SGD with momentum.
template <class T>
struct sgd_rule {
  T lr, momentum, decay, scale;

  explicit sgd_rule(sgd_factors const& f)
      : lr(static_cast<T>(f.lr)), momentum(static_cast<T>(f.momentum)),
        decay(static_cast<T>(f.weight_decay)), scale(static_cast<T>(f.gradient_scale)) {}

  /// Updates the velocity and returns the new weight.
  [[gnu::always_inline]] ASHLAR_HD T operator()(T gradient, T& velocity, T weight) const {
    T const u = momentum * velocity + scale * gradient + decay * weight;
    velocity = u;
    return weight - lr * u;
  }
};

}  // namespace ashlar::device
