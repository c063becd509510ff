// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks that a formula may name operators with their namespace, as programs with tensors do.

#include <ashlar/nn/formula.hpp>

namespace nn = ashlar::nn;

namespace {

constexpr auto plain = nn::formula(
    "plain", [](auto x, auto w) { return softmax(tanh(matmul(x, w)) + mean(x, -1)) * sum(w, 0); },
    nn::weight("w", {4, 4}));
constexpr auto qualified = nn::formula(
    "qualified",
    [](auto x, auto w) {
      return ashlar::softmax(ashlar::tanh(ashlar::matmul(x, w)) + ashlar::mean(x, -1)) *
             ashlar::sum(w, 0);
    },
    nn::weight("w", {4, 4}));

constexpr auto one = plain.spec({2, 4}), other = qualified.spec({2, 4});
static_assert(one.rows.size() > 0 && one.rows.size() == other.rows.size());
static_assert(one.forward_flops == other.forward_flops && one.backward_flops > 0);

}  // namespace
