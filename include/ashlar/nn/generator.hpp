// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Generates tokens with a placed net. Attentions keep the keys and values of all tokens so far, so
// one more token costs the pass of one token, and not of the whole sequence:
//
//   nn::generator g(net, model, {.sequences = 2, .most_tokens = 256});
//   auto const logits = g.next(prompt);              // the logits after the last token
//   auto const tokens = g.generate(prompt, 20);      // or: 20 tokens for each sequence
//
// The net is placed a second time, for batches of the new tokens. Both placements share the
// parameters of the model, so a generator uses the values that a trainer has updated. The keys and
// values of earlier tokens were computed before such an update, so call clear() after it. The plan
// is that of the model, except on axes that split the tokens of sequences, and on axes whose split
// does not pay for few tokens: there every rank computes all new tokens (generation_plan). The
// caches of a layer are placed like its x (token_cache.hpp): sequences and heads are split as in
// the plan.
//
// A net can generate tokens if each of its layers has one of two properties. Either the layer
// computes each token without other tokens of the sequence. This is so if one of its signature rows
// splits dim 1, the tokens, of both x and y. Or the layer keeps the values of each token that later
// tokens need, as layer_spec::cached_values says. So encoders and mixtures of experts are refused.
// Models in pipeline stages are not supported.

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/nn/place.hpp>
#include <ashlar/nn/sampling.hpp>
#include <ashlar/nn/token_cache.hpp>
#include <ashlar/search/legal.hpp>
#include <ashlar/support/content_hash.hpp>

namespace ashlar::nn {

struct generator_options {
  std::int64_t sequences = 1;    ///< how many sequences are generated at a time
  std::int64_t most_tokens = 0;  ///< the most tokens of a sequence, including its prompt
};

namespace detail {

/// Returns whether the layer computes each token of y only from the same token of x.
inline bool is_tokenwise(step::layer_spec const& spec) {
  if (spec.couples_rows || spec.halo.dim == 1) return false;
  return std::any_of(spec.rows.begin(), spec.rows.end(), [](training_row const& row) {
    return row.x.is_split_of(1) && row.y.is_split_of(1) &&
           std::all_of(row.stat.begin(), row.stat.end(),
                       [](role_move const& s) { return same_role(s.from, s.to); });
  });
}

/// Returns `p` with broadcast on axis `a`. If this axis was split, splits that nested inside its
/// split move outwards by one.
constexpr placement whole_along(placement p, int a) {
  axis_placement const before = p[a];
  p.axis[a] = broadcast();
  for (auto& other : p.axis)
    if (before.is_split() && other.is_split_of(before.dim) && other.depth > before.depth)
      --other.depth;
  return p;
}

/// Returns the plan by which a net generates tokens. It is `plan`, changed for the problem of a
/// batch of new tokens. Along two kinds of axes, every rank computes a whole layer:
///
///   axes that split tokens        Each rank needs all new tokens of its sequences.
///   axes that fit no row of the   Formulas leave out rows with which every rank repeats a large
///   layer for the new tokens      part of the flops (signature/formula/rows.hpp). The same flops
///                                 may be a small part for the batch of the model, but a large part
///                                 for few tokens.
inline search::plan generation_plan(search::plan plan, search::problem const& problem) {
  plan = search::without_delays(std::move(plan));
  plan.input = problem.spec(0).x;
  plan.micro_batches = plan.interleaved = 1;
  plan.recomputed = 0;
  plan.problem_hash = search::hash(problem);
  for (int i = 0; i < problem.size(); ++i) {
    auto& c = plan.choices[static_cast<std::size_t>(i)];
    bool const turns = problem[i].kind == search::element_kind::branch_turn;
    for (int a = 0; a < c.x.axes(); ++a) {
      bool const fits = turns || std::ranges::any_of(problem.spec(i).rows, [&](auto const& row) {
                          return search::detail::has_roles(c, a, row);
                        });
      if (fits && !c.x[a].is_split_of(1) && !c.y[a].is_split_of(1)) continue;
      for (auto* p : {&c.x, &c.y, &c.dy, &c.dx}) *p = whole_along(*p, a);
      for (auto& p : c.parameters) p.use = whole_along(p.use, a), p.grad = whole_along(p.grad, a);
      for (auto& s : c.statistics) s.from = whole_along(s.from, a), s.to = whole_along(s.to, a);
    }
  }
  for (int i = 0; i < problem.size(); ++i) {
    if (problem[i].kind != search::element_kind::branch_turn) continue;
    int const end = problem[i].partner;
    plan.choices[static_cast<std::size_t>(i)] = turn_between(plan[problem[end].partner], plan[end]);
  }
  return plan;
}

}  // namespace detail

/// Generates tokens with a net of type Net that was placed as a Model. The model must outlive the
/// generator, and must not be moved or assigned to while the generator exists.
template <class Net, class Model>
class generator {
  using T = typename Model::value_type;
  using processor = typename Model::mesh_type::processor_type;
  static_assert(processor::is_host,
                "nn::generator: generation with a cache runs on the host only. Place the net on an "
                "ashlar::mesh.");
  static_assert(takes_tokens<Net>() && input_rank<Net>() == 2 && output_rank<Net, 2>() == 3,
                "nn::generator: a net that generates maps ids [batch, seq] to logits [batch, seq, "
                "vocabulary], such as nn::gpt and nn::llama.");

