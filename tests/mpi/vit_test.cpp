// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests the vision transformer: its number of parameters, and its logits against plain loops. Also
// tests that a small vision transformer, with a layer scale and without, trains under searched,
// data parallel, tensor parallel and ZeRO plans as on one process, with the collectives and bytes
// that are planned.

#include <doctest/doctest.h>
#include <support/forward_trial.hpp>
#include <support/message_of.hpp>
#include <support/usual_plans.hpp>

#include <ashlar/nn/verify.hpp>
#include <ashlar/nn/vit.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
using doubles = std::vector<double>;

constexpr nn::vit_options small_vit{.image = 6,
                                    .patch = 2,
                                    .layers = 2,
                                    .features = 8,
                                    .heads = 2,
                                    .hidden = 10,
                                    .classes = 5,
                                    .channels = 2};
constexpr nn::image_batch small_images{3, 2, 6, 6, 2};

/// Returns x w + bias of rows x [rows, in] and w [in, out].
doubles linear_of(doubles const& x, doubles const& w, doubles const& bias) {
  std::size_t const out = bias.size(), in = w.size() / out;
  doubles y;
  for (std::size_t r = 0; r < x.size() / in; ++r)
    for (std::size_t j = 0; j < out; ++j) {
      double sum = bias[j];
      for (std::size_t k = 0; k < in; ++k) sum += x[r * in + k] * w[k * out + j];
      y.push_back(sum);
    }
  return y;
}

doubles layer_norm_of(doubles x, doubles const& gain, doubles const& bias) {
  std::size_t const n = gain.size();
  for (std::size_t r = 0; r < x.size() / n; ++r) {
    double mean = 0, square = 0;
    for (std::size_t c = 0; c < n; ++c) mean += x[r * n + c] / static_cast<double>(n);
    for (std::size_t c = 0; c < n; ++c) square += std::pow(x[r * n + c] - mean, 2);
    double const scale = 1 / std::sqrt(square / static_cast<double>(n) + 1e-5);
    for (std::size_t c = 0; c < n; ++c)
      x[r * n + c] = (x[r * n + c] - mean) * scale * gain[c] + bias[c];
  }
  return x;
}

/// Returns the attention of every token to all tokens of its image, from the queries, keys and
/// values of each head.
doubles attention_of(doubles const& qkv, std::size_t tokens, std::size_t heads, std::size_t size) {
  doubles y;
  std::size_t const token = 3 * heads * size;
  for (std::size_t row = 0; row < qkv.size() / token; ++row)
    for (std::size_t h = 0; h < heads; ++h) {
      auto const at = [&](std::size_t other, std::size_t part) {
        return qkv.data() + other * token + (3 * h + part) * size;
      };
      doubles mixed(size);
      double total = 0;
      std::size_t const first = row / tokens * tokens;
      for (std::size_t other = first; other < first + tokens; ++other) {
        double score = 0;
        for (std::size_t i = 0; i < size; ++i) score += at(row, 0)[i] * at(other, 1)[i];
        double const weight = std::exp(score / std::sqrt(static_cast<double>(size)));
        total += weight;
        for (std::size_t i = 0; i < size; ++i) mixed[i] += weight * at(other, 2)[i];
      }
      for (double const v : mixed) y.push_back(v / total);
    }
  return y;
}

