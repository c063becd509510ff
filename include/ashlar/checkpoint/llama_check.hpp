// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Compares a net with published weights of a Llama before they are loaded. The extents of the
// tensors do not show whether the net computes the same as the net that was trained. So this file
// makes these comparisons:
//
//   compared                                              with
//   numbers of layers, heads and key heads, extents,      the config.json beside the files, if it
//   rotary base and scaling, ε of the norms, tied head    exists
//   a tied head, if no config.json states it              the values of the head in the files, if
//                                                         they have one
//
// Rotary base, scaling and ε are constants of the layers (step::layer_constant).

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <ashlar/checkpoint/opened_file.hpp>
#include <ashlar/io/json/llama_config.hpp>
#include <ashlar/step/plan.hpp>

namespace ashlar::checkpoint {

/// Says whether nn::llama, whose head is a separate parameter, may start with a copy of the
/// embedding's table as its head. Training changes the two independently; nn::tied_llama shares one
/// table instead.
enum class tied_head : signed char { refused, copied };

namespace detail {

/// The differences between a net and a config.json. Each difference is named once.
class config_differences {
 public:
  void compare(std::string const& name, std::optional<double> stated, double here) {
    if (!stated || std::abs(*stated - here) <= 1e-6 * std::abs(here)) return;
    if (!names_.insert(name).second) return;
    add(name + " is " + text_of(*stated) + ", but " + text_of(here) + " in this net");
  }
  void compare(std::string const& name, std::optional<std::int64_t> stated, std::int64_t here) {
    if (stated) compare(name, static_cast<double>(*stated), static_cast<double>(here));
  }
  void add(std::string const& difference) { list_ += (list_.empty() ? "" : "; ") + difference; }
  std::string const& list() const { return list_; }

 private:
  static std::string text_of(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", value);
    return text;
  }

  std::set<std::string> names_;
  std::string list_;
};

/// Compares an attention with a config.json.
inline void compare_attention(search::layer_spec const& spec, io::llama_config const& c,
                              config_differences& found) {
  // `spec` belongs to an nn::grouped_attention_core.
  std::int64_t const groups = spec.x[2], size = (spec.x[3] - spec.y[3]) / 2;
  found.compare("num_attention_heads", c.heads, groups * spec.y[3] / size);
  found.compare("num_key_value_heads", c.kv_heads, groups);
  found.compare("head_dim", c.head_dim, size);
  auto const constant = [&](char const* name, double otherwise) {
    for (auto const& k : spec.constants)
      if (k.name == search::label(name)) return k.value;
    return otherwise;
  };
  io::llama_scaling const none, &s = c.scaling;
  found.compare("rope_theta", c.rotary_base, constant("rotary_base", 0));
  double const factor = constant("rotary_factor", none.factor);
  found.compare("rope_scaling.factor", s.factor, factor);
  if (s.factor == none.factor || factor == none.factor) return;
  found.compare("rope_scaling.low_freq_factor", s.low, constant("rotary_low", none.low));
  found.compare("rope_scaling.high_freq_factor", s.high, constant("rotary_high", none.high));
  found.compare("rope_scaling.original_max_position_embeddings", s.original,
                constant("rotary_original", none.original));
}

/// Throws ashlar::error unless the net computes what the config.json at `path` describes.
inline void check_config(search::problem const& net, std::string const& path,
                         io::llama_config const& c, tied_head head) {
  config_differences found;
  std::int64_t layers = 0;
  for (int i = 0; i < net.size(); ++i) {
    auto const& spec = net.spec(i);
    if (net[i].kind != search::element_kind::layer) continue;
    if (spec.name == search::label("grouped_attention")) {
      ++layers;
      compare_attention(spec, c, found);
    }
    if (spec.name == search::label("swiglu"))
      found.compare("intermediate_size", c.hidden, spec.parameters[0].extents[1]);
    for (auto const& k : spec.constants)
      if (k.name == search::label("epsilon")) found.compare("rms_norm_eps", c.epsilon, k.value);
  }
  found.compare("num_hidden_layers", c.layers, layers);
  if (auto const& first = net.spec(0); !first.parameters.empty()) {
    found.compare("vocab_size", c.vocabulary, first.parameters[0].extents[0]);
    found.compare("hidden_size", c.features, first.y[first.y.rank() - 1]);
  }
  bool const is_tied = !net.ties.empty();
  if (c.is_tied && *c.is_tied && !is_tied && head == tied_head::refused)
    found.add("tie_word_embeddings is true, but this net has a head of its own (place "
              "nn::tied_llama, or pass checkpoint::tied_head::copied to llama_views)");
  if (c.is_tied && !*c.is_tied && is_tied)
    found.add("tie_word_embeddings is false, but this net has no head of its own (place "
              "nn::llama)");
  if (!found.list().empty())
    throw error("checkpoint::load", path + " describes another net than this one: " + found.list() +
                                        ". Place the net with the numbers of the file.");
}

/// Returns whether two tensors of the index, which have one piece each, have the same bytes.
inline bool have_same_bytes(io::checkpoint_index const& index, io::checkpoint_tensor const& a,
                            io::checkpoint_tensor const& b) {
  if (a.type != b.type || !(a.extents == b.extents)) return false;
  std::filesystem::path const no_folder;
  opened_files files(no_folder, index.files);
  std::vector<std::byte> one(1 << 20), other(1 << 20);
  std::int64_t const bytes = a.extents.elements() * io::detail::safetensors_element_size(a.type);
  for (std::int64_t at = 0; at < bytes;) {
    auto const n = std::min(bytes - at, static_cast<std::int64_t>(one.size()));
    files[a.pieces[0].file].read(a.pieces[0].position + at, one.data(), n);
    files[b.pieces[0].file].read(b.pieces[0].position + at, other.data(), n);
    if (std::memcmp(one.data(), other.data(), static_cast<std::size_t>(n)) != 0) return false;
    at += n;
  }
  return true;
}

}  // namespace detail

/// Throws ashlar::error unless the net `net` can compute with the weights in `files`, as far as
/// their config.json and their tensors `table` and `own_head` show. Communicates nothing.
inline void check_llama(search::problem const& net, std::vector<std::filesystem::path> const& files,
                        std::string const& table, std::string const& own_head, tied_head head) {
  bool is_stated = false;
  std::set<std::filesystem::path> folders;
  for (auto const& file : files) folders.insert(file.parent_path());
  for (auto const& folder : folders) {
    auto const path = folder / "config.json";
    if (!std::filesystem::exists(path)) continue;
    auto const config = io::load_llama_config(path);
    detail::check_config(net, path.string(), config, head);
    is_stated = is_stated || config.is_tied.has_value();
  }
  if (net.ties.empty() || is_stated) return;
  auto const index = io::index_of_safetensors(files);
  auto const a = index.tensors.find(table), b = index.tensors.find(own_head);
  if (a != index.tensors.end() && b != index.tensors.end() &&
      !detail::have_same_bytes(index, a->second, b->second))
    throw error("checkpoint::load", "the files have \"" + own_head +
                                        "\" with other values than \"" + table +
                                        "\", but this net has no head of its own. Place nn::llama "
                                        "instead of nn::tied_llama.");
}

}  // namespace ashlar::checkpoint