 public:
  /// Makes the caches, which are empty. Every rank calls it. Throws ashlar::error if an option is
  /// below 1, or if the net is not that of the model, cannot generate tokens or has fewer positions
  /// than o.most_tokens. Communicates nothing.
  generator(Net const& net, Model& model, generator_options const& o)
      : net_(net), model_(&model), options_(o) {
    check();
    passes_.push_back(make_pass(1));
    auto const& one = *passes_.front();
    cache_.places = o.most_tokens;
    for (int i = 0; i < one.problem.size(); ++i) {
      auto const& spec = one.problem.spec(i);
      cache_.shards.push_back(nullptr);
      if (spec.cached_values == 0 || one.problem[i].kind != search::element_kind::layer) continue;
      shape extents = spec.x;
      extents[1] = o.most_tokens;
      extents[extents.rank() - 1] = spec.cached_values;
      kept_.emplace_back(model.mesh(), extents, one.plan[i].x, element_type_of<T>);
      cache_.shards.back() = kept_.back().data();
    }
  }
  generator(generator const&) = delete;
  generator& operator=(generator const&) = delete;

  /// Returns how many tokens of each sequence are in the caches. The last token that generate() has
  /// chosen is not in them yet: the next call computes it before its own tokens.
  std::int64_t tokens() const { return cache_.tokens; }
  /// Returns the bytes of this rank's shards of all caches.
  std::int64_t cache_bytes() const {
    std::int64_t elements = 0;
    for (auto const& t : kept_) elements += t.local_elements();
    return elements * static_cast<std::int64_t>(sizeof(T));
  }
  /// Forgets all tokens. The next tokens begin new sequences.
  void clear() {
    cache_.tokens = 0;
    untaken_.clear();
  }

  /// Takes the ids of the next tokens of all sequences, [sequences, n], and returns the logits
  /// after the last of these tokens, [sequences, vocabulary]. Every rank passes the same ids and
  /// gets all logits. Throws ashlar::error if an id is outside the vocabulary, if there are not
  /// equally many ids for each sequence, or if there are too many tokens. Communicates: a forward
  /// pass, and a redistribution of the result.
  std::vector<T> next(std::span<std::int32_t const> ids) { return take(after_untaken(ids)); }

  /// Continues all sequences by `prompt`, ids [sequences, n], and by `count` tokens each, which are
  /// returned as ids [sequences, count]. In later calls the prompt may be empty; the sequences are
  /// then continued without further tokens of the caller. If `count` is 0, the sequences are
  /// continued by the prompt only. Rank 0 chooses the tokens, so all ranks have the same ones.
  /// Throws ashlar::error in the same cases as next(), and if `count` is negative or `how` is
  /// invalid. If the ranks have different arguments, every rank throws. Communicates: an all-reduce
  /// of 16 bytes, a broadcast of each token, and the communication of next() for the prompt and for
  /// each token except the last.
  std::vector<std::int32_t> generate(std::span<std::int32_t const> prompt, std::int64_t count,
                                     sampling const& how = {}) {
    std::array<std::uint64_t, 5> const numbers{static_cast<std::uint64_t>(options_.sequences),
                                               static_cast<std::uint64_t>(count),
                                               std::bit_cast<std::uint64_t>(how.temperature),
                                               static_cast<std::uint64_t>(how.top_k), how.seed};
    model_->mesh().require_agreement(
        content_hash(std::span<std::uint64_t const>(numbers), content_hash(prompt)),
        "nn::generator", "the ranks have different prompts, numbers of tokens or sampling options");
    nn::check(how);
    if (count < 0)
      refuse(std::to_string(count) + " tokens cannot be generated. Generate 0 or more.");
    if (count == 0) {
      if (!prompt.empty()) next(prompt);
      return {};
    }
    auto const sequences = static_cast<std::size_t>(options_.sequences);
    auto last = after_untaken(prompt);
    auto const before = cache_.tokens + static_cast<std::int64_t>(last.size() / sequences);
    if (count - 1 > options_.most_tokens - before) refuse_more(before, count - 1);
    std::vector<std::int32_t> made(sequences * static_cast<std::size_t>(count));
    for (std::size_t k = 0; k < made.size() / sequences; ++k) {
      auto const logits = take(last);
      auto const words = logits.size() / sequences;
      last.resize(sequences);
      for (std::size_t s = 0; s < sequences; ++s)
        last[s] = choose_token(std::span<T const>(logits).subspan(s * words, words), how,
                               cache_.tokens * options_.sequences + static_cast<std::int64_t>(s));
      model_->mesh().broadcast(std::span(last), 0);
      for (std::size_t s = 0; s < sequences; ++s) made[s * made.size() / sequences + k] = last[s];
    }
    untaken_ = std::move(last);
    return made;
  }

