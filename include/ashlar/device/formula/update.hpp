// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The update formulas of the optimizers for one parameter w, shared by the host's loops and the
// device's kernels. lr is the learning rate.
//
//   g             gradient_scale * gradient
//   adam_w_rule   m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2
//                 w -= lr (m / correction1 / (sqrt(v / correction2) + epsilon) + weight_decay w)
//                 with sets_first, m becomes correction1 g, so that m / correction1 is g
//                 with keeps_second, a v other than zero does not change, and a v of zero becomes
//                 correction2 g^2, so that v / correction2 is g^2
//   sgd_rule      u = momentum u + g + weight_decay w,  w -= lr u
//
// In update t, counted from 1, the caller passes correction1 = 1 - beta1^t and correction2 = 1 -
// beta2^t (Loshchilov, Hutter: Decoupled weight decay regularization, 2019). If v averages only n <
// t squares (train/sent_gradient.hpp), n takes the place of t in correction2. gradient_scale clips
// or averages gradients, so that clipping and averaging need no separate pass over the gradients.

#include <ashlar/config.hpp>
#include <ashlar/device/math.hpp>

namespace ashlar::device {

struct adam_w_factors {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  double correction1 = 1.0;  // 1 - beta1^t in update t
  double correction2 = 1.0;  // 1 - beta2^t in update t
  double gradient_scale = 1.0;
  bool sets_first = false;    // g is an average of gradients, which takes the place of m
  bool keeps_second = false;  // v changes only where it is zero
};

struct sgd_factors {
  double lr = 1e-2;
  double momentum = 0.0;
  double weight_decay = 0.0;
  double gradient_scale = 1.0;
};

/// One step of AdamW. The constructor computes the constants of the step in double and rounds them
/// to T.
template <class T>
struct adam_w_rule {
  T keep1, take1, keep2, take2, scale, step, inverse2, epsilon, decay;
  bool keeps_second;

  explicit adam_w_rule(adam_w_factors const& f)
      : keep1(static_cast<T>(f.sets_first ? 0.0 : f.beta1)),
        take1(static_cast<T>((f.sets_first ? f.correction1 : 1.0 - f.beta1) * f.gradient_scale)),
        keep2(static_cast<T>(f.beta2)),
        take2(static_cast<T>(f.keeps_second ? f.correction2 : 1.0 - f.beta2)),
        scale(static_cast<T>(f.gradient_scale)), step(static_cast<T>(f.lr / f.correction1)),
        inverse2(static_cast<T>(1.0 / f.correction2)), epsilon(static_cast<T>(f.epsilon)),
        decay(static_cast<T>(1.0 - f.lr * f.weight_decay)), keeps_second(f.keeps_second) {}

  /// Updates the first moment m (`first`) and the second moment v (`second`) of one parameter.
  /// Returns the new weight of the parameter.
  [[gnu::always_inline]] ASHLAR_HD T operator()(T gradient, T& first, T& second, T weight) const {
    T const g = gradient * scale;
    T const m = keep1 * first + take1 * gradient;
    T const taken = keep2 * second + take2 * (g * g);
    T const v = keeps_second && second != T{} ? second : taken;
    first = m;
    second = v;
    return decay * weight - step * m / (math::sqrt(v * inverse2) + epsilon);
  }
};

/// One step of SGD with momentum. The constructor rounds the constants of the step to T.
template <class T>
struct sgd_rule {
  T lr, momentum, decay, scale;

  explicit sgd_rule(sgd_factors const& f)
      : lr(static_cast<T>(f.lr)), momentum(static_cast<T>(f.momentum)),
        decay(static_cast<T>(f.weight_decay)), scale(static_cast<T>(f.gradient_scale)) {}

  /// Updates the velocity u of one weight. Returns the new weight.
  [[gnu::always_inline]] ASHLAR_HD T operator()(T gradient, T& velocity, T weight) const {
    T const u = momentum * velocity + scale * gradient + decay * weight;
    velocity = u;
    return weight - lr * u;
  }
};

}  // namespace ashlar::device
