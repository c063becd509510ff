// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3

// Tests mixtures of experts. A mixture of one expert must equal a plain feed-forward net, bit for
// bit. The gradient of the balance loss must be that of its formula. A capacity must drop the
// tokens with the smallest gates. Impossible options must be refused with the same message on every
// rank.

#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

#include <ashlar/nn/moe.hpp>
#include <ashlar/search/baselines.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;

template <class T, class Net>
auto placed_alone(Net const& net, nn::token_batch const& batch) {
  auto const problem = search::any_length(nn::describe<T>(net, batch));
  ashlar::mesh const alone(MPI_COMM_SELF, {{"gpu", 1}});
  return nn::place<T>(net, alone, plan_source(problem, alone).whole(), 7);
}

template <class Model, class Net>
double step_alone(Model& model, Net const& net, nn::token_batch const& batch, int vocabulary) {
  model.clear_gradients();
  double const loss = accumulate_step(
      model, data_for<std::int32_t>(net, batch, vocabulary, 5, 3, -1), true);
  model.synchronize();
  return loss;
}

template <class T>
void check_one_expert() {
  nn::token_batch const batch{3, 17, 2};
  auto const mixture = nn::chain(nn::embedding(7, 24),
                                 nn::moe(24, {.experts = 1, .chosen = 1, .hidden = 40}),
                                 nn::linear(24, 5));
  auto const plain = nn::chain(nn::embedding(7, 24), nn::linear(24, 40, false), nn::gelu(),
                               nn::linear(40, 24, false), nn::linear(24, 5));
  auto a = placed_alone<T>(mixture, batch);
  auto b = placed_alone<T>(plain, batch);
  auto values = values_of(a);
  std::size_t const router = 2;  // the parameter after the embedding's table and the positions
  values.erase(values.begin() + router);
  set_values(b, values);
  CHECK(step_alone(a, mixture, batch, 7) == step_alone(b, plain, batch, 7));
  auto gradients = gradients_of(a);
  for (double const g : gradients[router]) CHECK(g == 0);
  gradients.erase(gradients.begin() + router);
  CHECK(gradients == gradients_of(b));
}

/// Returns the balance loss for tokens with the ids `ids`, computed from the values of the
/// embedding table and of the router.
double balance_loss(std::vector<double> const& table, std::vector<double> const& router,
                    std::span<std::int32_t const> ids, int features, nn::moe_options const& o) {
  auto const n = static_cast<std::size_t>(o.experts), d = static_cast<std::size_t>(features);
  std::vector<double> part(n), mean(n);
  auto const tokens = static_cast<double>(ids.size());
  for (auto const id : ids) {
    std::vector<double> p(n);
    double sum = 0;
    for (std::size_t e = 0; e < n; ++e) {
      double logit = 0;
      for (std::size_t i = 0; i < d; ++i)
        logit += table[static_cast<std::size_t>(id) * d + i] * router[i * n + e];
      sum += p[e] = std::exp(logit);
    }
    std::vector<std::size_t> order(n);
    for (std::size_t e = 0; e < n; ++e) order[e] = e;
    std::stable_sort(order.begin(), order.end(), [&](auto x, auto y) { return p[x] > p[y]; });
    for (int k = 0; k < o.chosen; ++k)
      part[order[static_cast<std::size_t>(k)]] += 1 / (tokens * o.chosen);
    for (std::size_t e = 0; e < n; ++e) mean[e] += p[e] / sum / tokens;
  }
  double loss = 0;
  for (std::size_t e = 0; e < n; ++e) loss += o.balance * o.experts * part[e] * mean[e];
  return loss;
}

}  // namespace

TEST_CASE("one expert for all tokens is a plain feed-forward net, bit for bit") {
  check_one_expert<float>();
  check_one_expert<double>();
}

