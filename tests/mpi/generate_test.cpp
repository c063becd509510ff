// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests that generation with a cache gives the same results as prediction without a cache: the same
// logits after every token, and the same tokens. The numbers of heads and sequences are not
// divisible by all numbers of ranks, so shards are uneven, and some are empty.

#include <algorithm>

#include <doctest/doctest.h>
#include <support/formula_layers.hpp>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>
#include <support/staged_nets.hpp>
#include <support/transport.hpp>
#include <support/usual_plans.hpp>

#include <ashlar/nn/bert.hpp>
#include <ashlar/nn/formula_join.hpp>
#include <ashlar/nn/generator.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/llama.hpp>
#include <ashlar/nn/moe.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/sync/named.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;

constexpr int words = 11, places = 7;

/// Returns the bytes of this rank's shards of the caches. A cache holds two vectors, a key and a
/// value, for each token and each key head. A rank holds the vectors of the sequences and heads
/// that are in its shard of the attention's x.
std::int64_t expected_bytes(search::problem const& net, search::plan const& plan, int sequences,
                            int head_dim) {
  naive_mesh const ranks(plan.mesh);
  std::int64_t bytes = 0;
  for (int i = 0; i < net.size(); ++i) {
    std::string const name = net.spec(i).name.text;
    if (name != "attention" && name != "grouped_attention") continue;
    auto const mine = held({sequences, places, static_cast<int>(net.spec(i).x[2]), 2 * head_dim},
                           plan[i].x, ranks,
                           ranks.all_coordinates()[static_cast<std::size_t>(world_rank())]);
    std::size_t elements = 8;
    for (auto const& list : mine) elements *= list.size();
    bytes += static_cast<std::int64_t>(elements);
  }
  return bytes;
}

/// Compares generation with prediction under one plan. Also compares the tokens that are chosen by
/// `how` from generated logits with those that are chosen from predicted logits. The tokens are
/// generated in one call or, if `in_parts` is set, in two calls. Returns a description of all
/// faults, or an empty text.
template <class Net>
std::string compare(Net const& net, ashlar::mesh const& m, search::problem const& problem,
                    search::plan const& plan, int head_dim, nn::sampling const& how,
                    bool in_parts) {
  constexpr int sequences = 3;
  auto model = nn::place<double>(net, m, plan, 2);
  nn::generator g(net, model, {.sequences = sequences, .most_tokens = places});
  auto changed = values_of(model);  // the generator must see parameters that change
  disturb(changed, 5);
  set_values(model, changed);
  auto const ids =
      random_batch<std::int32_t>(nn::token_batch{sequences, places}, words, words, 8).inputs;
  auto const predicted = model.predict(ids);
  auto const behind = [&](std::vector<double> const& all, int s, int t) {
    return std::span(all).subspan(static_cast<std::size_t>((s * places + t) * words), words);
  };
  std::string wrong;
  if (g.cache_bytes() != expected_bytes(problem, plan, sequences, head_dim))
    wrong += "the cache has " + std::to_string(g.cache_bytes()) + " bytes\n";
  for (int first = 0, n = 3; first < places; first += n, n = first < 5 ? 1 : 2) {
    std::vector<std::int32_t> taken;
    std::vector<double> expected;
    for (int s = 0; s < sequences; ++s) {
      taken.insert(taken.end(), ids.begin() + s * places + first,
                   ids.begin() + s * places + first + n);
      auto const row = behind(predicted, s, first + n - 1);
      expected.insert(expected.end(), row.begin(), row.end());
    }
    double const apart = difference({g.next(taken)}, {expected});
    if (!(apart < 1e-12))
      wrong += "tokens " + std::to_string(first) + " to " + std::to_string(first + n - 1) + ": " +
               std::to_string(apart) + " apart\n";
  }
  g.clear();
  auto whole = ids;
  for (int t = 2; t + 1 < places; ++t) {
    auto const logits = model.predict(whole);
    for (int s = 0; s < sequences; ++s)
      whole[static_cast<std::size_t>(s * places + t + 1)] = nn::choose_token(
          behind(logits, s, t), how, (t + 1) * sequences + s);
  }
  std::vector<std::int32_t> prompt, expected;
  for (int s = 0; s < sequences; ++s) {
    auto const at = whole.begin() + s * places;
    prompt.insert(prompt.end(), at, at + 3);
    expected.insert(expected.end(), at + 3, at + places);
  }
  if (in_parts) {
    auto const first = g.generate(prompt, 2, how), second = g.generate({}, places - 5, how);
    for (std::size_t s = 0; s < sequences; ++s)
      for (std::size_t t = 0; t < places - 3; ++t)
        if ((t < 2 ? first[s * 2 + t] : second[s * (places - 5) + t - 2]) !=
            expected[s * (places - 3) + t])
          wrong += "other tokens in two calls\n";
  } else if (g.generate(prompt, places - 3, how) != expected) wrong += "other tokens\n";
  if (g.tokens() != places - 1) wrong += "tokens that were not computed count\n";
  return wrong.empty() ? "" : wrong + describe(problem, plan);
}

