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
#include <support/published_llama.hpp>
#include <support/shared_folder.hpp>

#include <ashlar/checkpoint/llama_names.hpp>
#include <ashlar/checkpoint/training.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/optimal.hpp>

namespace ashlar_test {
namespace {

namespace checkpoint = ashlar::checkpoint;
namespace nn = ashlar::nn;

constexpr int llama_length = 5;
using rows = std::vector<std::vector<double>>;  // one row per token

/// The forward pass of Llama for one sequence, as plain loops over the published tensors.
class plain_llama {
 public:
  plain_llama(published_weights const& w, nn::llama_options const& o) : w_(&w), o_(o) {}

  /// Returns the logits of all positions. `head` is the name of the last matrix.
  std::vector<double> logits(std::int32_t const* tokens, std::string const& head) const {
    rows x;
    for (int t = 0; t < llama_length; ++t)
      for (int f = 0; f < o_.features; ++f) {
        if (f == 0) x.emplace_back();
        x.back().push_back(w_->at("model.embed_tokens.weight", tokens[t] * o_.features + f));
      }
    for (int i = 0; i < o_.layers; ++i) {
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
      double const scale = 1 / std::sqrt(square / static_cast<double>(row.size()) + o_.epsilon);
      for (std::size_t f = 0; f < row.size(); ++f)
        row[f] *= scale * w_->at(name + ".weight", static_cast<std::int64_t>(f));
    }
    return x;
  }
  /// Returns the angle per position by which a pair of features is rotated, scaled as in Llama 3.1.
  double turn_of(int pair, int size) const {
    double const turn = std::pow(o_.rotary_base, -2.0 * pair / size);
    if (o_.scaling.factor == 1) return turn;
    double const wavelength = 2 * std::acos(-1.0) / turn;
    double const longest = o_.scaling.original / o_.scaling.low;
    double const shortest = o_.scaling.original / o_.scaling.high;
    if (wavelength < shortest) return turn;
    if (wavelength > longest) return turn / o_.scaling.factor;
    double const smooth = (o_.scaling.original / wavelength - o_.scaling.low) /
                          (o_.scaling.high - o_.scaling.low);
    return (1 - smooth) * turn / o_.scaling.factor + smooth * turn;
  }
  /// Returns the features of a head, rotated by the position of the token. Each pair (i, i + half)
  /// of features is rotated by the angle position · base^(-2 i / head_dim), or by the scaled angle.
  std::vector<double> turned(std::vector<double> const& row, int head, int position) const {
    int const size = static_cast<int>(o_.features / o_.heads), half = size / 2;
    std::vector<double> y(static_cast<std::size_t>(size));
    for (int f = 0; f < size; ++f) {
      double const angle = position * turn_of(f % half, size);
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
    int const size = static_cast<int>(o_.features / o_.heads);
    rows y(x.size());
    for (int t = 0; t < llama_length; ++t)
      for (int h = 0; h < o_.heads; ++h) {
        int const group = h / static_cast<int>(o_.heads / o_.kv_heads);
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
  nn::llama_options o_;
};

/// Returns the logits of all sequences.
std::vector<double> plain_logits(published_weights const& w, nn::llama_options const& o,
                                 std::vector<std::int32_t> const& ids, std::string const& head) {
  std::vector<double> all;
  plain_llama const plain(w, o);
  for (std::size_t s = 0; s < ids.size(); s += llama_length) {
    auto const logits = plain.logits(&ids[s], head);
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

TEST_CASE("published weights of Llama on every mesh and plan") {
  auto const weights = published_llama();
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
  auto const expected = plain_logits(weights, tiny_llama, ids, "lm_head");
  auto const expected_tied = plain_logits(weights, tiny_llama, ids, "model.embed_tokens");
  auto const expected_scaled = plain_logits(weights, scaled_llama, ids, "lm_head");
  CHECK(difference({expected}, {expected_scaled}) > 1e-4);

  auto const net = nn::llama(tiny_llama);
  auto const tied = nn::tied_llama(tiny_llama);
  auto const scaled = nn::llama(scaled_llama);
  checkpoint::load_options const converts{.converts = true};
  checkpoint::llama_views const copies("model.", checkpoint::tied_head::copied);
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
      checkpoint::load_parameters({headless}, model, copies, converts);
      CHECK(difference({model.predict(ids)}, {expected_tied}) < 1e-12);
      checkpoint::load_parameters({nested}, model, checkpoint::llama_views("language_model.model."),
                                  converts);
      CHECK(difference({model.predict(ids)}, {expected}) < 1e-12);
    }
    auto turned = nn::place<double>(
        scaled, m,
        ashlar::search::tensor_parallel(nn::describe<double>(scaled, batch), t, m.machine()));
    checkpoint::load_parameters({file}, turned, checkpoint::llama_views(), converts);
    CHECK(difference({turned.predict(ids)}, {expected_scaled}) < 1e-12);
    auto shared = nn::place<double>(
        tied, m, ashlar::search::optimal(nn::describe<double>(tied, batch), t, m.machine()));
    checkpoint::load_parameters({headless}, shared, checkpoint::llama_views(), converts);
    CHECK(difference({shared.predict(ids)}, {expected_tied}) < 1e-12);

    CHECK(has(
        message_of([&] {
          checkpoint::load_parameters({headless}, shared, checkpoint::llama_views(""), converts);
        }),
        "the checkpoint has no \"embed_tokens.weight\" of shape 11x16, which this net needs for "
        "\"0.table\". Tensors of this shape that the net does not read: "
        "\"model.embed_tokens.weight\"."));
    auto wider = tiny_llama;
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
