// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "models.hpp"

#include <algorithm>
#include <numeric>

#include <ashlar/io/json/machine_file.hpp>
#include <ashlar/mesh/text.hpp>
#include <ashlar/nn/alexnet.hpp>
#include <ashlar/nn/bert.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/dlrm.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/hidup_models.hpp>
#include <ashlar/nn/llama.hpp>
#include <ashlar/nn/u_transformer.hpp>
#include <ashlar/nn/vgg.hpp>
#include <ashlar/search/algorithms.hpp>
#include <ashlar/search/schedule_choice.hpp>

#include "../support/memory_limit.hpp"
#include "../support/nets.hpp"
#include "../support/sync_option.hpp"

namespace nn = ashlar::nn;
namespace search = ashlar::search;

namespace example {
namespace {

nn::token_batch tokens(options const& o) { return {o.batch, o.context, o.micro_batches}; }
nn::image_batch images(options const& o) { return {o.batch, 3, o.image, o.image, o.micro_batches}; }

search::problem gpt(options const& o) {
  nn::gpt_options const size{o.layers, o.d_model, o.heads, o.vocabulary};
  if (o.as_trained && o.tied) return any_length(nn::describe(trained_tied_gpt(size, 0), tokens(o)));
  if (o.as_trained) return nn::describe(trained_gpt(size, 0), tokens(o));
  if (o.tied) return any_length(nn::describe(nn::tied_gpt(size), tokens(o)));
  return nn::describe(nn::gpt(size), tokens(o));
}
search::problem bert(options const& o) {
  return nn::describe(nn::bert({o.layers, o.d_model, o.heads, o.vocabulary}), tokens(o));
}
search::problem llama_7b(options const& o) {
  return nn::describe(nn::llama(nn::llama_sizes::llama2_7b), tokens(o));
}
search::problem llama_70b(options const& o) {
  return nn::describe(nn::llama(nn::llama_sizes::llama2_70b), tokens(o));
}
search::problem mlp(options const& o) {
  if (o.widths.size() < 2)
    throw ashlar::error("--widths", "an mlp needs 2 widths or more: input features and classes.");
  search::problem p;
  p.element_size = p.accumulation_size = sizeof(float);
  p.micro_batches = o.micro_batches;
  ashlar::shape x{o.batch, o.widths.front()};
  for (std::size_t i = 1; i < o.widths.size(); ++i) {
    x = nn::describe_into(nn::linear(o.widths[i - 1], o.widths[i]), p, x);
    if (i + 1 < o.widths.size()) x = nn::describe_into(nn::relu(), p, x);
  }
  p.add(nn::softmax_cross_entropy().spec(x));
  return p;
}
search::problem vgg13(options const& o) {
  return any_length(
      nn::describe(nn::vgg13({.image = o.image, .classes = o.classes, .halo = o.halo}), images(o)));
}
search::problem vgg16(options const& o) {
  return any_length(
      nn::describe(nn::vgg16({.image = o.image, .classes = o.classes, .halo = o.halo}), images(o)));
}
search::problem alexnet(options const& o) {
  return any_length(nn::describe(
      nn::alexnet({.image = o.image, .classes = o.classes, .halo = o.halo}), images(o)));
}

search::problem dlrm(options const& o) {
  nn::category_batch const batch{o.batch, o.tables, o.micro_batches};
  return any_length(nn::describe(nn::dlrm_described({.tables = o.tables, .rows = o.rows}), batch));
}

/// Returns options of experts with the numbers that `o` sets. Where `o` sets none, the model has
/// `by_default` experts and chooses `chosen` of them for each token.
nn::moe_options experts(options const& o, int by_default, int chosen) {
  return {.experts = o.experts > 0 ? o.experts : by_default,
          .chosen = o.top > 0 ? o.top : chosen,
          .imbalance = o.imbalance};
}
search::problem gpt_moe(options const& o) {
  if (o.layers % 2 != 0)
    throw ashlar::error("--layers", "in a gpt-moe every second block has experts. Give an even "
                                    "number of blocks.");
  nn::gpt_options const size{o.layers, o.d_model, o.heads, o.vocabulary};
  if (o.as_trained) return nn::describe(trained_moe_gpt(size, experts(o, 8, 2), 0), tokens(o));
  return nn::describe(nn::moe_gpt(size, experts(o, 8, 2)), tokens(o));
}
template <int Chosen>
search::problem bert_moe(options const& o) {
  return nn::describe(nn::bert_moe(experts(o, ashlar::parse_topology(o.mesh).ranks(), Chosen)),
                      tokens(o));
}
template <int Chosen>
search::problem vit_moe(options const& o) {
  ashlar::shape const patches{o.batch, o.image / 4 * (o.image / 4), 48};
  return any_length(
      nn::describe(nn::vit_moe(experts(o, 2 * ashlar::parse_topology(o.mesh).ranks(), Chosen)),
                   patches, o.micro_batches));
}

/// Describes the U-Transformer of nn/u_transformer.hpp with the channels of --channels. Its context
/// has as many features as its innermost level has channels.
search::problem u_transformer(options const& o) {
  nn::u_transformer_options<4> size = nn::paper_u_transformer;
  if (o.channels.size() != size.channels.size())
    throw ashlar::error("--channels", "a u-transformer has 4 levels. Give the channels of each, as "
                                      "672,1344,2688,2688.");
  std::copy(o.channels.begin(), o.channels.end(), size.channels.begin());
  for (auto const c : o.channels) size.groups = std::gcd(size.groups, c);
  size.heads = o.heads;
  size.context.width = o.channels.back();
  return any_length(nn::describe(nn::u_transformer(size), images(o)));
}

struct model {
  char const* name;
  search::problem (*describe)(options const&);
};
constexpr model models[] = {{"gpt", gpt},
                            {"mlp", mlp},
                            {"bert", bert},
                            {"llama-7b", llama_7b},
                            {"llama-70b", llama_70b},
                            {"vgg13", vgg13},
                            {"vgg16", vgg16},
                            {"alexnet", alexnet},
                            {"dlrm", dlrm},
                            {"u-transformer", u_transformer},
                            {"gpt-moe", gpt_moe},
                            {"bert-sgmoe", bert_moe<2>},
                            {"bert-switch", bert_moe<1>},
                            {"vit-sgmoe", vit_moe<2>},
                            {"vit-switch", vit_moe<1>}};

template <class List, class Name>
std::string joined(List const& list, Name name) {
  std::string text;
  for (auto const& item : list) text += (text.empty() ? "" : ", ") + std::string(name(item));
  return text;
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (auto const& m : models) names.emplace_back(m.name);
  return names;
}
std::string machine_names() {
  return joined(ashlar::named_machines, [](auto const& m) { return m.name; });
}
std::string algorithm_names() {
  return joined(search::algorithms(), [](auto const& a) { return a.name; });
}

std::string schedule_names() {
  return joined(search::schedule_names, [](auto name) { return name; });
}

search::problem choose_model(options const& o) {
  for (auto const& m : models) {
    if (o.model != m.name) continue;
    auto problem = m.describe(o);
    problem.element_size = o.type == "bfloat16" ? 2 : o.type == "double" ? 8 : 4;
    problem.accumulation_size = o.type == "double" ? 8 : 4;
    problem.optimizer_states = o.optimizer_states;
    problem.interleaved = o.interleaved;
    problem.overlap = o.overlap;
    problem.updates_apart = search_chooses_updates(o.sync);
    return problem;
  }
  throw ashlar::error("plan", "there is no model " + o.model + ".");
}

ashlar::machine choose_machine(options const& o) {
  return with_memory_limit(ashlar::io::machine_from(o.machine), o.memory_limit);
}

}  // namespace example