/// Compares generation with prediction under the usual plans and under `random` random plans. Every
/// other plan draws tokens at a temperature and in two calls. With more than two ranks, each pass
/// takes long, because most test machines have two cores. Such runs leave out meshes with an axis
/// of one rank, and most random plans.
template <class Net>
void check_generation(Net const& net, int head_dim, int random) {
  // The model is planned for 4 sequences and has positions for `places` tokens.
  auto const problem = any_length(nn::describe<double>(net, nn::token_batch{4, places}));
  for (auto const& m : all_meshes()) {
    if (m.axes() > 2) continue;  // on three axes, a search takes seconds
    if (world_size() > 2 && m.axes() == 2 && m.topology().extent(0) == 1) continue;
    auto plans = usual_plans(problem, m);
    plan_source const source(problem, m);
    std::mt19937 generator(5);
    for (int i = 0; i < (world_size() > 2 ? std::min(random, 1) : random); ++i)
      plans.push_back(source.random(generator));
    for (std::size_t i = 0; i < plans.size(); ++i) {
      bool const draws = i % 2 == 1;
      auto const wrong = compare(net, m, problem, plans[i], head_dim,
                                 draws ? nn::sampling{1.5, 4, 7} : nn::sampling{}, draws);
      CHECK_MESSAGE(wrong == "", wrong);
    }
  }
}

constexpr nn::llama_options small_llama{.layers = 2,
                                        .features = 12,
                                        .heads = 6,
                                        .kv_heads = 3,
                                        .hidden = 5,
                                        .vocabulary = words,
                                        .rotary_base = 50,
                                        .scaling = {.factor = 4, .original = 16}};

/// An embedding that does not say that it continues positions.
class embedding_from_zero : public nn::embedding {
 public:
  using nn::embedding::embedding;
  constexpr search::layer_spec spec(ashlar::shape const& x) const {
    auto s = nn::embedding::spec(x);
    s.continues_positions = false;
    return s;
  }
};

/// The product of x with the matrix w + a b. If the rows of x are split, every rank computes a b.
/// If there are few rows, a b is a large part of the work, so the layer does not split them.
auto const adapted = as_formula::low_rank(12, 1);

/// Returns the message with which nn::generator refuses the net, or an empty text if it accepts the
/// net.
template <class Net>
std::string refusal(Net const& net, nn::generator_options const& o = {1, 4}) {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto model = nn::place<float>(net, m,
                                search::data_parallel(nn::describe(net, nn::token_batch{4, places}),
                                                      m.topology(), m.machine()));
  return message_of([&] { nn::generator(net, model, o); });
}

}  // namespace

TEST_CASE("a GPT generates with a cache what it predicts without one") {
  // Neither generation nor prediction applies dropout, so they agree for a net with dropout layers,
  // too.
  check_generation(nn::chain(nn::embedding(words, 12), nn::repeat(2, nn::gpt_block(12, 3, 0.5)),
                             nn::layer_norm(12), nn::linear(12, words, false)),
                   4, 3);
}

TEST_CASE("a Llama generates with a cache what it predicts without one") {
  check_generation(nn::llama(small_llama), 2, 3);
  auto one_layer = small_llama;
  one_layer.layers = 1;
  check_generation(nn::tied_llama(one_layer), 2, 0);
}

TEST_CASE("a net with branches generates with a cache what it predicts without one") {
  // The net has a SwiGLU that is a branch joined by a formula, and a block whose attention and MLP
  // read the same x.
  auto const gate = nn::formula("gate", [](auto u, auto v) { return silu(u) * v; });
  auto const mlp = nn::chain(nn::branch(nn::linear(12, 5, false), nn::linear(12, 5, false), gate),
                             nn::linear(5, 12, false));
  auto const attention = nn::attention(
      {.features = 12, .heads = 6, .kv_heads = 3, .rotary = true, .rotary_base = 50});
  check_generation(nn::chain(nn::embedding(words, 12, nn::no_positions),
                             nn::residual(nn::chain(nn::rms_norm(12), attention)),
                             nn::residual(nn::chain(nn::rms_norm(12), mlp)),
                             nn::residual(nn::chain(nn::rms_norm(12),
                                                    nn::branch(attention, mlp, nn::join::add))),
                             nn::rms_norm(12), nn::linear(12, words, false)),
                   2, 1);
}

