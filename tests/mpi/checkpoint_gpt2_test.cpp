// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 8

// Tests that weights with GPT-2's published names and layouts can be loaded into nn::gpt. On any
// mesh and under any plan, the net must have the loss that plain loops compute from the file's
// tensors.

#include <cmath>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/published_weights.hpp>
#include <support/shared_folder.hpp>

#include <ashlar/checkpoint/gpt2_names.hpp>
#include <ashlar/checkpoint/training.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>

namespace ashlar_test {
namespace {

namespace checkpoint = ashlar::checkpoint;
namespace nn = ashlar::nn;

constexpr int layers = 2, features = 12, heads = 3, words = 11, places = 9, sequences = 4,
              length = 5;
using matrix = std::vector<double>;

/// Returns the tensors of a small GPT-2, by their published names.
published_weights small_gpt2() {
  published_weights w;
  auto const add_pair = [&](std::string const& name, std::vector<std::int64_t> const& e) {
    w.add(name + ".weight", e);
    w.add(name + ".bias", {e.back()});
  };
  w.add("wte.weight", {words, features});
  w.add("wpe.weight", {places, features});
  for (int i = 0; i < layers; ++i) {
    std::string const h = "h." + std::to_string(i) + ".";
    for (char const* norm : {"ln_1", "ln_2"}) add_pair(h + norm, {features});
    add_pair(h + "attn.c_attn", {features, 3 * features});
    add_pair(h + "attn.c_proj", {features, features});
    add_pair(h + "mlp.c_fc", {features, 4 * features});
    add_pair(h + "mlp.c_proj", {4 * features, features});
  }
  add_pair("ln_f", {features});
  return w;
}

/// The forward pass of GPT-2 for one sequence, as plain loops.
class plain_gpt2 {
 public:
  explicit plain_gpt2(published_weights const& p) : p_(&p) {}

  /// Returns the sum of the cross entropies of all positions.
  double loss(std::int32_t const* tokens, std::int32_t const* targets) const {
    matrix x(length * features);
    for (int t = 0; t < length; ++t)
      for (int f = 0; f < features; ++f)
        x[at(t, f)] = of("wte.weight", tokens[t] * features + f) +
                      of("wpe.weight", t * features + f);
    for (int i = 0; i < layers; ++i) {
      std::string const h = "h." + std::to_string(i) + ".";
      auto const a = linear(attend(linear(norm(x, h + "ln_1"), h + "attn.c_attn", 3 * features)),
                            h + "attn.c_proj", features);
      for (std::size_t k = 0; k < x.size(); ++k) x[k] += a[k];
      auto hidden = linear(norm(x, h + "ln_2"), h + "mlp.c_fc", 4 * features);
      for (auto& v : hidden)
        v = v / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
      auto const b = linear(hidden, h + "mlp.c_proj", features);
      for (std::size_t k = 0; k < x.size(); ++k) x[k] += b[k];
    }
    x = norm(x, "ln_f");
    double sum = 0;
    for (int t = 0; t < length; ++t) {
      double total = 0, wanted = 0;
      for (int w = 0; w < words; ++w) {
        double logit = 0;
        for (int f = 0; f < features; ++f)
          logit += x[at(t, f)] * of("wte.weight", w * features + f);
        total += std::exp(logit);
        if (w == targets[t]) wanted = logit;
      }
      sum += std::log(total) - wanted;
    }
    return sum;
  }

 private:
  static std::size_t at(int row, int column, int columns = features) {
    return static_cast<std::size_t>(row * columns + column);
  }
  double of(std::string const& name, int i) const { return p_->at(name, i); }
  matrix linear(matrix const& x, std::string const& name, int out) const {
    int const in = static_cast<int>(x.size()) / length;
    matrix y(static_cast<std::size_t>(length * out));
    for (int t = 0; t < length; ++t)
      for (int o = 0; o < out; ++o) {
        double sum = of(name + ".bias", o);
        for (int k = 0; k < in; ++k) sum += x[at(t, k, in)] * of(name + ".weight", k * out + o);
        y[at(t, o, out)] = sum;
      }
    return y;
  }
  matrix norm(matrix const& x, std::string const& name) const {
    matrix y(x.size());
    for (int t = 0; t < length; ++t) {
      double mean = 0, square = 0;
      for (int f = 0; f < features; ++f) mean += x[at(t, f)] / features;
      for (int f = 0; f < features; ++f) square += std::pow(x[at(t, f)] - mean, 2) / features;
      for (int f = 0; f < features; ++f)
        y[at(t, f)] = (x[at(t, f)] - mean) / std::sqrt(square + 1e-5) * of(name + ".weight", f) +
                      of(name + ".bias", f);
    }
    return y;
  }
  /// Computes attention. Each row of `qkv` has the queries of all heads, then the keys of all
  /// heads, then the values of all heads.
  static matrix attend(matrix const& qkv) {
    constexpr int head = features / heads;
    matrix y(length * features);
    for (int h = 0; h < heads; ++h)
      for (int t = 0; t < length; ++t) {
        matrix score(static_cast<std::size_t>(t) + 1);
        double total = 0;
        for (int s = 0; s <= t; ++s) {
          double dot = 0;
          for (int f = 0; f < head; ++f)
            dot += qkv[at(t, h * head + f, 3 * features)] *
                   qkv[at(s, features + h * head + f, 3 * features)];
          total += score[static_cast<std::size_t>(s)] = std::exp(dot / std::sqrt(head));
        }
        for (int f = 0; f < head; ++f)
          for (int s = 0; s <= t; ++s)
            y[at(t, h * head + f)] += score[static_cast<std::size_t>(s)] / total *
                                      qkv[at(s, 2 * features + h * head + f, 3 * features)];
      }
    return y;
  }

