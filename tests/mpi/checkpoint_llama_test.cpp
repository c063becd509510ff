// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests that weights with Llama's published names and layouts can be loaded into nn::llama. On any
// mesh and under any plan, the net must have the logits that plain loops compute from the file's
// tensors.

#include <cmath>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/published_weights.hpp>
#include <support/shared_folder.hpp>

#include <ashlar/checkpoint/llama_names.hpp>
#include <ashlar/checkpoint/training.hpp>
#include <ashlar/nn/llama.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/optimal.hpp>

namespace ashlar_test {
namespace {

namespace checkpoint = ashlar::checkpoint;
namespace nn = ashlar::nn;

constexpr nn::llama_options tiny{.layers = 2,
                                 .features = 16,
                                 .heads = 4,
                                 .kv_heads = 2,
                                 .hidden = 10,
                                 .vocabulary = 11,
                                 .rotary_base = 100};
constexpr int llama_length = 5;
using rows = std::vector<std::vector<double>>;  // one per token

/// Returns the tensors of a small Llama, by their published names.
published_weights small_llama() {
  published_weights w;
  auto const d = tiny.features, keys = d / tiny.heads * tiny.kv_heads;
  w.add("model.embed_tokens.weight", {tiny.vocabulary, d}, 0.1f);
  w.add("model.norm.weight", {d}, 1);
  w.add("lm_head.weight", {tiny.vocabulary, d});
  for (int i = 0; i < tiny.layers; ++i) {
    std::string const block = "model.layers." + std::to_string(i) + ".";
    w.add(block + "input_layernorm.weight", {d}, 1);
    w.add(block + "post_attention_layernorm.weight", {d}, 1);
    w.add(block + "self_attn.q_proj.weight", {d, d});
    w.add(block + "self_attn.k_proj.weight", {keys, d});
    w.add(block + "self_attn.v_proj.weight", {keys, d});
    w.add(block + "self_attn.o_proj.weight", {d, d});
    w.add(block + "mlp.gate_proj.weight", {tiny.hidden, d});
    w.add(block + "mlp.up_proj.weight", {tiny.hidden, d});
    w.add(block + "mlp.down_proj.weight", {d, tiny.hidden});
  }
  return w;
}

/// The forward pass of Llama for one sequence, as plain loops over the published tensors.
class plain_llama {
 public:
  explicit plain_llama(published_weights const& w) : w_(&w) {}

  /// Returns the logits of all positions, with this matrix at the end.
  std::vector<double> logits(std::int32_t const* tokens, std::string const& head) const {
    rows x;
    for (int t = 0; t < llama_length; ++t)
      for (int f = 0; f < tiny.features; ++f) {
        if (f == 0) x.emplace_back();
        x.back().push_back(w_->at("model.embed_tokens.weight", tokens[t] * tiny.features + f));
      }
    for (int i = 0; i < tiny.layers; ++i) {
      std::string const block = "model.layers." + std::to_string(i) + ".";
      add(attention(norm(x, block + "input_layernorm"), block + "self_attn."), x);
      auto const y = norm(x, block + "post_attention_layernorm");
      auto gate = product(y, block + "mlp.gate_proj");
      auto const up = product(y, block + "mlp.up_proj");
      for (std::size_t t = 0; t < gate.size(); ++t)
        for (std::size_t f = 0; f < gate[t].size(); ++f)
          gate[t][f] *= up[t][f] / (1 + std::exp(-gate[t][f]));
      add(product(gate, block + "mlp.down_proj"), x);
    }
    std::vector<double> all;
    for (auto const& row : product(norm(x, "model.norm"), head))
      all.insert(all.end(), row.begin(), row.end());
    return all;
  }

 private:
  static void add(rows const& y, rows& x) {
    for (std::size_t t = 0; t < x.size(); ++t)
      for (std::size_t f = 0; f < x[t].size(); ++f) x[t][f] += y[t][f];
  }
  /// Returns x times the transpose of a published matrix [out, in].
  rows product(rows const& x, std::string const& name) const {
    auto const in = static_cast<std::int64_t>(x.front().size());
    auto const out = w_->elements(name + ".weight") / in;
    rows y;
    for (auto const& row : x) {
      y.emplace_back();
      for (std::int64_t o = 0; o < out; ++o) {
        double sum = 0;
        for (std::int64_t i = 0; i < in; ++i)
          sum += row[static_cast<std::size_t>(i)] * w_->at(name + ".weight", o * in + i);
        y.back().push_back(sum);
      }
    }
    return y;
  }
  rows norm(rows x, std::string const& name) const {
    for (auto& row : x) {
      double square = 0;
      for (double const v : row) square += v * v;
      double const scale = 1 / std::sqrt(square / static_cast<double>(row.size()) + tiny.epsilon);
      for (std::size_t f = 0; f < row.size(); ++f)
        row[f] *= scale * w_->at(name + ".weight", static_cast<std::int64_t>(f));
    }
    return x;
  }
  /// Returns the features of a head, turned by its position: each pair (i, i + half) by an angle of
  /// position base^(-2 i / head_dim).
  static std::vector<double> turned(std::vector<double> const& row, int head, int position) {
    int const size = static_cast<int>(tiny.features / tiny.heads), half = size / 2;
    std::vector<double> y(static_cast<std::size_t>(size));
    for (int f = 0; f < size; ++f) {
      double const angle = position * std::pow(tiny.rotary_base, -2.0 * (f % half) / size);
      double const other = row[static_cast<std::size_t>(head * size + (f + half) % size)];
      y[static_cast<std::size_t>(f)] = row[static_cast<std::size_t>(head * size + f)] *
                                           std::cos(angle) +
                                       (f < half ? -other : other) * std::sin(angle);
    }
    return y;
  }
  rows attention(rows const& x, std::string const& name) const {
    auto const q = product(x, name + "q_proj"), k = product(x, name + "k_proj"),
               v = product(x, name + "v_proj");
    int const size = static_cast<int>(tiny.features / tiny.heads);
    rows y(x.size());
    for (int t = 0; t < llama_length; ++t)
      for (int h = 0; h < tiny.heads; ++h) {
        int const group = h / static_cast<int>(tiny.heads / tiny.kv_heads);
        auto const query = turned(q[static_cast<std::size_t>(t)], h, t);
        std::vector<double> mixed(static_cast<std::size_t>(size));
        double total = 0;
        for (int s = 0; s <= t; ++s) {
          auto const key = turned(k[static_cast<std::size_t>(s)], group, s);
          double score = 0;
          for (std::size_t f = 0; f < key.size(); ++f) score += query[f] * key[f];
          double const weight = std::exp(score / std::sqrt(size));
          total += weight;
          for (int f = 0; f < size; ++f)
            mixed[static_cast<std::size_t>(f)] +=
                weight * v[static_cast<std::size_t>(s)][static_cast<std::size_t>(group * size + f)];
        }
        for (double const m : mixed) y[static_cast<std::size_t>(t)].push_back(m / total);
      }
    return product(y, name + "o_proj");
  }