/// Returns the logits of a vision transformer from its parameters in their order in the net.
doubles vit_by_hand(whole_parameters const& all, doubles const& images, nn::vit_options const& o,
                    bool is_scaled) {
  auto const of = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  std::size_t const d = of(o.features), p = of(o.patch), side = of(o.image / o.patch),
                    tokens = side * side, channels = of(o.channels), width = of(o.image);
  std::size_t const samples = images.size() / (channels * width * width);
  std::size_t next = 0;
  auto const& kernel = all[next++];  // [features, channels, patch, patch]
  auto const& bias = all[next++];
  auto const& positions = all[next++];
  doubles x;
  for (std::size_t s = 0; s < samples; ++s)
    for (std::size_t t = 0; t < tokens; ++t)
      for (std::size_t f = 0; f < d; ++f) {
        double sum = bias[f] + positions[t * d + f];
        for (std::size_t c = 0; c < channels; ++c)
          for (std::size_t i = 0; i < p; ++i)
            for (std::size_t j = 0; j < p; ++j)
              sum += kernel[((f * channels + c) * p + i) * p + j] *
                     images[((s * channels + c) * width + t / side * p + i) * width + t % side * p +
                            j];
        x.push_back(sum);
      }
  auto const add = [&](doubles const& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i] * (is_scaled ? all[next][i % d] : 1);
    next += is_scaled;
  };
  for (int block = 0; block < o.layers; ++block) {
    auto const qkv = linear_of(layer_norm_of(x, all[next], all[next + 1]), all[next + 2],
                               all[next + 3]);
    auto const mixed = linear_of(attention_of(qkv, tokens, of(o.heads), d / of(o.heads)),
                                 all[next + 4], all[next + 5]);
    next += 6;
    add(mixed);
    auto hidden = linear_of(layer_norm_of(x, all[next], all[next + 1]), all[next + 2],
                            all[next + 3]);
    for (double& v : hidden)
      v *= 0.5 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * v * v * v)));
    auto const made = linear_of(hidden, all[next + 4], all[next + 5]);
    next += 6;
    add(made);
  }
  x = layer_norm_of(x, all[next], all[next + 1]);
  doubles mean(samples * d);
  for (std::size_t i = 0; i < x.size(); ++i)
    mean[i / (tokens * d) * d + i % d] += x[i] / static_cast<double>(tokens);
  return linear_of(mean, all[next + 2], all[next + 3]);
}

template <class Net>
void trains_alike_under_usual_plans(Net const& net) {
  for (auto const& m : all_meshes()) {
    if (m.axes() > 2) continue;  // on three axes, a search takes seconds
    training_trial it(net, small_images, m, 0, 5);
    check_usual_plans(it, m, 1);
  }
}

}  // namespace

TEST_CASE("ViT-B/16 has the published parameters, without the class token and its position") {
  auto const count = [](auto const& net) {
    return nn::parameter_count(nn::describe(net, nn::image_batch{1, 3, 224, 224}));
  };
  CHECK(count(nn::vit_b16()) == 86'567'656 - 2 * 768);
  CHECK(count(nn::vit({}, 0.1)) == 86'567'656 - 2 * 768 + 24 * 768);
  CHECK(message_of([&] { nn::vit({.image = 224, .patch = 15}); }) ==
        "nn::vit: images of 224 rows are not divided into patches of 15. Choose a patch that "
        "divides the image.");
}

TEST_CASE("the layers of a vision transformer have the rows and gradients that verify tests") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"rank", world_size()}});
  nn::verify(nn::layer_scale(4, 0.3), {3, 4}, m);
  nn::verify(nn::layer_scale(3), {2, 3, 2, 3}, m);
  nn::verify(nn::image_positions(3, 2, 4), {3, 3, 2, 4}, m);
  nn::verify(nn::mean_of_tokens(), {3, 3, 2, 4}, m);
  CHECK(message_of([] {
          nn::layer_scale(4).spec({3, 5});
        }) == "layer_scale: dim 1 of 3x5 must have the extent 4.");
}

TEST_CASE("the classes of a vision transformer equal those of plain loops") {
  auto const check = [](auto const& net, bool is_scaled) {
    check_predictions(net, small_images, 0, [&](auto const& values, auto const& images) {
      return vit_by_hand(values, images, small_vit, is_scaled);
    });
  };
  check(nn::vit(small_vit), false);
  check(nn::vit(small_vit, 0.1), true);
}

TEST_CASE("a vision transformer trains under searched, data, tensor and ZeRO plans as on one") {
  trains_alike_under_usual_plans(nn::vit(small_vit));
  trains_alike_under_usual_plans(nn::vit(small_vit, 0.1));
}

TEST_CASE("a vision transformer learns, under a tensor parallel plan") {
  auto const net = nn::vit(small_vit, 0.1);
  auto const problem = any_length(nn::describe<double>(net, small_images));
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto model = nn::place<double>(net, m,
                                 search::tensor_parallel(problem, m.topology(), m.machine()), 4);
  ashlar::train::trainer trainer(model, ashlar::train::adam_w{.lr = 0.01});
  auto const data = random_batch<double>(small_images, 0, 5, 1);
  double const first = trainer.step(data).loss;
  for (int s = 0; s < 30; ++s) trainer.step(data);
  CHECK(trainer.step(data).loss < 0.5 * first);
}

}  // namespace ashlar_test