 private:
  /// The net, placed for batches of n new tokens per sequence.
  struct pass {
    std::int64_t n;
    search::problem problem;
    search::plan plan;
    std::vector<std::unique_ptr<element_node<processor>>> nodes;
    step::program program;
    std::unique_ptr<executor<processor>> walker;
  };

  [[noreturn]] static void refuse(std::string const& why) { throw error("nn::generator", why); }
  [[noreturn]] void refuse_more(std::int64_t before, std::int64_t more) const {
    refuse(std::to_string(before) + " and " + std::to_string(more) +
           " tokens are more than most_tokens, which is " + std::to_string(options_.most_tokens) +
           ". Set a higher one, or call clear().");
  }

  /// Returns `ids`, the n next tokens of each sequence. If generate() has chosen a token of each
  /// sequence that no pass has computed yet, this token comes before the sequence's ids, and the
  /// result is [sequences, n + 1]. Throws ashlar::error if the number of ids is not the same for
  /// all sequences, or if the result would be empty.
  std::vector<std::int32_t> after_untaken(std::span<std::int32_t const> ids) const {
    auto const sequences = static_cast<std::size_t>(options_.sequences);
    auto const n = ids.size() / sequences;
    if (n * sequences != ids.size() || (n == 0 && untaken_.empty()))
      refuse(std::to_string(ids.size()) + " ids are not the next tokens of " +
             std::to_string(options_.sequences) + " sequences. Pass as many for each.");
    std::vector<std::int32_t> made;
    for (std::size_t s = 0; s < sequences; ++s) {
      if (!untaken_.empty()) made.push_back(untaken_[s]);
      made.insert(made.end(), ids.begin() + static_cast<std::ptrdiff_t>(s * n),
                  ids.begin() + static_cast<std::ptrdiff_t>((s + 1) * n));
    }
    return made;
  }

  /// Takes ids [sequences, n] and returns the logits after the last id of each sequence.
  std::vector<T> take(std::span<std::int32_t const> ids) {
    auto const n = static_cast<std::int64_t>(ids.size()) / options_.sequences;
    if (cache_.tokens + n > options_.most_tokens) refuse_more(cache_.tokens, n);
    if constexpr (requires { first_layer(net_).check(ids); }) first_layer(net_).check(ids);
    model_->renew_if_due();
    auto& with = pass_of(n);
    auto const y = with.walker->forward(with.problem.size() - 1, input_of(ids, n));
    cache_.tokens += n;
    untaken_.clear();
    return to_full<T>(last_tokens(y, n));
  }

  void check() const {
    if (options_.sequences < 1 || options_.most_tokens < 1)
      refuse("it needs 1 sequence and 1 token or more, not " + std::to_string(options_.sequences) +
             " sequences of most_tokens = " + std::to_string(options_.most_tokens) + ".");
    if (model_->pipeline() != nullptr)
      refuse("a net in pipeline stages cannot generate with a cache. Place it by a plan without "
             "stages, or call model.predict.");
    auto const planned = described(model_->input_extents());
    bool is_same = search::hash(planned) == search::hash(model_->problem());
    for (int i = 0; is_same && i < planned.size(); ++i)
      is_same = planned.spec(i).cached_values == model_->problem().spec(i).cached_values &&
                planned.spec(i).constants == model_->problem().spec(i).constants;
    if (!is_same) refuse("the net is not the one that was placed. Pass the net of nn::place.");
    for (int i = 0; i + 1 < planned.size(); ++i)
      if (auto const& spec = planned.spec(i);
          spec.cached_values == 0 && planned[i].kind != search::element_kind::branch_turn &&
          !detail::is_tokenwise(spec))
        refuse("element " + std::to_string(i) + " (" + spec.name.text +
               ") computes a token from others of the batch and keeps nothing for later ones. "
               "Layers of a net that generates compute each token by itself, or are attention with "
               "a causal mask.");
    auto const positions = model_->input_extents()[1];
    auto const longer = described({options_.sequences, positions + 1});
    for (int i = 0; i < planned.size(); ++i)
      for (int k = 0; k < planned.spec(i).parameters.size(); ++k) {
        auto const& spec = planned.spec(i);
        if (spec.parameters[k].extents == longer.spec(i).parameters[k].extents) continue;
        if (!spec.continues_positions)
          refuse("element " + std::to_string(i) + " (" + spec.name.text +
                 ") has parameters for the positions of tokens, but does not say that it knows at "
                 "which position later tokens are (layer_spec::continues_positions).");
        if (options_.most_tokens > positions)
          refuse("the net was placed with positions for " + std::to_string(positions) +
                 " tokens, fewer than most_tokens, which is " +
                 std::to_string(options_.most_tokens) + ".");
      }
  }