TEST_CASE("a layer that splits many rows only computes few tokens on every rank") {
  auto const splits_sequences = [](std::int64_t sequences, std::int64_t tokens) {
    auto const spec = adapted.spec({sequences, tokens, 12});
    return std::any_of(spec.rows.begin(), spec.rows.end(),
                       [](auto const& row) { return row.x.is_split_of(0); });
  };
  CHECK(splits_sequences(4, places));
  CHECK(!splits_sequences(3, 1));
  check_generation(nn::chain(nn::embedding(words, 12), adapted, nn::linear(12, words, false)), 4,
                   1);
}

TEST_CASE(
    "between steps that renew parameters under the next forward pass, they are renewed first") {
  namespace train = ashlar::train;
  auto const m = mesh_on(transport::messages, {{"gpu", world_size()}}, slow_computation);
  auto const net = nn::gpt({1, 12, 3, words});
  nn::token_batch const batch{4, places};
  auto const problem = any_length(nn::describe<float>(net, batch));
  auto const plan = ashlar::sync::named(
      "zero1", problem, search::data_parallel(problem, m.topology(), m.machine()), m.machine());
  auto model = nn::place<float>(net, m, plan, 7), reference = nn::place<float>(net, m, plan, 7);
  train::trainer trainer(model, train::adam_w{.lr = 0.05});
  train::trainer serial(reference, train::adam_w{.lr = 0.05}, {.overlap = train::overlap::none});
  if (world_size() > 1) CHECK(trainer.program().renews_first);
  nn::generator g(net, model, {.sequences = 1, .most_tokens = places});
  for (unsigned step = 0; step < 3; ++step) {
    auto const data = random_batch<std::int32_t>(batch, words, words, step);
    auto const before = reference.predict(data.inputs);
    trainer.step(data);
    serial.step(data);
    g.clear();
    auto const first = std::span(data.inputs).first(3);
    auto const behind = [](std::vector<float> const& all) {
      return std::vector<double>(all.begin() + 2 * words, all.begin() + 3 * words);
    };
    auto const made = g.next(first);
    auto const expected = behind(reference.predict(data.inputs));
    CHECK(difference({std::vector<double>(made.begin(), made.end())}, {expected}) < 1e-5);
    CHECK(difference({behind(before)}, {expected}) > 1e-3);  // old parameters would be noticed
  }
}

