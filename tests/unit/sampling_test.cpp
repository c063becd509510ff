// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests how the next token is chosen from logits. The token is either the most probable one, or it
// is drawn with the probabilities that follow from the temperature and from top_k.

#include <array>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include <ashlar/nn/sampling.hpp>

namespace {

namespace nn = ashlar::nn;
std::array<double, 5> const logits{0.5, 2, -1, 2, 1};

/// Returns how often each token is chosen in `count` draws.
std::array<int, 5> times_chosen(nn::sampling const& how, int count) {
  std::array<int, 5> found{};
  for (int i = 0; i < count; ++i)
    ++found[static_cast<std::size_t>(nn::choose_token(std::span<double const>(logits), how, i))];
  return found;
}

}  // namespace

TEST_CASE("temperature 0 takes the first of the highest logits") {
  CHECK(times_chosen({}, 10)[1] == 10);
  CHECK(times_chosen({.top_k = 3, .seed = 9}, 10)[1] == 10);
}

TEST_CASE("draws have the probabilities of softmax(logits / temperature)") {
  constexpr int draws = 20000;
  auto const check = [](nn::sampling const& how, std::array<bool, 5> const& permitted) {
    auto const found = times_chosen(how, draws);
    double sum = 0;
    for (std::size_t i = 0; i < 5; ++i) sum += permitted[i] * std::exp(logits[i] / how.temperature);
    for (std::size_t i = 0; i < 5; ++i) {
      double const p = permitted[i] * std::exp(logits[i] / how.temperature) / sum;
      CHECK(std::abs(found[i] - draws * p) <= 5 * std::sqrt(draws * p * (1 - p)));
    }
  };
  check({.temperature = 0.7, .seed = 3}, {true, true, true, true, true});
  check({.temperature = 2, .top_k = 3, .seed = 3}, {false, true, false, true, true});
  check({.temperature = 2, .top_k = 9, .seed = 4}, {true, true, true, true, true});
  check({.temperature = 1, .top_k = 1}, {false, true, false, false, false});
}

TEST_CASE("a draw depends on the seed and its index only") {
  nn::sampling const how{.temperature = 1, .seed = 5};
  CHECK((times_chosen(how, 200) == times_chosen(how, 200)));
  CHECK((times_chosen(how, 200) != times_chosen({.temperature = 1, .seed = 6}, 200)));
}

TEST_CASE("logits that are not finite are refused") {
  double const infinity = std::numeric_limits<double>::infinity();
  for (double const wrong : {std::numeric_limits<double>::quiet_NaN(), infinity})
    for (nn::sampling const how : {nn::sampling{}, nn::sampling{.temperature = 1, .top_k = 2}}) {
      std::array<double, 3> const values{1, wrong, 2};
      CHECK_THROWS_WITH_AS(nn::choose_token(std::span<double const>(values), how, 0),
                           doctest::Contains("a logit is NaN or infinite"), ashlar::error);
    }
  for (nn::sampling const how : {nn::sampling{}, nn::sampling{.temperature = 1, .top_k = 2}}) {
    std::array<double, 3> const none{-infinity, -infinity, -infinity};
    CHECK_THROWS_WITH_AS(nn::choose_token(std::span<double const>(none), how, 0),
                         doctest::Contains("a logit is NaN or infinite"), ashlar::error);
  }
  std::array<double, 3> const masked{-infinity, 1, -infinity};
  CHECK(nn::choose_token(std::span<double const>(masked), {.temperature = 1}, 0) == 1);
}
