// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8

// Compares parameter updates with naive updates, under plans that replicate the parameters and
// plans that shard them. The naive updates apply the formulas of AdamW and of gradient descent to
// gathered values and gradients, and clip by a naively computed norm. Also compares one complete
// training with a training by plain loops.

#include <doctest/doctest.h>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

#include <ashlar/nn/gpt.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace train = ashlar::train;

auto const net = nn::chain(nn::embedding(7, 4), nn::residual(nn::linear(4, 4)), nn::layer_norm(4),
                           nn::linear<1, 2>({4}, {2, 3}), nn::gelu(),
                           nn::linear<2, 1>({2, 3}, {7}));
nn::token_batch const batch{3, 4, 2};

std::vector<bool> decaying(auto& model) {
  std::vector<bool> all;
  model.for_each_parameter([&](auto const& p) {
    all.push_back(std::string(p.name()) != "bias" && std::string(p.name()) != "gain");
  });
  return all;
}

/// The AdamW state of one parameter element, and its update as in the papers.
struct naive_adam_w {
  train::adam_w o;
  double m = 0, v = 0;
  int t = 0;
  double next(double w, double g, bool decays, double rate) {
    ++t;
    m = o.beta1 * m + (1 - o.beta1) * g;
    v = o.beta2 * v + (1 - o.beta2) * g * g;
    double const lr = o.lr * rate;
    double const direction = (m / (1 - std::pow(o.beta1, t))) /
                             (std::sqrt(v / (1 - std::pow(o.beta2, t))) + o.epsilon);
    return w - lr * direction - (decays ? lr * o.weight_decay * w : 0);
  }
};
struct naive_sgd {
  train::sgd o;
  double velocity = 0;
  double next(double w, double g, bool decays, double rate) {
    velocity = o.momentum * velocity + g + (decays ? o.weight_decay * w : 0);
    return w - o.lr * rate * velocity;
  }
};

/// Runs five steps of the trainer. After each step, repeats the update naively on the gathered
/// values, and compares.
template <class Naive, class Optimizer>
void follow(ashlar::mesh const& m, search::plan const& plan, Optimizer const& optimizer,
            double clip) {
  auto model = nn::place<double>(net, m, plan, 5);
  train::warmup_cosine const rate{2, 5, 0.1};
  train::trainer trainer(model, optimizer, {.clip = clip, .schedule = rate});
  auto const decays = decaying(model);
  std::vector<std::vector<Naive>> states;
  bool clipped = false;
  for (int step = 0; step < 5; ++step) {
    auto expected = values_of(model);
    auto const report = trainer.step(
        random_batch<std::int32_t>(batch, 7, 7, static_cast<unsigned>(step), 4));
    auto const gradients = gradients_of(model);
    double squares = 0;
    for (auto const& g : gradients)
      for (double v : g) squares += v * v;
    CHECK(near(report.gradient_norm, std::sqrt(squares), 1e-12));
    CHECK(report.step == step);
    CHECK(report.learning_rate_factor == rate(step));
    clipped = clipped || std::sqrt(squares) > clip;
    double const factor = std::min(1.0, clip / std::sqrt(squares));
    for (std::size_t k = 0; k < expected.size(); ++k) {
      if (states.size() == k) states.emplace_back(expected[k].size(), Naive{optimizer});
      for (std::size_t i = 0; i < expected[k].size(); ++i)
        expected[k][i] = states[k][i].next(expected[k][i], factor * gradients[k][i], decays[k],
                                           rate(step));
    }
    CHECK(difference(values_of(model), expected) < 1e-12);
  }
  CHECK(clipped == (clip < 1));  // clipping happens exactly in the cases with a small limit
  CHECK(trainer.steps_done() == 5);
}

template <class Naive, class Optimizer>
void follow_plans(Optimizer const& optimizer, double clip) {
  auto const problem = any_length(nn::describe<double>(net, batch));
  for (auto const& m : all_meshes()) {
    plan_source const plans(problem, m);
    std::mt19937 random(1);
    follow<Naive>(m, plans.whole(), optimizer, clip);
    for (int i = 0; i < 4; ++i) follow<Naive>(m, plans.random(random), optimizer, clip);
  }
}

}  // namespace

TEST_CASE("AdamW") {
  train::adam_w const options{.lr = 0.02, .beta1 = 0.8, .beta2 = 0.9, .weight_decay = 0.3};
  follow_plans<naive_adam_w>(options, 0.05);
  follow_plans<naive_adam_w>(train::adam_w{}, 1e9);
}

TEST_CASE("gradient descent, with momentum and decay and without") {
  follow_plans<naive_sgd>(train::sgd{.lr = 0.1, .momentum = 0.8, .weight_decay = 0.05}, 0.05);
  follow_plans<naive_sgd>(train::sgd{.lr = 0.1}, 1e9);
}

TEST_CASE("softmax regression, computed by hand") {
  int const rows = 5, features = 3, classes = 4;
  auto const line = nn::chain(nn::linear(features, classes));
  auto const problem = any_length(nn::describe<double>(line, nn::feature_batch{rows, features}));
  auto const data = random_batch<double>(nn::feature_batch{rows, features}, 0, classes, 2);
  for (auto const& m : all_meshes()) {
    plan_source const plans(problem, m);
    std::mt19937 random(1);
    for (int turn = 0; turn < 4; ++turn) {
      auto model = nn::place<double>(line, m, plans.random(random), 9);
      train::trainer trainer(model, train::sgd{.lr = 0.5, .momentum = 0.5});
      auto values = values_of(model);  // weight [3, 4], bias [4]
      whole_parameters velocity{std::vector<double>(12), std::vector<double>(4)};
      for (int step = 0; step < 6; ++step) {
        double loss = 0;
        whole_parameters g{std::vector<double>(12), std::vector<double>(4)};
        for (std::size_t r = 0; r < 5; ++r) {
          double y[4], sum = 0;
          for (std::size_t c = 0; c < 4; ++c) {
            y[c] = values[1][c];
            for (std::size_t k = 0; k < 3; ++k)
              y[c] += data.inputs[3 * r + k] * values[0][4 * k + c];
            sum += std::exp(y[c]);
          }
          auto const target = static_cast<std::size_t>(data.targets[r]);
          loss += (std::log(sum) - y[target]) / rows;
          for (std::size_t c = 0; c < 4; ++c) {
            double const dy = (std::exp(y[c]) / sum - (c == target ? 1 : 0)) / rows;
            g[1][c] += dy;
            for (std::size_t k = 0; k < 3; ++k) g[0][4 * k + c] += data.inputs[3 * r + k] * dy;
          }
        }
        CHECK(near(trainer.step(data).loss, loss, 1e-12));
        for (std::size_t k = 0; k < 2; ++k)
          for (std::size_t i = 0; i < values[k].size(); ++i) {
            velocity[k][i] = 0.5 * velocity[k][i] + g[k][i];
            values[k][i] -= 0.5 * velocity[k][i];
          }
        CHECK(difference(values_of(model), values) < 1e-12);
      }
    }
  }
}

}  // namespace ashlar_test