TEST_CASE("the gradient of the balance loss is that of its formula") {
  nn::token_batch const batch{3, 5, 2};
  auto const net = [](nn::moe_options const& o) {
    return nn::chain(nn::embedding(7, 3, nn::no_positions), nn::moe(3, o), nn::linear(3, 5));
  };
  nn::moe_options const o{.experts = 4, .chosen = 2, .hidden = 3, .balance = 0.3};
  auto with_balance = placed_alone<double>(net(o), batch);
  auto without = placed_alone<double>(net({.experts = 4, .chosen = 2, .hidden = 3}), batch);
  auto values = values_of(without);
  disturb(values, 5);
  set_values(with_balance, values);
  set_values(without, values);
  auto const loss = step_alone(without, net(o), batch, 7);
  CHECK(step_alone(with_balance, net(o), batch, 7) == loss);  // a step's loss has no balance loss
  auto const more = gradients_of(with_balance), less = gradients_of(without);
  auto const data = data_for<std::int32_t>(net(o), batch, 7, 5, 3, -1);
  auto const total = [&] {  // the mean of the balance losses of both micro-batches
    double sum = 0;
    for (std::size_t b = 0; b < 2; ++b)
      sum += balance_loss(values[0], values[1], std::span(data.inputs).subspan(b * 15, 15), 3, o);
    return sum / 2;
  };
  for (std::size_t k : {0u, 1u})
    for (std::size_t i = 0; i < values[k].size(); ++i) {
      double const before = values[k][i], h = 1e-5;
      values[k][i] = before + h;
      double const above = total();
      values[k][i] = before - h;
      double const below = total();
      values[k][i] = before;
      CHECK(more[k][i] - less[k][i] == doctest::Approx((above - below) / (2 * h)).epsilon(1e-6));
    }
}

TEST_CASE("a capacity keeps the largest gates, and of equal gates the first tokens") {
  nn::moe_options const o{.experts = 2, .chosen = 1, .capacity = 0.8};
  // The tokens 0, 1, 3 and 4 choose expert 0, with the gates 0.5, 0.9, 0.5 and 0.7. Token 2 chooses
  // expert 1. With capacity 0.8, each expert takes at most ceil(0.8 · 5 / 2) = 2 of the 5 tokens.
  std::vector<float> const choices{0, .5f, 0, .9f, 1, .6f, 0, .5f, 0, .7f};
  auto const made = nn::routes_from(o, choices.data(), 5);
  CHECK(made.routes->expert == std::vector<std::int32_t>{-1, 0, 1, -1, 0});
  CHECK(made.chosen_by == std::vector<std::int64_t>{4, 1});
  auto const three = nn::routes_from({.experts = 2, .chosen = 1, .capacity = 1.2}, choices.data(),
                                     5);
  CHECK(three.routes->expert == std::vector<std::int32_t>{0, 0, 1, -1, 0});
}

TEST_CASE("a capacity that is a whole number of tokens but for rounding is this number") {
  std::vector<float> choices;  // 100 tokens, which all choose expert 0
  for (int t = 0; t < 100; ++t) choices.insert(choices.end(), {0, float(t)});
  auto const made = nn::routes_from({.experts = 2, .chosen = 1, .capacity = 1.1}, choices.data(),
                                    100);
  CHECK(1.1 * 50 > 55);
  CHECK(std::count(made.routes->expert.begin(), made.routes->expert.end(), 0) == 55);
}

TEST_CASE("a net whose experts have a capacity predicts whole batches only") {
  auto const samples_of = [](double capacity) {
    nn::token_batch const batch{3, 4};
    auto const net = nn::chain(nn::embedding(7, 4),
                               nn::moe(4, {.experts = 2, .chosen = 1, .capacity = capacity}),
                               nn::linear(4, 5));
    std::vector<std::int32_t> const ids(16, 1);
    auto model = placed_alone<double>(net, batch);
    CHECK(model.predict(std::span(ids).first(12)).size() == 60);
    return message_of([&] { model.predict(ids); });
  };
  CHECK(samples_of(nn::dropless) == "nothing was thrown");
  CHECK(samples_of(1) ==
        "model: 4 samples are no multiple of the planned batch of 3, but in this net samples "
        "depend on each other. Fill the batch up, or place the net for another one.");
}

