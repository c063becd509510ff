// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8

// Compares the output of a GPT, a BERT and a perceptron with plain loops over the gathered
// parameters. The networks run under random plans. Other tests would not notice a wrong formula in
// the forward pass: they compare gradients only with the network's own forward pass, or plans only
// with each other.

#include <doctest/doctest.h>
#include <support/forward_trial.hpp>

#include <ashlar/nn/bert.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;

using vector = std::vector<double>;

/// A matrix, stored by rows.
struct rows_of {
  std::size_t columns;
  vector values;
  double& operator()(std::size_t r, std::size_t c) { return values[r * columns + c]; }
  double operator()(std::size_t r, std::size_t c) const { return values[r * columns + c]; }
  std::size_t rows() const { return values.size() / columns; }
};

rows_of linear(rows_of const& x, vector const& w, vector const& bias) {
  rows_of y{bias.size(), vector(x.rows() * bias.size())};
  for (std::size_t r = 0; r < x.rows(); ++r)
    for (std::size_t j = 0; j < y.columns; ++j) {
      y(r, j) = bias[j];
      for (std::size_t k = 0; k < x.columns; ++k) y(r, j) += x(r, k) * w[k * y.columns + j];
    }
  return y;
}

rows_of layer_norm(rows_of x, vector const& gain, vector const& bias) {
  auto const n = static_cast<double>(x.columns);
  for (std::size_t r = 0; r < x.rows(); ++r) {
    double mean = 0, variance = 0;
    for (std::size_t c = 0; c < x.columns; ++c) mean += x(r, c) / n;
    for (std::size_t c = 0; c < x.columns; ++c) variance += (x(r, c) - mean) * (x(r, c) - mean) / n;
    for (std::size_t c = 0; c < x.columns; ++c)
      x(r, c) = (x(r, c) - mean) / std::sqrt(variance + 1e-5) * gain[c] + bias[c];
  }
  return x;
}

rows_of gelu(rows_of x) {
  for (auto& v : x.values)
    v = 0.5 * v * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * v * v * v)));
  return x;
}

rows_of sum(rows_of a, rows_of const& b) {
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values[i];
  return a;
}

/// Computes attention over sequences of `length` tokens. A row of qkv belongs to a token and holds
/// q, k and v of each head.
rows_of attention(rows_of const& qkv, std::size_t length, std::size_t heads, bool causal = true) {
  std::size_t const size = qkv.columns / heads / 3;
  rows_of y{heads * size, vector(qkv.rows() * heads * size)};
  for (std::size_t row = 0; row < qkv.rows(); ++row)
    for (std::size_t h = 0; h < heads; ++h) {
      std::size_t const first = row / length * length, q = h * 3 * size;
      double total = 0;
      std::size_t const last = causal ? row : first + length - 1;
      for (std::size_t other = first; other <= last; ++other) {
        double score = 0;
        for (std::size_t i = 0; i < size; ++i) score += qkv(row, q + i) * qkv(other, q + size + i);
        double const weight = std::exp(score / std::sqrt(static_cast<double>(size)));
        total += weight;
        for (std::size_t i = 0; i < size; ++i)
          y(row, h * size + i) += weight * qkv(other, q + 2 * size + i);
      }
      for (std::size_t i = 0; i < size; ++i) y(row, h * size + i) /= total;
    }
  return y;
}

/// Reads the parameters of a network in order, and applies the layers to which they belong.
struct reader {
  whole_parameters const& all;
  std::size_t at = 0;
  vector const& next() { return all[at++]; }
  rows_of linear(rows_of const& x) {
    auto const& w = next();
    return ashlar_test::linear(x, w, next());
  }
  rows_of layer_norm(rows_of const& x) {
    auto const& gain = next();
    return ashlar_test::layer_norm(x, gain, next());
  }
};

/// Returns for each token the sum of its word embedding and its position embedding.
rows_of embedded(reader& read, std::vector<std::int32_t> const& ids, std::size_t length,
                 std::size_t features) {
  auto const& table = read.next();
  auto const& positions = read.next();
  rows_of x{features, vector(ids.size() * features)};
  for (std::size_t t = 0; t < ids.size(); ++t)
    for (std::size_t c = 0; c < features; ++c)
      x(t, c) = table[static_cast<std::size_t>(ids[t]) * features + c] +
                positions[t % length * features + c];
  return x;
}

