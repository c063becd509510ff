// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A file of tokens, mapped into memory. The operating system reads only the pages that are
// accessed, and the ranks of a node share these pages. The file must not change while it is mapped.

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ashlar/train/token_layout.hpp>

namespace ashlar::train {

class token_file {
 public:
  /// Opens and maps the file. Throws an ashlar::error that names the file if the file cannot be
  /// read or does not have this format.
  token_file(std::filesystem::path path, token_format format) : path_(std::move(path)) {
    file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file_ < 0) refuse(std::generic_category().message(errno) + ".");
    try {
      struct stat about {};
      if (::fstat(file_, &about) != 0 || !S_ISREG(about.st_mode)) refuse("it is no regular file.");
      size_ = static_cast<std::int64_t>(about.st_size);
      if (size_ > 0) {
        auto* const mapped = ::mmap(nullptr, static_cast<std::size_t>(size_), PROT_READ, MAP_SHARED,
                                    file_, 0);
        if (mapped == MAP_FAILED) refuse(std::generic_category().message(errno) + ".");
        bytes_ = static_cast<unsigned char const*>(mapped);
      }
      auto const head = std::min(static_cast<std::size_t>(size_), most_token_header);
      try {
        layout_ = token_layout_of({reinterpret_cast<char const*>(bytes_), head}, size_,
                                  path_.extension().string(), format);
      } catch (error const& e) {
        refuse(std::string(e.what()).substr(e.operation().size() + 2));
      }
    } catch (...) {
      close();
      throw;
    }
  }
  token_file(token_file const&) = delete;
  token_file& operator=(token_file const&) = delete;
  ~token_file() { close(); }

  std::filesystem::path const& path() const { return path_; }
  token_layout const& layout() const { return layout_; }

  /// Reads to.size() tokens, beginning with token number `first` of the file. Throws ashlar::error
  /// if one of them is not in [0, vocabulary), or if the file has become shorter.
  void read(std::int64_t first, std::span<std::int32_t> to, std::int64_t vocabulary) const {
    struct stat about {};
    if (::fstat(file_, &about) != 0 || about.st_size < size_)
      refuse("it has become shorter than when it was opened.");
    auto const* from = bytes_ + layout_.data + first * layout_.bytes;
    for (std::size_t i = 0; i < to.size(); ++i, from += layout_.bytes) {
      std::uint64_t word = 0;
      for (int k = layout_.bytes; k-- > 0;) word = word << 8 | from[k];
      auto token = static_cast<std::int64_t>(word);
      if (layout_.is_signed && layout_.bytes == 4) token = static_cast<std::int32_t>(word);
      if (token < 0 || token >= vocabulary)
        refuse("token " + std::to_string(token) + " at position " +
               std::to_string(first + static_cast<std::int64_t>(i)) +
               " is not in the vocabulary of " + std::to_string(vocabulary) + ".");
      to[i] = static_cast<std::int32_t>(token);
    }
  }
  /// Throws an ashlar::error that names the file. `why` completes a sentence that begins with the
  /// name of the file.
  [[noreturn]] void refuse(std::string const& why) const {
    throw error("train::loader", path_.string() + " cannot be used: " + why);
  }

 private:
  void close() {
    if (bytes_ != nullptr)
      ::munmap(const_cast<unsigned char*>(bytes_), static_cast<std::size_t>(size_));
    ::close(file_);
  }

  std::filesystem::path path_;
  int file_ = -1;
  std::int64_t size_ = 0;
  unsigned char const* bytes_ = nullptr;
  token_layout layout_;
};

}  // namespace ashlar::train