  published_weights const* p_;
};

TEST_CASE("published weights of GPT-2 on every mesh and plan") {
  auto const weights = small_gpt2();
  shared_folder const f;
  auto const file = f.path() / "model.safetensors";
  if (world_rank() == 0) weights.write(file, "transformer.");
  MPI_Barrier(MPI_COMM_WORLD);

  ashlar::train::batch_data<> data;
  double expected = 0;
  plain_gpt2 const plain(weights);
  for (int i = 0; i < sequences * length; ++i) {
    data.inputs.push_back((i * 7 + 3) % words);
    data.targets.push_back((i * 5 + 1) % words);
  }
  for (int s = 0; s < sequences; ++s)
    expected += plain.loss(&data.inputs[static_cast<std::size_t>(s * length)],
                           &data.targets[static_cast<std::size_t>(s * length)]);
  expected /= sequences * length;

  auto const net = nn::gpt({layers, features, heads, words});
  for (auto const& m : all_meshes()) {
    auto const problem = nn::describe(net, nn::token_batch{sequences, length});
    auto const& t = m.topology();
    std::vector<ashlar::search::plan> const plans{
        ashlar::search::data_parallel(problem, t, m.machine()),
        ashlar::search::tensor_parallel(problem, t, m.machine()),
        ashlar::search::zero_3(problem, t, m.machine())};
    for (auto const& plan : plans) {
      auto model = nn::place<float>(net, m, plan);
      checkpoint::load_parameters({file}, model, checkpoint::gpt2_views("transformer."));
      ashlar::train::trainer trainer(model, ashlar::train::sgd{.lr = 0});
      CHECK(trainer.step(data).loss == doctest::Approx(expected).epsilon(1e-5));
    }
    // In a net with tied embeddings, the embedding and the head share one table.
    auto const tied = nn::tied_gpt({layers, features, heads, words});
    auto shared = nn::place<float>(
        tied, m,
        ashlar::search::optimal(nn::describe(tied, nn::token_batch{sequences, length}), t,
                                m.machine()));
    checkpoint::load_parameters({file}, shared, checkpoint::gpt2_views("transformer."));
    ashlar::train::trainer tied_trainer(shared, ashlar::train::sgd{.lr = 0});
    CHECK(tied_trainer.step(data).loss == doctest::Approx(expected).epsilon(1e-5));
    CHECK(shared.parameter_count() ==
          nn::place<float>(net, m, plans[0]).parameter_count() - words * features);
    auto const in_double = nn::describe<double>(net, nn::token_batch{sequences, length});
    auto exact = nn::place<double>(net, m,
                                   ashlar::search::data_parallel(in_double, t, m.machine()));
    auto const load = [&](std::string const& prefix, bool converts) {
      return message_of([&] {
        checkpoint::load_parameters({file}, exact, checkpoint::gpt2_views(prefix),
                                    {.converts = converts});
      });
    };
    CHECK(has(load("", true), "the checkpoint has no \"wte.weight\""));
    CHECK(has(load("transformer.", false), "\"transformer.wte.weight\" has type F32"));
    load("transformer.", true);
    ashlar::train::trainer u(exact, ashlar::train::sgd{.lr = 0});
    CHECK(u.step(data).loss == doctest::Approx(expected).epsilon(1e-9));

    auto longer = nn::place<float>(
        net, m,
        ashlar::search::data_parallel(nn::describe(net, nn::token_batch{sequences, places + 1}),
                                      m.topology(), m.machine()));
    CHECK(
        has(message_of([&] {
              checkpoint::load_parameters({file}, longer, checkpoint::gpt2_views("transformer."));
            }),
            "\"transformer.wpe.weight\" has shape 9x12, but 10x12 is needed for \"0.positions\""));
    auto const narrow = nn::gpt({layers, features / 2, heads, words});
    auto smaller = nn::place<float>(
        narrow, m,
        ashlar::search::data_parallel(nn::describe(narrow, nn::token_batch{sequences, length}), t,
                                      m.machine()));
    CHECK(has(message_of([&] {
                checkpoint::load_parameters({file}, smaller,
                                            checkpoint::gpt2_views("transformer."));
              }),
              "\"transformer.wte.weight\" has shape 11x12, but 11x6 is needed"));
    auto other = nn::place<float>(
        nn::chain(nn::linear(3, 2)), m,
        ashlar::search::data_parallel(
            nn::describe(nn::chain(nn::linear(3, 2)), nn::feature_batch{4, 3}), m.topology(),
            m.machine()));
    CHECK(has(
        message_of([&] { checkpoint::load_parameters({file}, other, checkpoint::gpt2_views()); }),
        "\"0.weight\" is no parameter of nn::gpt."));
  }
}

}  // namespace
}  // namespace ashlar_test