vector bert_by_hand(whole_parameters const& parameters, std::vector<std::int32_t> const& ids,
                    std::size_t length, std::size_t features, std::size_t heads, int blocks) {
  reader read{parameters};
  auto x = read.layer_norm(embedded(read, ids, length, features));
  for (int block = 0; block < blocks; ++block) {
    auto const mixed = attention(read.linear(x), length, heads, false);
    x = read.layer_norm(sum(x, read.linear(mixed)));
    auto const hidden = gelu(read.linear(x));
    x = read.layer_norm(sum(x, read.linear(hidden)));
  }
  auto const transformed = read.layer_norm(gelu(read.linear(x)));
  return read.linear(transformed).values;
}

vector gpt_by_hand(whole_parameters const& parameters, std::vector<std::int32_t> const& ids,
                   std::size_t length, std::size_t features, std::size_t heads, int blocks) {
  reader read{parameters};
  auto x = embedded(read, ids, length, features);
  for (int block = 0; block < blocks; ++block) {
    auto const normal = read.layer_norm(x);
    auto const mixed = attention(read.linear(normal), length, heads);
    x = sum(x, read.linear(mixed));
    auto const second = read.layer_norm(x);
    auto const hidden = gelu(read.linear(second));
    x = sum(x, read.linear(hidden));
  }
  auto const last = read.layer_norm(x);
  return read.linear(last).values;
}

}  // namespace

TEST_CASE("a GPT of two blocks") {
  auto const net = nn::chain(nn::embedding(9, 6), nn::repeat(2, nn::gpt_block(6, 3, 0.5)),
                             nn::layer_norm(6), nn::linear(6, 9));
  check_predictions(net, nn::token_batch{3, 5}, 9, [](auto const& values, auto const& ids) {
    return gpt_by_hand(values, ids, 5, 6, 3, 2);
  });
}

TEST_CASE("a BERT of two blocks") {
  check_predictions(
      nn::bert({2, 6, 3, 9}), nn::token_batch{3, 5}, 9,
      [](auto const& values, auto const& ids) { return bert_by_hand(values, ids, 5, 6, 3, 2); });
}

TEST_CASE("a perceptron") {
  auto const net = nn::chain(nn::linear(4, 7), nn::relu(), nn::residual(nn::linear(7, 7)),
                             nn::layer_norm(7), nn::linear(7, 5));
  check_predictions(net, nn::feature_batch{5, 4}, 0, [](auto const& values, vector const& inputs) {
    reader read{values};
    auto x = read.linear({4, inputs});
    for (auto& v : x.values) v = std::max(v, 0.0);
    x = sum(x, read.linear(x));
    auto const normal = read.layer_norm(x);
    return read.linear(normal).values;
  });
}

TEST_CASE(
    "initial parameters: normal deviates of the documented widths, zero biases, gains of one") {
  auto const net = nn::chain(nn::embedding(64, 64), nn::layer_norm(64),
                             nn::linear<1, 2>({64}, {8, 16}), nn::linear<2, 1>({8, 16}, {64}));
  auto const problem = any_length(nn::describe<double>(net, nn::token_batch{4, 32}));
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const plan = plan_source(problem, m).whole();
  auto model = nn::place<double>(net, m, plan, 2);
  auto const values = values_of(model);
  double const deviations[] = {0.02, 0.02, 0, 0, 1 / 8.0, 0, 1 / std::sqrt(128.0), 0};
  double const means[] = {0, 0, 1, 0, 0, 0, 0, 0};
  CHECK(values.size() == 8);
  CHECK(model.parameter_count() == 64 * 64 + 32 * 64 + 2 * 64 + 64 * 128 + 128 + 128 * 64 + 64);
  for (std::size_t k = 0; k < values.size(); ++k) {
    CAPTURE(k);
    double mean = 0, square = 0;
    auto const n = static_cast<double>(values[k].size());
    for (double v : values[k]) mean += v / n, square += v * v / n;
    double const deviation = std::sqrt(std::max(0.0, square - mean * mean));
    CHECK(std::abs(mean - means[k]) <= 5 * deviations[k] / std::sqrt(n));
    CHECK(std::abs(deviation - deviations[k]) <= 5 * deviations[k] / std::sqrt(2 * n));
  }
  CHECK(values[4][0] != values[6][0]);  // each parameter has its own random stream
}

TEST_CASE("an empty chain at the begin of a net changes nothing") {
  nn::feature_batch const batch{5, 3};
  auto const bare = nn::chain(nn::linear(3, 4));
  auto const net = nn::chain(nn::repeat<0>(nn::linear(3, 3)), nn::chain(), nn::linear(3, 4));
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const plan = plan_source(any_length(nn::describe<double>(net, batch)), m).whole();
  auto model = nn::place<double>(net, m, plan, 2), same = nn::place<double>(bare, m, plan, 2);
  auto const data = random_batch<double>(batch, 0, 4, 1);
  CHECK(model.predict(data.inputs) == same.predict(data.inputs));
}

}  // namespace ashlar_test
