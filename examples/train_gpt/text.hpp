// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The text that train_gpt learns from: one file, or by default the sources and documents of this
// project. Rank 0 reads, everybody gets the same bytes.

#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <mpi.h>

#include <ashlar/support/error.hpp>
#include <ashlar/train/trainer.hpp>

namespace example {

inline std::string read_file(std::filesystem::path const& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in || !std::filesystem::is_regular_file(path))
    throw ashlar::error("train_gpt", "cannot read " + path.string() + ".");
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The project's own headers, examples and documents, in one order.
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

/// The text on every rank. `path` empty: the project's own. Collective over the world.
inline std::string load_text(std::string const& path, std::filesystem::path const& project) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::string text;
  if (rank == 0) text = path.empty() ? project_text(project) : read_file(path);
  unsigned long long size = text.size();
  MPI_Bcast(&size, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  text.resize(size);
  constexpr unsigned long long piece = 1ull << 30;
  for (unsigned long long done = 0; done < size; done += piece)
    MPI_Bcast(text.data() + done, static_cast<int>(std::min(piece, size - done)), MPI_BYTE, 0,
              MPI_COMM_WORLD);
  return text;
}

/// Batches of sequences from random places of a text; the target of a byte is the next one. A
/// batch depends on (seed, step) only.
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
