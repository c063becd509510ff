// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// An ostream that prefixes each line with the rank of this process: `[2] text`. It buffers lines
// until a flush and then writes all of them at once, so that the reports of several ranks do not
// interleave.

#include <mutex>
#include <ostream>
#include <streambuf>
#include <string>

#include <unistd.h>

namespace ashlar_test {

class rank_buffer : public std::streambuf {
 public:
  explicit rank_buffer(int rank) : prefix_("[" + std::to_string(rank) + "] ") {}
  ~rank_buffer() override { sync(); }

 private:
  int_type overflow(int_type c) override {
    std::lock_guard const lock(mutex_);
    if (c != traits_type::eof()) put(traits_type::to_char_type(c));
    return 0;
  }

  std::streamsize xsputn(char const* text, std::streamsize count) override {
    std::lock_guard const lock(mutex_);
    for (std::streamsize i = 0; i < count; ++i) put(text[i]);
    return count;
  }

  int sync() override {
    std::lock_guard const lock(mutex_);
    for (std::size_t at = 0; at < text_.size();) {
      auto const written = ::write(STDOUT_FILENO, text_.data() + at, text_.size() - at);
      if (written <= 0) break;
      at += static_cast<std::size_t>(written);
    }
    text_.clear();
    return 0;
  }

  void put(char c) {
    if (at_start_) text_ += prefix_;
    at_start_ = c == '\n';
    text_ += c;
  }

  std::mutex mutex_;  // needed because the thread of the deadline writes too
  std::string prefix_;
  std::string text_;
  bool at_start_ = true;
};

class rank_stream : public std::ostream {
 public:
  explicit rank_stream(int rank) : std::ostream(nullptr), buffer_(rank) { rdbuf(&buffer_); }

 private:
  rank_buffer buffer_;
};

}  // namespace ashlar_test
