// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Small random tensors with the names and extents of a published model, and the safetensors file
// that has them. Every rank draws the same values.

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <ashlar/io/json/safetensors_header.hpp>

namespace ashlar_test {

class published_weights {
 public:
  /// Adds a tensor of floats between -0.4 and 0.4, plus `mean`.
  void add(std::string const& name, std::vector<std::int64_t> const& extents, float mean = 0) {
    std::int64_t count = 1;
    for (auto const n : extents) count *= n;
    extents_[name] = extents;
    for (std::int64_t i = 0; i < count; ++i)
      values_[name].push_back(mean +
                              static_cast<float>(static_cast<int>(random_() % 2001) - 1000) / 2500);
  }

  /// Adds a tensor `name` with the extents and values of tensor `of`.
  void add_copy(std::string const& name, std::string const& of) {
    extents_[name] = extents_.at(of);
    values_[name] = values_.at(of);
  }

  /// Returns element i of a tensor in row-major order.
  double at(std::string const& name, std::int64_t i) const {
    return values_.at(name)[static_cast<std::size_t>(i)];
  }

  std::int64_t elements(std::string const& name) const {
    return static_cast<std::int64_t>(values_.at(name).size());
  }

  /// Writes all tensors, each with `prefix` before its name. The tensor `changed` gets the name
  /// `renamed` instead, or is left out if `renamed` is "".
  void write(std::filesystem::path const& file, std::string const& prefix,
             std::string const& changed = "", std::string const& renamed = "") const {
    ashlar::io::safetensors_header header;
    std::int64_t at = 0;
    for (auto const& [name, v] : values_) {
      if (name == changed && renamed.empty()) continue;
      auto const bytes = static_cast<std::int64_t>(4 * v.size());
      header.entries.push_back(
          {prefix + (name == changed ? renamed : name), "F32", extents_.at(name), at, at + bytes});
      at += bytes;
    }
    std::ofstream out(file, std::ios::binary);
    out << ashlar::io::safetensors_text(header);
    for (auto const& [name, v] : values_)
      if (name != changed || !renamed.empty())
        out.write(reinterpret_cast<char const*>(v.data()),
                  static_cast<std::streamsize>(4 * v.size()));
  }

 private:
  std::map<std::string, std::vector<std::int64_t>> extents_;
  std::map<std::string, std::vector<float>> values_;
  std::mt19937 random_{3};
};

}  // namespace ashlar_test
