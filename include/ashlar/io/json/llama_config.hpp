// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Reads the config.json in the folder of published weights of a Llama. This file states numbers
// that no tensor of the weights shows, such as the number of heads and the base of the rotary
// positions:
//
//   entry                                         if it is missing
//   num_hidden_layers, hidden_size, vocab_size,
//   intermediate_size, num_attention_heads,
//   rms_norm_eps, tie_word_embeddings             the value is unknown and is not checked
//   num_key_value_heads                           num_attention_heads
//   head_dim                                      hidden_size / num_attention_heads
//   rope_theta                                    10000
//   rope_scaling                                  none; "llama3" is read (device/rotary_angles.hpp)
//   rope_parameters                               the two entries above are read; newer files have
//                                                 both of them in this object
//   text_config                                   the file itself describes the language model
//
// A file that describes another kind of net, such as one with biases or with another scaling of the
// rotary positions, is refused. All other entries are ignored.

#include <filesystem>
#include <optional>
#include <string>

#include <ashlar/io/json/json_file.hpp>

namespace ashlar::io {

/// The entry rope_scaling of the type "llama3". The defaults scale nothing.
struct llama_scaling {
  double factor = 1, low = 1, high = 4, original = 8192;
};

struct llama_config {
  std::optional<std::int64_t> layers, features, vocabulary, hidden, heads, kv_heads, head_dim;
  std::optional<double> epsilon;
  std::optional<bool> is_tied;
  double rotary_base = 10000;
  llama_scaling scaling;
};

namespace detail {

/// Returns the entry of this name of the object `j`. Returns null if there is no such entry, or if
/// the entry is null.
inline nlohmann::json const* entry_of(nlohmann::json const& j, char const* name) {
  auto const at = j.find(name);
  return at == j.end() || at->is_null() ? nullptr : &*at;
}
inline std::optional<std::int64_t> number_entry(nlohmann::json const& j, char const* name) {
  auto const* const found = entry_of(j, name);
  if (found == nullptr) return std::nullopt;
  return whole_number(*found, name);
}

/// Returns the scaling that the object "rope_scaling" or "rope_parameters" describes.
inline llama_scaling scaling_of(nlohmann::json const& j) {
  auto const* const type = entry_of(j, j.contains("rope_type") ? "rope_type" : "type");
  auto const name = type == nullptr ? "default" : type->get<std::string>();
  if (name == "default") return {};
  if (name != "llama3")
    throw error("rope_scaling", "the rotary positions are scaled by \"" + name +
                                    "\", which nn::llama cannot do. It scales them by \"llama3\" "
                                    "or not at all.");
  return {j.at("factor").get<double>(), j.at("low_freq_factor").get<double>(),
          j.at("high_freq_factor").get<double>(),
          j.at("original_max_position_embeddings").get<double>()};
}

/// Throws ashlar::error if an entry says that the net computes something that nn::llama does not
/// compute.
inline void refuse_other_nets(nlohmann::json const& j) {
  auto const refuse = [](std::string const& name, std::string const& value, char const* can) {
    throw error(name, "it is " + value + ", but nn::llama " + can + ".");
  };
  for (char const* const name : {"attention_bias", "mlp_bias"})
    if (auto const* const b = entry_of(j, name); b != nullptr && b->get<bool>())
      refuse(name, "true", "has no biases");
  if (auto const* const a = entry_of(j, "hidden_act"); a != nullptr && *a != "silu")
    refuse("hidden_act", a->dump(), "computes \"silu\"");
  if (auto const* const w = entry_of(j, "sliding_window"); w != nullptr)
    refuse("sliding_window", w->dump(), "attends to all tokens before");
  if (auto const* const m = entry_of(j, "model_type"); m != nullptr)
    if (*m != "llama" && *m != "mistral")
      refuse("model_type", m->dump(), "computes what \"llama\" and \"mistral\" do");
}

inline llama_config llama_config_of(nlohmann::json const& whole) {
  if (!whole.is_object()) throw error("config", "must be an object.");
  auto const* const text = entry_of(whole, "text_config");
  auto const& j = text == nullptr ? whole : *text;
  if (!j.is_object()) throw error("text_config", "must be an object.");
  refuse_other_nets(j);
  llama_config c;
  c.layers = number_entry(j, "num_hidden_layers");
  c.features = number_entry(j, "hidden_size");
  c.vocabulary = number_entry(j, "vocab_size");
  c.hidden = number_entry(j, "intermediate_size");
  c.heads = number_entry(j, "num_attention_heads");
  c.kv_heads = number_entry(j, "num_key_value_heads");
  c.head_dim = number_entry(j, "head_dim");
  if (!c.kv_heads) c.kv_heads = c.heads;
  if (auto const* const e = entry_of(j, "rms_norm_eps")) c.epsilon = e->get<double>();
  for (auto const* const from : {text, &whole})  // either may have the entry
    if (from != nullptr && !c.is_tied)
      if (auto const* const t = entry_of(*from, "tie_word_embeddings")) c.is_tied = t->get<bool>();
  auto const* const rotary = entry_of(j, "rope_parameters");
  auto const& angles = rotary == nullptr ? j : *rotary;
  if (!angles.is_object()) throw error("rope_parameters", "must be an object.");
  if (auto const* const base = entry_of(angles, "rope_theta")) c.rotary_base = base->get<double>();
  auto const* const scaling = rotary != nullptr ? rotary : entry_of(j, "rope_scaling");
  if (scaling != nullptr) {
    if (!scaling->is_object()) throw error("rope_scaling", "must be an object or null.");
    c.scaling = scaling_of(*scaling);
  }
  return c;
}

}  // namespace detail

/// Reads a config.json. Throws ashlar::error with the file's name if it cannot be read, or if it
/// describes a net that is not an nn::llama.
inline llama_config load_llama_config(std::filesystem::path const& path) {
  auto const j = detail::read_json(path.string(), "checkpoint::load");
  return detail::interpret(path.string(), "checkpoint::load",
                           [&] { return detail::llama_config_of(j); });
}

}  // namespace ashlar::io
