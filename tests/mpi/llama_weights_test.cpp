// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests that weights with Llama's published names and layouts can be loaded into nn::llama and
// nn::tied_llama. On any mesh and under any plan, the net must have the logits that plain loops
// compute from the file's tensors as the published program does. The numbers of key heads and of
// hidden features are not divisible by the numbers of ranks, so shards are uneven.

#include <cmath>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>
#include <support/published_tensors.hpp>
#include <support/shared_folder.hpp>

#include <ashlar/checkpoint/llama_names.hpp>
#include <ashlar/checkpoint/training.hpp>
#include <ashlar/nn/llama.hpp>
#include <ashlar/search/baselines.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;

// A head has 4 features, so that the pairs (0, 2), (1, 3) are others than (0, 1), (2, 3).
constexpr nn::llama_options published_size{.layers = 2,
                                           .features = 24,
                                           .heads = 6,
                                           .kv_heads = 3,
                                           .hidden = 5,
                                           .vocabulary = 11,
                                           .rotary_base = 50,
                                           .epsilon = 1e-3};
constexpr std::int64_t sequences = 3, length = 5;
constexpr char const* table = "model.embed_tokens.weight";

/// The tensors of a small Llama, by their published names.
published_tensors published_llama(bool has_last_matrix) {
  published_tensors all;
  auto const& o = published_size;
  std::int64_t const key_features = o.features / o.heads * o.kv_heads;
  all.add(table, {o.vocabulary, o.features});
  for (int i = 0; i < o.layers; ++i) {
    std::string const layer = "model.layers." + std::to_string(i) + ".";
    all.add(layer + "input_layernorm.weight", {o.features});
    all.add(layer + "self_attn.q_proj.weight", {o.features, o.features});
    all.add(layer + "self_attn.k_proj.weight", {key_features, o.features});
    all.add(layer + "self_attn.v_proj.weight", {key_features, o.features});
    all.add(layer + "self_attn.o_proj.weight", {o.features, o.features});
    all.add(layer + "post_attention_layernorm.weight", {o.features});
    all.add(layer + "mlp.gate_proj.weight", {o.hidden, o.features});
    all.add(layer + "mlp.up_proj.weight", {o.hidden, o.features});
    all.add(layer + "mlp.down_proj.weight", {o.features, o.hidden});
  }
  all.add("model.norm.weight", {o.features});
  if (has_last_matrix) all.add("lm_head.weight", {o.vocabulary, o.features});
  return all;
}

/// The published program for one sequence, as plain loops. A matrix has one row per position.
class published_program {
 public:
  explicit published_program(published_tensors const& all) : all_(&all) {}

  std::vector<double> logits(std::int32_t const* tokens) const {
    auto const& o = published_size;
    std::vector<double> x;
    for (std::int64_t t = 0; t < length; ++t)
      for (std::int64_t f = 0; f < o.features; ++f)
        x.push_back(of(table)[at(tokens[t] * o.features + f)]);
    for (int i = 0; i < o.layers; ++i) {
      std::string const layer = "model.layers." + std::to_string(i) + ".";
      auto const h = norm(x, layer + "input_layernorm.weight");
      auto q = times(h, layer + "self_attn.q_proj.weight");
      auto k = times(h, layer + "self_attn.k_proj.weight");
      turn(q, o.heads);
      turn(k, o.kv_heads);
      auto const v = times(h, layer + "self_attn.v_proj.weight");
      add(x, times(attend(q, k, v), layer + "self_attn.o_proj.weight"));
      auto const m = norm(x, layer + "post_attention_layernorm.weight");
      auto gate = times(m, layer + "mlp.gate_proj.weight");
      auto const up = times(m, layer + "mlp.up_proj.weight");
      for (std::size_t k2 = 0; k2 < gate.size(); ++k2)
        gate[k2] *= up[k2] / (1 + std::exp(-gate[k2]));
      add(x, times(gate, layer + "mlp.down_proj.weight"));
    }
    bool const is_tied = all_->values.count("lm_head.weight") == 0;
    return times(norm(x, "model.norm.weight"), is_tied ? table : "lm_head.weight");
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::vector<float> const& of(std::string const& name) const { return all_->values.at(name); }
  static void add(std::vector<double>& x, std::vector<double> const& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }
  /// Returns x w^T, where w is [out, in].
  std::vector<double> times(std::vector<double> const& x, std::string const& name) const {
    auto const& w = of(name);
    std::size_t const in = x.size() / length, out = w.size() / in;
    std::vector<double> y(length * out);
    for (std::size_t t = 0; t < length; ++t)
      for (std::size_t j = 0; j < out; ++j)
        for (std::size_t k = 0; k < in; ++k) y[t * out + j] += x[t * in + k] * w[j * in + k];
    return y;
  }
  std::vector<double> norm(std::vector<double> x, std::string const& name) const {
    auto const& gain = of(name);
    std::size_t const n = gain.size();
    for (std::size_t t = 0; t < length; ++t) {
      double square = 0;
      for (std::size_t f = 0; f < n; ++f) square += x[t * n + f] * x[t * n + f];
      double const root = std::sqrt(square / static_cast<double>(n) + published_size.epsilon);
      for (std::size_t f = 0; f < n; ++f) x[t * n + f] *= gain[f] / root;
    }
    return x;
  }
  /// Turns feature i of every head and feature i + half by the angle of their position.
  static void turn(std::vector<double>& x, std::int64_t heads) {
    std::int64_t const size = published_size.features / published_size.heads, half = size / 2;
    for (std::int64_t t = 0; t < length; ++t)
      for (std::int64_t h = 0; h < heads; ++h)
        for (std::int64_t i = 0; i < half; ++i) {
          double const power = -2.0 * static_cast<double>(i) / static_cast<double>(size);
          double const angle = static_cast<double>(t) * std::pow(published_size.rotary_base, power);
          double& first = x[at((t * heads + h) * size + i)];
          double& second = x[at((t * heads + h) * size + i + half)];
          double const real = first * std::cos(angle) - second * std::sin(angle);
          second = second * std::cos(angle) + first * std::sin(angle);
          first = real;
        }
  }
  static std::vector<double> attend(std::vector<double> const& q, std::vector<double> const& k,
                                    std::vector<double> const& v) {
    auto const& o = published_size;
    std::int64_t const size = o.features / o.heads, shared = o.heads / o.kv_heads;
    std::vector<double> y(q.size());
    for (std::int64_t t = 0; t < length; ++t)
      for (std::int64_t h = 0; h < o.heads; ++h) {
        std::int64_t const mine = (t * o.heads + h) * size;
        double total = 0;
        for (std::int64_t s = 0; s <= t; ++s) {
          std::int64_t const other = (s * o.kv_heads + h / shared) * size;
          double score = 0;
          for (std::int64_t i = 0; i < size; ++i) score += q[at(mine + i)] * k[at(other + i)];
          double const weight = std::exp(score / std::sqrt(static_cast<double>(size)));
          total += weight;
          for (std::int64_t i = 0; i < size; ++i) y[at(mine + i)] += weight * v[at(other + i)];
        }
        for (std::int64_t i = 0; i < size; ++i) y[at(mine + i)] /= total;
      }
    return y;
  }

  published_tensors const* all_;
};

std::vector<std::int32_t> some_tokens() {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < sequences * length; ++i)
    ids.push_back(static_cast<std::int32_t>((i * 7 + 3) % published_size.vocabulary));
  return ids;
}

