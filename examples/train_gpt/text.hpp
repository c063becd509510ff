// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The text that train_gpt learns from: one file, or by default the sources and documents of this
// project. Rank 0 reads it and sends the same bytes to all ranks.

#pragma once

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <ashlar/support/error.hpp>
#include <ashlar/train/trainer.hpp>

namespace example {

inline std::string read_file(std::filesystem::path const& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in || !std::filesystem::is_regular_file(path))
    throw ashlar::error("train_gpt", "cannot read " + path.string() + ".");
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns the .hpp and .cpp files of include/, examples/ and tests/ and the Markdown files of the
/// root folder, one after another in the order of their paths.
inline std::string project_text(std::filesystem::path const& root) {
  std::vector<std::filesystem::path> files;
  for (auto const* folder : {"include", "examples", "tests"})
    if (std::filesystem::exists(root / folder))
      for (auto const& entry : std::filesystem::recursive_directory_iterator(root / folder))
        if (entry.is_regular_file() &&
            (entry.path().extension() == ".hpp" || entry.path().extension() == ".cpp"))
          files.push_back(entry.path());
  for (auto const& entry : std::filesystem::directory_iterator(root))
    if (entry.path().extension() == ".md") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string text;
  for (auto const& file : files) text += read_file(file);
  return text;
}

/// Returns the text on every rank. If `path` is empty, the text is that of project_text. Collective
/// over a mesh of any processor: all-reduces sum the bytes of rank 0 with the zeros of all other
/// ranks.
template <class Mesh>
std::string load_text(Mesh const& mesh, std::string const& path,
                      std::filesystem::path const& project) {
  std::string text;
  if (mesh.rank() == 0) text = path.empty() ? project_text(project) : read_file(path);
  auto size = static_cast<std::int64_t>(text.size());
  mesh.all_reduce(std::span(&size, 1));
  text.resize(static_cast<std::size_t>(size));
  std::vector<std::int64_t> words(std::size_t{1} << 17);
  std::size_t const piece = words.size() * sizeof(std::int64_t);
  for (std::size_t done = 0; done < text.size(); done += piece) {
    std::size_t const bytes = std::min(piece, text.size() - done);
    std::fill(words.begin(), words.end(), 0);
    std::memcpy(words.data(), text.data() + done, bytes);
    mesh.all_reduce(
        std::span(words).first((bytes + sizeof(std::int64_t) - 1) / sizeof(std::int64_t)));
    std::memcpy(text.data() + done, words.data(), bytes);
  }
  return text;
}

/// Makes batches of sequences from random positions of a text. The target of each byte is the byte
/// after it. A batch depends on (seed, step) only.
class byte_batches {
 public:
  byte_batches(std::string text, std::int64_t sequences, std::int64_t length, std::uint64_t seed)
      : text_(std::move(text)), sequences_(sequences), length_(length), seed_(seed) {
    if (static_cast<std::int64_t>(text_.size()) < length_ + 1)
      throw ashlar::error("train_gpt", "the text has " + std::to_string(text_.size()) +
                                           " bytes, but one sequence of --context " +
                                           std::to_string(length_) + " needs " +
                                           std::to_string(length_ + 1) + ".");
  }

  ashlar::train::batch_data<> operator()(std::int64_t step) const {
    std::mt19937_64 random(seed_ * 1000003 + static_cast<std::uint64_t>(step));
    std::uint64_t const places = text_.size() - static_cast<std::size_t>(length_);
    ashlar::train::batch_data<> batch;
    for (std::int64_t s = 0; s < sequences_; ++s) {
      std::size_t const start = static_cast<std::size_t>(random() % places);
      for (std::size_t i = 0; i < static_cast<std::size_t>(length_); ++i) {
        batch.inputs.push_back(static_cast<unsigned char>(text_[start + i]));
        batch.targets.push_back(static_cast<unsigned char>(text_[start + i + 1]));
      }
    }
    return batch;
  }

  std::size_t size() const { return text_.size(); }

 private:
  std::string text_;
  std::int64_t sequences_, length_;
  std::uint64_t seed_;
};

}  // namespace example
