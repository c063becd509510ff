// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Says which published tensors of Llama contain the parameters of nn::llama and nn::tied_llama. The
// names of the tensors are from the safetensors files on Hugging Face:
//
//   parameter of nn::llama   published tensor
//   0.table                  model.embed_tokens.weight
//   1.i.0.0.gain             model.layers.i.input_layernorm.weight
//   1.i.0.1.0.weight         model.layers.i.self_attn.q_proj.weight, k_proj and v_proj
//   1.i.0.1.2.weight         model.layers.i.self_attn.o_proj.weight
//   1.i.1.0.gain             model.layers.i.post_attention_layernorm.weight
//   1.i.1.1.gate, up, down   model.layers.i.mlp.gate_proj.weight, up_proj and down_proj
//   2.gain                   model.norm.weight
//   3.weight                 lm_head.weight, or model.embed_tokens.weight if the files have no head
//                            and tied_head::copied is given (llama_check.hpp)
//
//   checkpoint::load_parameters({"model.safetensors"}, model, checkpoint::llama_views(),
//                               {.converts = true});  // published files are often bfloat16
//
// The published matrices of projections are [out, in], and the matrices of nn::llama are [in, out].
// nn::attention has one matrix with the queries, the key and the value of each key head, in this
// order. The heads have the same order in q_proj, k_proj and v_proj.
//
// In these files and in nn::attention, rotary positions rotate the pairs (i, i + head_dim / 2), so
// the rows of q_proj and k_proj keep their order. The files that Meta publishes are for pairs (2 i,
// 2 i + 1), and have other names.
//
// nn::tied_llama has no 3.weight: 0.table is the parameter of both the embedding and the head, as
// in the small models of Llama 3.2.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/checkpoint/llama_check.hpp>
#include <ashlar/checkpoint/source_view.hpp>

namespace ashlar::checkpoint {

/// Maps the parameters of a Llama to their views in the files. load_parameters takes an object of
/// this class.
class llama_views {
 public:
  /// Each name in the files, except that of lm_head.weight, begins with `prefix`. The name of
  /// lm_head.weight has the prefix without its last part: if the prefix is "language_model.model.",
  /// the name is language_model.lm_head.weight. `head` says whether nn::llama may copy the
  /// embedding's table if the files have no head.
  explicit llama_views(std::string prefix = "model.", tied_head head = tied_head::refused)
      : prefix_(std::move(prefix)), head_(head) {}

  /// Throws ashlar::error unless the net can compute with the weights in `files`, as far as their
  /// config.json and the tensors of the table and the head show (llama_check.hpp).
  void check(search::problem const& net, std::vector<std::filesystem::path> const& files) const {
    check_llama(net, files, table_name(), head_name(), head_);
  }

  /// Returns the views of an array. Throws ashlar::error if the array is not a parameter of a
  /// Llama.
  std::vector<source_view> operator()(stored_array const& a) const {
    auto const refuse = [&] {
      throw error("checkpoint::llama_views", "\"" + a.name + "\" is no parameter of nn::llama.");
    };
    auto const whole = [&](std::string const& name) {
      return std::vector{whole_view(prefix_ + name + ".weight", a.extents)};
    };
    auto const transposed = [&](std::string const& name) {
      if (a.extents.rank() != 2) refuse();
      return std::vector{transposed_view(prefix_ + name + ".weight", a.extents)};
    };
    if (a.name == "0.table") return whole("embed_tokens");
    if (a.name == "2.gain") return whole("norm");
    if (a.name == "3.weight" && a.extents.rank() == 2) {
      auto head = transposed_view(head_name(), a.extents);
      if (head_ == tied_head::copied) head.otherwise = table_name();
      else
        head.advice = "If the embedding's table is the head, place nn::tied_llama, or pass "
                      "checkpoint::tied_head::copied to llama_views.";
      return {head};
    }
    auto const dot = a.name.find('.', 2);
    if (a.name.rfind("1.", 0) != 0 || dot == std::string::npos) refuse();
    std::string const block = "layers." + a.name.substr(2, dot - 2) + ".";
    std::string const part = a.name.substr(dot + 1);
    if (part == "0.0.gain") return whole(block + "input_layernorm");
    if (part == "1.0.gain") return whole(block + "post_attention_layernorm");
    for (std::string const name : {"gate", "up", "down"})
      if (part == "1.1." + name) return transposed(block + "mlp." + name + "_proj");
    if (a.extents.rank() != 3) refuse();

    // The extents are [key heads, features of their query heads, features].
    if (part == "0.1.2.weight") {
      std::int64_t const width = a.extents[0] * a.extents[1];
      source_view v = whole_view(prefix_ + block + "self_attn.o_proj.weight", a.extents);
      v.strides[0] = a.extents[1];
      v.strides[1] = 1;
      v.strides[2] = width;
      v.expected = {a.extents[2], width};
      return {v};
    }
    if (part != "0.1.0.weight") refuse();

    // The extents are [features, key heads, n]. Along the last dim, each key head has the features
    // of its query heads, then those of its key, then those of its value. The query heads of all
    // key heads together have as many features as the net.
    std::int64_t const in = a.extents[0], groups = a.extents[1], queries = in / groups,
                       head = (a.extents[2] - queries) / 2;
    std::int64_t const begin[] = {0, queries, queries + head}, size[] = {queries, head, head};
    char const* const names[] = {"q_proj", "k_proj", "v_proj"};
    std::vector<source_view> views;
    for (int p = 0; p < 3; ++p) {
      source_view v = whole_view(prefix_ + block + "self_attn." + names[p] + ".weight", a.extents);
      v.where.dim[2] = {begin[p], size[p]};
      v.strides[0] = 1;
      v.strides[1] = size[p] * in;
      v.strides[2] = in;
      v.expected = {groups * size[p], in};
      views.push_back(std::move(v));
    }
    return views;
  }

 private:
  std::string table_name() const { return prefix_ + "embed_tokens.weight"; }
  std::string head_name() const {
    auto const dot = prefix_.size() < 2 ? std::string::npos
                                        : prefix_.rfind('.', prefix_.size() - 2);
    return (dot == std::string::npos ? "" : prefix_.substr(0, dot + 1)) + "lm_head.weight";
  }

  std::string prefix_;
  tied_head head_;
};

}  // namespace ashlar::checkpoint