template <class Net>
void check_published(Net const& net, bool has_last_matrix, std::string const& prefix) {
  auto const weights = published_llama(has_last_matrix);
  shared_folder const f;
  auto const file = f.path() / "model.safetensors";
  if (world_rank() == 0) weights.write(file, prefix);
  MPI_Barrier(MPI_COMM_WORLD);

  auto const ids = some_tokens();
  std::vector<double> expected;
  for (std::int64_t s = 0; s < sequences; ++s) {
    auto const some = published_program(weights).logits(&ids[static_cast<std::size_t>(s * length)]);
    expected.insert(expected.end(), some.begin(), some.end());
  }
  auto const problem = nn::describe<double>(net, nn::token_batch{sequences, length});
  for (auto const& m : all_meshes()) {
    auto const& t = m.topology();
    plan_source const plans(problem, m);
    std::mt19937 random(4);
    for (auto const& plan : {ashlar::search::data_parallel(problem, t, m.machine()),
                             ashlar::search::tensor_parallel(problem, t, m.machine()),
                             ashlar::search::zero_3(problem, t, m.machine()), plans.random(random),
                             plans.random(random)}) {
      auto model = nn::place<double>(net, m, plan);
      ashlar::checkpoint::load_parameters({file}, model, ashlar::checkpoint::llama_views(prefix),
                                          {.converts = true});
      auto const apart = difference({model.predict(ids)}, {expected});
      CHECK_MESSAGE(apart < 1e-12, apart, describe(problem, plan));
    }
  }
}

TEST_CASE("published weights of Llama on every mesh and plan") {
  check_published(nn::llama(published_size), true, "");
}

TEST_CASE("published weights of a Llama without a last matrix are those of its embedding") {
  check_published(nn::llama(published_size), false, "language_model.");
  check_published(nn::tied_llama(published_size), false, "");
}

TEST_CASE("published weights that do not fit a Llama are refused") {
  shared_folder const f;
  auto const file = f.path() / "model.safetensors";
  if (world_rank() == 0) published_llama(true).write(file, "");
  MPI_Barrier(MPI_COMM_WORLD);
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}}, ashlar::machines::workstation);
  auto const message = [&](auto const& net, auto const& batch, std::string const& prefix,
                           bool converts) {
    auto model = nn::place<double>(
        net, m,
        ashlar::search::data_parallel(nn::describe<double>(net, batch), m.topology(), m.machine()));
    return message_of([&] {
      ashlar::checkpoint::load_parameters({file}, model, ashlar::checkpoint::llama_views(prefix),
                                          {.converts = converts});
    });
  };
  nn::token_batch const batch{sequences, length};
  auto const net = nn::llama(published_size);
  CHECK(has(message(net, batch, "net.", true), "has no \"net.model.embed_tokens.weight\""));
  CHECK(has(message(net, batch, "", false), "\"model.embed_tokens.weight\" has type F32"));
  auto other = published_size;
  other.kv_heads = 2;
  CHECK(has(message(nn::llama(other), batch, "", true),
            "\"model.layers.0.self_attn.k_proj.weight\" has shape 12x24, but 8x24 is needed for "
            "\"1.0.0.1.0.weight\""));
  other = published_size;
  other.hidden = 6;
  CHECK(has(message(nn::llama(other), batch, "", true),
            "\"model.layers.0.mlp.gate_proj.weight\" has shape 5x24, but 6x24 is needed"));
  CHECK(has(message(nn::chain(nn::linear(3, 2)), nn::feature_batch{4, 3}, "", true),
            "\"0.weight\" is no parameter of nn::llama."));
}

}  // namespace
}  // namespace ashlar_test
