// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Compares the output of networks on images, and of recommendation networks, with plain loops over
// the gathered parameters. The networks run under random plans.

#include <support/forward_trial.hpp>

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/dlrm.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/pooling.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;

dense of(index extents, std::vector<double> values) {
  dense x(std::move(extents));
  x.values = std::move(values);
  return x;
}

dense convolution(dense const& x, dense const& weight, std::vector<double> const& bias, int stride,
                  int padding) {
  int const kernel = weight.extent(2);
  auto const places = [&](int n) { return (n + 2 * padding - kernel) / stride + 1; };
  dense y({x.extent(0), weight.extent(0), places(x.extent(2)), places(x.extent(3))});
  for_each_index(y.extents, [&](index const& i) {
    y(i) = bias[static_cast<std::size_t>(i[1])];
    for_each_index({x.extent(1), kernel, kernel}, [&](index const& k) {
      index const at{i[0], k[0], i[2] * stride - padding + k[1], i[3] * stride - padding + k[2]};
      if (at[2] >= 0 && at[2] < x.extent(2) && at[3] >= 0 && at[3] < x.extent(3))
        y(i) += x(at) * weight({i[1], k[0], k[1], k[2]});
    });
  });
  return y;
}

/// Computes pooling with a square window of `window` pixels, at all positions at which it is inside
/// the image, without padding.
dense pooled(dense const& x, int window, int stride, bool maximum) {
  auto const places = [&](int n) { return (n - window) / stride + 1; };
  dense y({x.extent(0), x.extent(1), places(x.extent(2)), places(x.extent(3))},
          maximum ? -1e300 : 0);
  for_each_index(y.extents, [&](index const& i) {
    for_each_index({window, window}, [&](index const& k) {
      double const v = x({i[0], i[1], i[2] * stride + k[0], i[3] * stride + k[1]});
      y(i) = maximum ? std::max(y(i), v) : y(i) + v / (window * window);
    });
  });
  return y;
}

/// Computes x times the weight plus the bias. x is viewed as a matrix with as many columns as the
/// weight has rows.
dense linear(dense const& x, std::vector<double> const& weight, std::vector<double> const& bias) {
  int const outs = static_cast<int>(bias.size());
  int const ins = static_cast<int>(weight.size()) / outs;
  int const rows = static_cast<int>(x.values.size()) / ins;
  dense const matrix = of({rows, ins}, x.values), w = of({ins, outs}, weight);
  dense y({rows, outs});
  for_each_index({rows, outs, ins}, [&](index const& i) {
    if (i[2] == 0) y({i[0], i[1]}) += bias[static_cast<std::size_t>(i[1])];
    y({i[0], i[1]}) += matrix({i[0], i[2]}) * w({i[2], i[1]});
  });
  return y;
}

dense relu(dense x) {
  for (auto& v : x.values) v = std::max(v, 0.0);
  return x;
}

}  // namespace

TEST_CASE("a net of convolutions, both kinds of pooling and linear layers") {
  auto const net = nn::chain(nn::convolution(2, 3, 3, {.stride = 2, .padding = 1}), nn::relu(),
                             nn::max_pool(2, {.stride = 1}), nn::convolution(3, 4, 1),
                             nn::average_pool(2, {.stride = 1}), nn::linear<3, 1>({4, 2, 3}, {5}));
  check_predictions(net, nn::image_batch{3, 2, 7, 9}, 0, [](auto const& p, auto const& inputs) {
    auto x = relu(convolution(of({3, 2, 7, 9}, inputs), of({3, 2, 3, 3}, p[0]), p[1], 2, 1));
    x = convolution(pooled(x, 2, 1, true), of({4, 3, 1, 1}, p[2]), p[3], 1, 0);
    return linear(pooled(x, 2, 1, false), p[4], p[5]).values;
  });
}

TEST_CASE("a DLRM without numeric features") {
  auto const net = nn::dlrm({.tables = 4, .rows = 5, .features = 3, .top = {5, 4, 3, 3}});
  check_predictions(net, nn::category_batch{3, 4}, 5, [](auto const& p, auto const& ids) {
    dense const tables = of({4, 5, 3}, p[0]);
    dense x({3, 6});
    for (int b = 0; b < 3; ++b)
      for (int i = 1, pair = 0; i < 4; ++i)
        for (int j = 0; j < i; ++j, ++pair)
          for (int c = 0; c < 3; ++c) {
            auto const id = [&](int t) { return ids[static_cast<std::size_t>(b * 4 + t)]; };
            x({b, pair}) += tables({i, id(i), c}) * tables({j, id(j), c});
          }
    for (std::size_t k = 1; k < 9; k += 2) x = relu(linear(x, p[k], p[k + 1]));
    return linear(x, p[9], p[10]).values;
  });
}

}  // namespace ashlar_test