  search::problem described(shape const& input) const {
    return any_length(describe<T>(net_, input, model_->micro_batches()));
  }

  std::unique_ptr<pass> make_pass(std::int64_t n) const {
    auto made = std::make_unique<pass>();
    made->n = n;
    auto& problem = made->problem;
    problem = any_length(describe<T>(net_, shape{options_.sequences, n}, 1));
    for (int i = 0; i < problem.size(); ++i)
      if (auto const& spec = problem.spec(i);
          problem[i].kind == search::element_kind::layer && spec.y.rank() > 1 && spec.y[1] != n)
        refuse("element " + std::to_string(i) + " (" + spec.name.text + ") makes " +
               std::to_string(spec.y[1]) + " tokens of " + std::to_string(n) +
               ". Layers of a net that generates make one of each.");
    // The parameters get the extents that they have in the model, where there may be more positions
    // than a batch has tokens here.
    for (int i = 0; i < problem.size(); ++i) {
      auto spec = problem.spec(i);
      auto const& own = model_->problem().spec(i).parameters;
      for (int k = 0; k < own.size(); ++k) spec.parameters[k].extents = own[k].extents;
      if (!(spec == problem.spec(i))) problem.replace(i, spec);
    }
    made->plan = detail::generation_plan(model_->plan(), problem);
    detail::check_plan(made->plan, problem);
    auto built = detail::builder_for<Net>(model_->mesh(), model_->seed());
    built.before = &model_->elements();
    nn::place_part<T, 2>(with_loss(net_), built, made->plan.input,
                         run_time_cursor<processor>{&made->plan, 0});
    made->nodes = std::move(built.nodes);
    made->program = step::build(problem, made->plan, model_->mesh().machine());
    made->walker.reset(
        new executor<processor>(model_->mesh(), made->nodes, made->program, element_type_of<T>));
    return made;
  }

  /// Returns the net that is placed for n new tokens. Keeps the net for one token, and of the nets
  /// for more tokens only the one that was made last.
  pass& pass_of(std::int64_t n) {
    if (n == 1) return *passes_.front();
    if (passes_.size() == 1) passes_.push_back(make_pass(n));
    if (passes_.back()->n != n) passes_.back() = make_pass(n);
    return *passes_.back();
  }

  step_input<processor> input_of(std::span<std::int32_t const> ids, std::int64_t n) const {
    step_input<processor> made;
    made.data = [this, ids, n](int) {
      tensor<std::int32_t, 2> whole(model_->mesh(), {options_.sequences, n},
                                    placement::all_broadcast(model_->mesh().axes()));
      std::copy(ids.begin(), ids.end(), whole.data());
      return any_tensor(whole);
    };
    made.pass = [this](int) {
      nn::pass p;
      p.training = false;
      p.seed = model_->seed();
      p.mixtures = &model_->mixtures();
      p.cache = &cache_;
      return p;
    };
    return made;
  }

  /// Returns the last of n tokens of y [sequences, n, vocabulary]. No axis splits the tokens.
  any_tensor<processor> last_tokens(any_tensor<processor> const& y, std::int64_t n) const {
    if (n == 1) return y;
    auto extents = y.extents();
    extents[1] = 1;
    any_tensor<processor> made(y.mesh(), extents, y.placement(), y.type());
    T const* const from = y.template data_as<T>();
    T* const to = made.template data_as<T>();
    std::int64_t const sequences = made.local_box()[0].size, words = made.local_box()[2].size;
    for (std::int64_t s = 0; s < sequences; ++s)
      std::copy_n(from + (s * n + n - 1) * words, words, to + s * words);
    return made;
  }

  Net net_;
  Model* model_;
  generator_options options_;
  std::vector<any_tensor<processor>> kept_;  // the caches of all layers that have one
  token_cache cache_;
  std::vector<std::int32_t> untaken_;  // the last token that generate() chose for each sequence
  std::vector<std::unique_ptr<pass>> passes_;
};

}  // namespace ashlar::nn