TEST_CASE("what cannot generate is refused") {
  auto const gpt = nn::gpt({1, 12, 3, words});
  CHECK(has(refusal(nn::bert({1, 12, 3, words})),
            "(attention) computes a token from others of the batch and keeps nothing for later "
            "ones. Layers of a net that generates compute each token by itself"));
  CHECK(has(refusal(nn::moe_gpt({2, 12, 3, words}, {.experts = 2, .chosen = 1})),
            "(dispatch) computes a token from others"));
  // A branch that joins along the tokens gives more tokens than it reads.
  auto const longer = nn::chain(
      nn::embedding(words, 12),
      nn::branch(nn::linear(12, 6), nn::linear(12, 6), nn::join::concat<1>), nn::linear(6, words));
  CHECK(has(refusal(longer), "(branch) computes a token from others"));
  CHECK(has(refusal(gpt, {1, places + 1}),
            "placed with positions for 7 tokens, fewer than most_tokens, which is 8."));
  CHECK(refusal(nn::llama(small_llama), {1, places + 1}) == "nothing was thrown");
  auto const from_zero = nn::chain(embedding_from_zero(words, 12), nn::gpt_block(12, 3),
                                   nn::linear(12, words));
  CHECK(has(refusal(from_zero),
            "element 0 (embedding) has parameters for the positions of tokens, but does not say "
            "that it knows at which position later tokens are (layer_spec::continues_positions)."));
  CHECK(has(refusal(gpt, {0, 4}), "it needs 1 sequence and 1 token or more"));

  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const problem = any_length(nn::describe(gpt, nn::token_batch{4, places, 2}));
  auto model = nn::place<float>(gpt, m, search::data_parallel(problem, m.topology(), m.machine()));
  CHECK(has(message_of([&] {
              nn::generator(nn::gpt({1, 24, 3, words}), model, {1, 4});
            }),
            "the net is not the one that was placed."));
  auto other = small_llama;
  auto llama = nn::place<float>(
      nn::llama(small_llama), m,
      search::data_parallel(nn::describe(nn::llama(small_llama), nn::token_batch{4, places}),
                            m.topology(), m.machine()));
  for (auto* const constant : {&other.rotary_base, &other.epsilon, &other.scaling.original}) {
    other = small_llama;
    *constant *= 2;
    CHECK(has(message_of([&] {
                nn::generator(nn::llama(other), llama, {1, 4});
              }),
              "the net is not the one that was placed."));
  }
  nn::generator g(gpt, model, {.sequences = 2, .most_tokens = 4});
  auto const next = [&](std::vector<std::int32_t> const& ids) {
    return message_of([&] { g.next(ids); });
  };
  CHECK(has(next({1, 2, 3}), "3 ids are not the next tokens of 2 sequences."));
  CHECK(has(next({}), "0 ids are not the next tokens of 2 sequences."));
  CHECK(has(next({1, words}), "token 11 is outside the vocabulary of 11."));
  CHECK(next({1, 2, 3, 4, 5, 6}) == "nothing was thrown");
  CHECK(has(next({1, 2, 3, 4}), "3 and 2 tokens are more than most_tokens, which is 4."));
  CHECK(next({1, 2}) == "nothing was thrown");
  g.clear();
  std::vector<std::int32_t> const prompt{1, 2};
  CHECK(has(message_of([&] { g.generate(prompt, 5); }),
            "1 and 4 tokens are more than most_tokens, which is 4."));
  CHECK(g.tokens() == 0);
  std::vector<std::int32_t> const mine{1, world_rank()};
  if (world_size() > 1)
    CHECK(has(message_of([&] { g.generate(mine, 1); }),
              "the ranks have different prompts, numbers of tokens or sampling options"));
  // Other options, or bad ones, on one rank alone are an error on every rank.
  bool const is_last = world_rank() + 1 == world_size();
  nn::sampling const usual{.temperature = 1, .top_k = 3, .seed = 5};
  for (int option = 0; option < 4 && world_size() > 1; ++option) {
    auto own = usual;
    if (is_last && option == 0) own.temperature = 2;
    if (is_last && option == 1) own.top_k = 4;
    if (is_last && option == 2) own.seed = 6;
    if (is_last && option == 3) own.temperature = -1;
    CHECK(has(message_of([&] { g.generate(prompt, 1, own); }),
              "the ranks have different prompts, numbers of tokens or sampling options"));
  }
  CHECK(has(message_of([&] { g.generate(prompt, 1, {.temperature = -1}); }),
            "It must be positive, or 0 for the most probable token."));
  CHECK(has(message_of([&] { g.generate(prompt, 1, {.temperature = 1, .top_k = -1}); }),
            "It must be a number of tokens, or 0 for all of them."));
  CHECK(has(message_of([&] { g.generate(prompt, -1); }), "-1 tokens cannot be generated."));
  CHECK(g.generate({}, 0).empty());
  CHECK(g.tokens() == 0);
  // A prompt is also taken if no token is to be generated after it.
  std::vector<std::int32_t> const unknown{1, words};
  CHECK(has(message_of([&] { g.generate(unknown, 0); }),
            "token 11 is outside the vocabulary of 11."));
  CHECK(g.tokens() == 0);
  CHECK(g.generate(prompt, 0).empty());
  CHECK(g.tokens() == 1);

  if (world_size() == 1) return;
  ashlar::mesh const staged(MPI_COMM_WORLD, {{"stage", world_size()}, {"gpu", 1}});
  auto const chosen = search::data_parallel(problem, {{"stage", 1}, {"gpu", 1}}, staged.machine());
  auto const limits = even_limits(problem, world_size());
  auto plan = search::price_pipeline(
      problem, chosen, limits, std::vector<int>(limits.size() - 1, 0), 0, 2, staged.machine());
  auto in_stages = nn::place<float>(gpt, staged, plan);
  CHECK(has(message_of([&] {
              nn::generator(gpt, in_stages, {1, 4});
            }),
            "a net in pipeline stages cannot generate with a cache."));
}

}  // namespace ashlar_test