TEST_CASE("the memory of a plan counts the temporaries of a mixture of experts") {
  ashlar::mesh const alone(MPI_COMM_SELF, {{"gpu", 1}});
  nn::feature_batch const batch{256, 32};
  auto const data = random_batch<double>(batch, 0, 4, 1);
  // A single expert gets the rows of all tokens, whatever the router computes. With only one hidden
  // feature, `dispatch` needs as much memory as the expert.
  for (int const hidden : {1, 120}) {
    auto const net = nn::chain(nn::linear(32, 32),
                               nn::moe(32, {.experts = 1, .chosen = 1, .hidden = hidden}),
                               nn::linear(32, 4));
    auto const problem = search::any_length(nn::describe<double>(net, batch, 0));
    auto const plan = plan_source(problem, alone).whole();
    auto model = nn::place<double>(net, alone, plan);
    accumulate_step(model, data);
    alone.memory().reset_peak();
    accumulate_step(model, data);
    auto const peak = static_cast<double>(alone.memory().peak_bytes());
    CAPTURE(hidden);
    CAPTURE(plan.memory);
    CAPTURE(peak);
    // The plan's memory does not count statistics, so the peak may be a little larger.
    CHECK(peak <= 1.05 * static_cast<double>(plan.memory));
    CHECK(peak >= 0.85 * static_cast<double>(plan.memory));
  }
}

TEST_CASE("of equal probabilities the lower experts are chosen") {
  std::vector<float> const p{.25f, .25f, .1f, .25f};
  std::vector<float> choices(2);
  nn::choose({.experts = 4, .chosen = 2}, p.data(), choices.data());
  CHECK(choices == std::vector<float>{0, 1});
}

TEST_CASE("what no mixture of experts can be") {
  auto const wrong = [](nn::moe_options const& o) { return message_of([&] { nn::moe(4, o); }); };
  CHECK(wrong({.experts = 3, .chosen = 4}) ==
        "nn::moe: 4 of 3 experts are chosen for each token. Choose at least 1 and at most all of "
        "them.");
  CHECK(wrong({.experts = 3, .chosen = 0}) ==
        "nn::moe: 0 of 3 experts are chosen for each token. Choose at least 1 and at most all of "
        "them.");
  CHECK(wrong({.experts = 0, .chosen = 0}) == "nn::moe: 0 experts. Give 1 or more.");
  for (double const capacity : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()})
    CHECK(
        has(wrong({.capacity = capacity}),
            ", with which the experts take no token. Give a positive number, or leave it out: then "
            "no token is dropped."));
  for (double const factor :
       {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    auto const text = std::to_string(factor) + ". Give 0 or a positive number.";
    CHECK(wrong({.balance = factor}) == "nn::moe: the factor of the balance loss is " + text);
    CHECK(wrong({.z_loss = factor}) == "nn::moe: the factor of the router's z-loss is " + text);
    CHECK(has(wrong({.imbalance = factor}), "nn::moe: the imbalance is " + std::to_string(factor)));
  }
  CHECK(wrong({.hidden = -2}) == "nn::moe: experts with -2 hidden features. Give 1 or more, or 0 "
                                 "for four times the features.");
}

