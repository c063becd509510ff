// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Distributes rank 0's unique id (NCCL's) through files in a folder that all ranks can access:
//
//   FILE.<r>   written by rank r: "job size token". Once rank r has the id, it adds rank 0's token,
//              as a receipt.
//   FILE       written by rank 0: "job size token", the id, and the tokens of the other ranks
//
// Tokens are random numbers that belong to this run only. A rank accepts FILE only if it contains
// this rank's own token. Rank 0 accepts a receipt only if it contains rank 0's token. So files of
// an earlier run are overwritten or ignored, even if both runs have no job name. Rank 0 writes FILE
// again if a token changes, and removes all files at the end. Each file is written under a
// temporary name and then renamed, so that no one reads an incomplete file.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include <ashlar/comm/nccl/launch.hpp>
#include <ashlar/comm/nccl/unique_id.hpp>
#include <ashlar/support/whole_file.hpp>

namespace ashlar::nccl {
namespace detail {

inline std::string to_hex(std::byte const* bytes, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    auto const b = std::to_integer<unsigned>(bytes[i]);
    text += "0123456789abcdef"[b / 16];
    text += "0123456789abcdef"[b % 16];
  }
  return text;
}
/// Parses an id. Returns false if the text is not an id.
inline bool from_hex(std::string const& text, unique_id& id) {
  if (text.size() != 2 * id.size()) return false;
  for (std::size_t i = 0; i < id.size(); ++i) {
    unsigned b = 0;
    auto const at = text.data() + 2 * i;
    if (std::from_chars(at, at + 2, b, 16).ptr != at + 2) return false;
    id[i] = static_cast<std::byte>(b);
  }
  return true;
}

class file_rendezvous {
 public:
  file_rendezvous(launch const& here, std::chrono::milliseconds deadline)
      : here_(here), end_(std::chrono::steady_clock::now() + deadline), deadline_(deadline),
        head_((here.job.empty() ? "-" : spaceless(here.job)) + " " + std::to_string(here.size)) {
    std::random_device random;
    std::byte token[16];
    for (auto& b : token) b = static_cast<std::byte>(random() & 255u);
    token_ = to_hex(token, sizeof token);
  }

  void give(unique_id const& id) {
    std::vector<std::string> tokens(static_cast<std::size_t>(here_.size));
    std::string written;
    while (true) {
      std::string list = head_ + " " + token_ + "\n" + to_hex(id.data(), id.size()) + "\n";
      std::vector<int> missing, silent;  // the ranks without a file, and those without a receipt
      for (int r = 1; r < here_.size; ++r) {
        auto const [token, receipt] = card(r);
        tokens[static_cast<std::size_t>(r)] = token;
        if (token.empty()) missing.push_back(r);
        else if (receipt != token_) silent.push_back(r);
        list += token + "\n";
      }
      if (missing.empty() && list != written) write(here_.file, written = list);
      else if (missing.empty() && silent.empty()) break;
      if (wait_a_little()) continue;
      auto const& absent = missing.empty() ? silent : missing;
      fail(std::to_string(absent.size()) + " of " + std::to_string(here_.size) +
           " ranks are missing, the first is rank " + std::to_string(absent[0]));
    }
    std::error_code ignored;
    for (int r = 1; r < here_.size; ++r) std::filesystem::remove(card_name(r), ignored);
    std::filesystem::remove(here_.file, ignored);
  }

  unique_id take() {
    write(card_name(here_.rank), head_ + " " + token_ + "\n");
    unique_id id{};
    while (true) {
      std::ifstream in(here_.file);
      std::string job, size, master, text, token;
      if (in >> job >> size >> master >> text && job + " " + size == head_) {
        for (int r = 1; r <= here_.rank; ++r) in >> token;
        if (in && token == token_ && from_hex(text, id)) {
          write(card_name(here_.rank), head_ + " " + token_ + " " + master + "\n");
          return id;
        }
      }
      if (!wait_a_little())
        fail("rank 0 has not answered" +
             std::string(job.empty() || job + " " + size == head_
                             ? ""
                             : "; the file belongs to a run with the name and size " + job + " " +
                                   size + ", but those of this run are " + head_));
    }
  }

 private:
  static std::string spaceless(std::string text) {
    for (char& c : text)
      if (c <= ' ') c = '_';
    return text;
  }
  std::string card_name(int rank) const { return here_.file + "." + std::to_string(rank); }

  /// Returns the two tokens in rank r's file: rank r's own token, and rank 0's token, which is
  /// empty until rank r has the id. Both are empty if the file is missing or belongs to another
  /// run.
  std::pair<std::string, std::string> card(int r) const {
    std::ifstream in(card_name(r));
    std::string job, size, token, receipt;
    in >> job >> size >> token;
    if (!in || job + " " + size != head_) return {};
    in >> receipt;
    return {token, receipt};
  }

  void write(std::string const& path, std::string const& text) const {
    write_whole(path, text, "nccl::rendezvous of rank " + std::to_string(here_.rank));
  }

  bool wait_a_little() {
    if (std::chrono::steady_clock::now() >= end_) return false;
    std::this_thread::sleep_for(pause_);
    if (pause_ < std::chrono::milliseconds(100)) pause_ *= 2;
    return true;
  }

  [[noreturn]] void fail(std::string const& what) const {
    throw error(
        "nccl::rendezvous",
        "rank " + std::to_string(here_.rank) + " at the file " + here_.file + ": " + what +
            " within " + std::to_string(deadline_.count() / 1000) +
            " s. Start all ranks with the same ASHLAR_RENDEZVOUS_FILE, a path that they all "
            "see, and the same WORLD_SIZE; ASHLAR_NCCL_TIMEOUT gives them more seconds.");
  }

  launch const& here_;
  std::chrono::steady_clock::time_point end_;
  std::chrono::milliseconds deadline_, pause_{1};
  std::string head_, token_;
};

}  // namespace detail

/// On rank 0, gives `id` to the other ranks and returns it. On the other ranks, ignores `id` and
/// returns rank 0's id. Collective over all ranks of the program. After the deadline, throws
/// ashlar::error that names the rank, the file and the first missing rank.
inline unique_id rendezvous_by_file(launch const& here, unique_id const& id,
                                    std::chrono::milliseconds deadline) {
  return detail::share_id_at(detail::file_rendezvous(here, deadline), here.rank, id);
}

}  // namespace ashlar::nccl
