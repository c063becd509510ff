// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tensors with published names and random values, which a test writes to a safetensors file as the
// weights of another program.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <ashlar/io/json/safetensors_header.hpp>

namespace ashlar_test {

/// Tensors by their published names. Values are floats in [-0.4, 0.4], the same on every rank.
struct published_tensors {
  std::map<std::string, std::vector<std::int64_t>> extents;
  std::map<std::string, std::vector<float>> values;

  void add(std::string const& name, std::vector<std::int64_t> const& e) {
    std::int64_t count = 1;
    for (auto const n : e) count *= n;
    extents[name] = e;
    for (std::int64_t i = 0; i < count; ++i)
      values[name].push_back(static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 2500);
  }

  /// Writes all tensors to a file. There each name begins with `prefix`.
  void write(std::filesystem::path const& file, std::string const& prefix) const {
    ashlar::io::safetensors_header header;
    std::int64_t at = 0;
    for (auto const& [name, v] : values) {
      auto const bytes = static_cast<std::int64_t>(4 * v.size());
      header.entries.push_back({prefix + name, "F32", extents.at(name), at, at + bytes});
      at += bytes;
    }
    std::ofstream out(file, std::ios::binary);
    out << ashlar::io::safetensors_text(header);
    for (auto const& [name, v] : values)
      out.write(reinterpret_cast<char const*>(v.data()),
                static_cast<std::streamsize>(4 * v.size()));
  }

  std::mt19937 random{3};
};

}  // namespace ashlar_test
