// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Layers written as formulas. The library has the same layers written by hand, except the last one.

#include <ashlar/device/function.hpp>
#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/flatten.hpp>
#include <ashlar/nn/formula.hpp>
#include <ashlar/nn/layer_norm.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/output_embedding.hpp>

namespace ashlar_test::as_formula {

namespace nn = ashlar::nn;

constexpr auto linear(std::int64_t in, std::int64_t out) {
  return nn::formula(
      "linear", [](auto x, auto w, auto b) { return matmul(x, w) + b; },
      nn::weight("weight", {in, out}), nn::weight("bias", {out}, nn::all_equal(0)));
}
constexpr auto product(std::int64_t in, std::int64_t out) {
  return nn::formula(
      "linear", [](auto x, auto w) { return matmul(x, w); }, nn::weight("weight", {in, out}));
}
/// Like nn::output_embedding, for an x of two dims.
constexpr auto output_embedding(std::int64_t features, std::int64_t vocabulary) {
  return nn::formula(
      "output_embedding", [](auto x, auto table) { return einsum<"md,vd->mv">(x, table); },
      nn::weight("table", {vocabulary, features},
                 nn::normal_deviates(1 / std::sqrt(static_cast<double>(features)))));
}
constexpr auto layer_norm(std::int64_t features) {
  return nn::formula(
      "layer_norm",
      [features](auto x, auto gain, auto bias) {
        expect_extent(x, -1, features);
        auto const apart = x - mean(x, -1);
        return apart * rsqrt(mean(apart * apart, -1) + 1e-5) * gain + bias;
      },
      nn::weight("gain", {features}, nn::all_equal(1)),
      nn::weight("bias", {features}, nn::all_equal(0)));
}
constexpr auto gelu() {
  return nn::formula("gelu", [](auto x) { return gelu(x); });
}
constexpr auto relu() {
  return nn::formula("relu", [](auto x) { return relu(x); });
}
constexpr auto silu() {
  return nn::formula("silu", [](auto x) { return silu(x); });
}
constexpr auto tanh() {
  return nn::formula("tanh", [](auto x) { return tanh(x); });
}
constexpr auto sigmoid() {
  return nn::formula("sigmoid", [](auto x) { return sigmoid(x); });
}
/// Like nn::flatten, for an x of three dims.
constexpr auto flatten() {
  return nn::formula("flatten", [](auto x) { return flatten<1, 2>(x); });
}
/// The product of x with the matrix w + a b, where a and b are thin matrices. All three matrices
/// are weights.
constexpr auto low_rank(std::int64_t features, std::int64_t rank) {
  return nn::formula(
      "low_rank", [](auto x, auto w, auto a, auto b) { return matmul(x, w + matmul(a, b)); },
      nn::weight("w", {features, features}), nn::weight("a", {features, rank}),
      nn::weight("b", {rank, features}));
}

}  // namespace ashlar_test::as_formula