TEST_CASE("an imbalance of at most three decimals is not rounded, any other is rounded up") {
  static_assert(nn::thousandths(1) == 1000 && nn::thousandths(1.001) == 1001 &&
                nn::thousandths(1.1) == 1100 && nn::thousandths(1.0011) == 1002);
  int wrong = 0;
  for (int n = 1000; n <= 1'000'000; ++n) {
    double const exact = n / 1000.0;
    wrong += nn::thousandths(exact) != n || nn::thousandths(std::nextafter(exact, 2e3)) != n + 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("layers that get rows of experts, or lack them") {
  auto const described = [](auto const& net) {
    return message_of([&] { nn::describe(net, nn::token_batch{3, 4}); });
  };
  auto const first = nn::chain(nn::embedding(7, 4), nn::dispatch(4, {}));
  CHECK(described(nn::chain(nn::embedding(7, 4), nn::experts(4, {}))) ==
        "nn::experts: the input is 3x4x4 but must be rows of 4 features and a gate for 8 experts. "
        "Put nn::dispatch before it.");
  CHECK(described(nn::chain(first, nn::experts(5, {}))) ==
        "nn::experts: the input is 3x4x2/8x5 but must be rows of 5 features and a gate for 8 "
        "experts. Put nn::dispatch before it.");
  CHECK(described(nn::chain(nn::embedding(7, 4), nn::combine())) ==
        "nn::combine: the input is 3x4x4 but must be rows of experts. Put nn::experts before it.");
  CHECK(described(nn::chain(nn::embedding(7, 4), nn::dispatch(5, {}))) ==
        "nn::dispatch: the input is 3x4x4 but must be [tokens.., 5].");
  CHECK(described(nn::chain(first, nn::gelu())) ==
        "gelu: the input of the layer is rows of experts. Put nn::combine before it.");
  CHECK(described(nn::chain(first, nn::linear(5, 2))) ==
        "linear: the input of the layer is rows of experts. Put nn::combine before it.");
  CHECK(described(first) ==
        "cross_entropy: the input of the layer is rows of experts. Put nn::combine before it.");
  CHECK(described(nn::chain(first, nn::residual(nn::experts(4, {})))) ==
        "residual: the input of the layer is rows of experts. Put nn::combine before it.");
}

TEST_CASE("routes that lead nowhere") {
  auto const wrong = [](std::vector<std::int32_t> expert) {
    return message_of([&] { nn::check_routes({2, 3, 2, std::move(expert)}); });
  };
  CHECK(wrong({0, 1, -1, 2}) == "nothing was thrown");
  CHECK(wrong({0, 1, 0, 3}) ==
        "routes: token 1 goes to expert 3, but there are 3 experts. Number them from 0; -1 means "
        "that the token is dropped.");
  CHECK(has(wrong({1, 1, 0, 2}), "routes: the experts of token 0 are not in ascending order"));
  CHECK(has(message_of([] {
              nn::check_routes({1, 4, 3, {3, -1, 3}});
            }),
            "routes: the experts of token 0 are not in ascending order"));
  CHECK(message_of([] { nn::check_routes({1, 4, 3, {1, -1, 3}}); }) == "nothing was thrown");
  CHECK(wrong({0, 1}) == "routes: 2 routes for 2 tokens with 2 experts each.");
}

TEST_CASE("logits that are not finite: the same sentence on every rank") {
  nn::token_batch const batch{3, 2};
  auto const net = nn::chain(nn::embedding(7, 4, nn::no_positions), nn::moe(4, {.hidden = 3}),
                             nn::linear(4, 5));
  auto const problem = search::any_length(nn::describe<double>(net, batch));
  for (auto const& m : all_meshes()) {
    auto model = nn::place<double>(net, m,
                                   search::data_parallel(problem, m.topology(), m.machine()), 7);
    auto values = values_of(model);
    values[0][6 * 4] = std::numeric_limits<double>::quiet_NaN();  // embedding of the token id 6
    set_values(model, values);
    std::vector<std::int32_t> const ids{0, 1, 2, 3, 4, 6}, targets(6);
    CHECK(
        message_of([&] { model.accumulate(ids, targets, 0); }) ==
        "nn::dispatch: the router's logits of token 5 of the micro-batch are not finite, so it has "
        "no experts. Lower the learning rate, or clip gradients.");
  }
}

}  // namespace ashlar_test