  published_weights const* w_;
};

TEST_CASE("published weights of Llama on every mesh and plan") {
  auto const weights = small_llama();
  shared_folder const f;
  auto const file = f.path() / "model.safetensors", headless = f.path() / "headless.safetensors",
             nested = f.path() / "nested.safetensors";
  if (world_rank() == 0) {
    weights.write(file, "");
    weights.write(headless, "", "lm_head.weight");
    weights.write(nested, "language_model.");
  }
  MPI_Barrier(MPI_COMM_WORLD);

  nn::token_batch const batch{3, llama_length};
  auto const ids = random_batch<std::int32_t>(batch, 11, 11, 5).inputs;
  std::vector<double> expected, expected_tied;
  plain_llama const plain(weights);
  for (std::size_t s = 0; s < ids.size(); s += llama_length) {
    auto const own = plain.logits(&ids[s], "lm_head"),
               shared = plain.logits(&ids[s], "model.embed_tokens");
    expected.insert(expected.end(), own.begin(), own.end());
    expected_tied.insert(expected_tied.end(), shared.begin(), shared.end());
  }

  auto const net = nn::llama(tiny);
  auto const tied = nn::tied_llama(tiny);
  checkpoint::load_options const converts{.converts = true};
  for (auto const& m : all_meshes()) {
    auto const& t = m.topology();
    if (t.axes() > 2) continue;  // on three axes, a search takes seconds
    auto const problem = nn::describe<double>(net, batch);
    for (auto const& plan : {ashlar::search::data_parallel(problem, t, m.machine()),
                             ashlar::search::tensor_parallel(problem, t, m.machine()),
                             ashlar::search::zero_3(problem, t, m.machine())}) {
      auto model = nn::place<double>(net, m, plan);
      checkpoint::load_parameters({file}, model, checkpoint::llama_views(), converts);
      CHECK(difference({model.predict(ids)}, {expected}) < 1e-12);
      checkpoint::load_parameters({headless}, model, checkpoint::llama_views(), converts);
      CHECK(difference({model.predict(ids)}, {expected_tied}) < 1e-12);
      checkpoint::load_parameters({nested}, model, checkpoint::llama_views("language_model.model."),
                                  converts);
      CHECK(difference({model.predict(ids)}, {expected}) < 1e-12);
    }
    auto shared = nn::place<double>(
        tied, m, ashlar::search::optimal(nn::describe<double>(tied, batch), t, m.machine()));
    checkpoint::load_parameters({file}, shared, checkpoint::llama_views(), converts);
    CHECK(difference({shared.predict(ids)}, {expected_tied}) < 1e-12);

    CHECK(has(message_of([&] {
                checkpoint::load_parameters({file}, shared, checkpoint::llama_views(""), converts);
              }),
              "the checkpoint has no \"embed_tokens.weight\""));
    auto wider = tiny;
    wider.kv_heads = 4;
    auto const other = nn::llama(wider);
    auto more_keys = nn::place<double>(
        other, m,
        ashlar::search::data_parallel(nn::describe<double>(other, batch), t, m.machine()));
    CHECK(has(message_of([&] {
                checkpoint::load_parameters({file}, more_keys, checkpoint::llama_views(), converts);
              }),
              "\"model.layers.0.self_attn.k_proj.weight\" has shape 8x16, but 16x16 is needed"));
    auto const linear = nn::chain(nn::linear(3, 2));
    auto foreign = nn::place<float>(
        linear, m,
        ashlar::search::data_parallel(nn::describe(linear, nn::feature_batch{4, 3}), t,
                                      m.machine()));
    CHECK(has(message_of(
                  [&] { checkpoint::load_parameters({file}, foreign, checkpoint::llama_views()); }),
              "\"0.weight\" is no parameter of nn::llama."));
  }
}

}  // namespace
}  // namespace ashlar_test
