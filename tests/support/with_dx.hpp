// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The first layer of a network need not compute dx (the gradient of its input). These tests compare
// a first layer that omits dx with the same layer in a wrapper that always computes dx. Layers that
// users write may also always compute dx. The gradients of the parameters must be bitwise equal,
// and each network must record the collectives of its own schedule. Omitting dx must reduce the
// work and, on several ranks, the bytes.

#include <doctest/doctest.h>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

#include <ashlar/comm/communication_log.hpp>

namespace ashlar_test {

/// A layer whose backward pass always computes dx.
template <class Layer>
class with_dx {
 public:
  using parameters = typename Layer::parameters;
  static constexpr int x_rank = ashlar::nn::input_rank<Layer>();
  template <int XRank>
  static constexpr int y_rank = ashlar::nn::output_rank<Layer, XRank>();

  constexpr explicit with_dx(Layer layer) : layer_(std::move(layer)) {}
  constexpr search::layer_spec spec(ashlar::shape const& x) const {
    auto s = layer_.spec(x);
    s.backward = search::backward_form::whole;
    return s;
  }
  ashlar::nn::initial_values initial(int k) const { return layer_.initial(k); }
  template <class Call>
  auto forward(Call const& c) const {
    return layer_.forward(c);
  }
  template <class Call>
  auto backward(Call const& c) const {
    if constexpr (requires { layer_.backward(c); }) {
      return layer_.backward(c);
    } else {
      layer_.weight_gradient(c);
      return layer_.input_gradient(c);
    }
  }

 private:
  Layer layer_;
};

/// Compares the networks make(layer) and make(with_dx(layer)). `make` returns a network that begins
/// with the given layer. The first network omits dx of this layer, and the second network computes
/// dx.
template <class Make, class Layer, class Batch>
void check_without_dx(Make const& make, Layer const& layer, Batch const& batch, int classes) {
  auto const without = make(layer);
  auto const with = make(with_dx(layer));
  auto const problem = any_length(ashlar::nn::describe<double>(without, batch));
  auto const larger = any_length(ashlar::nn::describe<double>(with, batch));
  REQUIRE(hash(problem) == hash(larger));
  CHECK(problem.spec(0).backward_flops == larger.spec(0).backward_flops / 2);
  CHECK(problem.spec(0).backward_values <= larger.spec(0).backward_values);
  for (int i = 1; i < problem.size(); ++i) CHECK(problem.spec(i) == larger.spec(i));
  auto const data = random_batch<double>(batch, 0, classes, 1);
  std::int64_t saved = 0;
  for (auto const& m : all_meshes()) {
    plan_source const plans(problem, m);
    std::mt19937 random(1);
    for (int i = 0; i < 4; ++i) {
      auto const plan = plans.random(random);
      CAPTURE(describe(problem, plan));
      ashlar::communication_log log(m);
      auto const step = [&](auto const& net, search::problem const& described) {
        auto model = ashlar::nn::place<double>(net, m, plan, 3);
        log.clear();
        accumulate_step(model, data, true);
        model.synchronize();
        auto const expected = records_of_gradients(described, plan, m);
        CHECK(log.records() == expected);
        for (auto const& r : expected)
          saved += &described == &larger ? r.received_bytes : -r.received_bytes;
        return gradients_of(model);
      };
      CHECK(step(without, problem) == step(with, larger));
    }
  }
  if (world_size() > 1) CHECK(saved > 0);
}

}  // namespace ashlar_test
