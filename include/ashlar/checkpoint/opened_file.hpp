// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The files of a checkpoint while they are read: one open file, and the set of all of them.

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ashlar/io/json/checkpoint_index.hpp>
#include <ashlar/support/error.hpp>
#include <ashlar/support/whole_file.hpp>

namespace ashlar::checkpoint::detail {

/// A file that is open for reading at any position.
class opened_file {
 public:
  /// Opens `path`. Errors begin with the name of the public function, `operation`.
  opened_file(char const* operation, std::filesystem::path path)
      : operation_(operation), path_(std::move(path)),
        file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (file_ < 0) refuse(std::generic_category().message(errno));
    struct stat about {};
    if (::fstat(file_, &about) == 0 && S_ISREG(about.st_mode)) return;
    ::close(file_);
    refuse("it is no regular file");
  }
  opened_file(opened_file const&) = delete;
  opened_file& operator=(opened_file const&) = delete;
  ~opened_file() { ::close(file_); }

  std::int64_t size() const { return ::lseek(file_, 0, SEEK_END); }
  void read(std::int64_t position, std::byte* to, std::int64_t bytes) const {
    while (bytes > 0) {
      auto const part = std::min(bytes, ashlar::detail::most_bytes_at_once);
      auto const got = ::pread(file_, to, static_cast<std::size_t>(part), position);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse(std::generic_category().message(errno));
      if (got == 0) refuse("it is shorter than its index or header says");
      to += got, position += got, bytes -= got;
    }
  }
  [[noreturn]] void refuse(std::string const& why) const {
    throw error(operation_, path_.string() + " cannot be read: " + why + ".");
  }

 private:
  char const* operation_;
  std::filesystem::path path_;
  int file_;
};

/// The files of a checkpoint, each opened when it is first read. Systems limit the number of open
/// files, so all are closed when `most_open` are open and another one is needed.
class opened_files {
 public:
  /// Names in `files` are relative to `folder`. Both arguments must outlive the object.
  opened_files(std::filesystem::path const& folder, std::vector<io::checkpoint_file> const& files)
      : folder_(&folder), files_(&files), opened_(files.size()) {}

  /// Returns file `number`. The next call may close it.
  opened_file const& operator[](int number) {
    auto const i = static_cast<std::size_t>(number);
    if (opened_[i]) return *opened_[i];
    if (open_ == most_open) {
      for (auto& file : opened_) file.reset();
      open_ = 0;
    }
    opened_[i].emplace("checkpoint::load", *folder_ / (*files_)[i].name);
    ++open_;
    return *opened_[i];
  }

 private:
  static constexpr int most_open = 64;

  std::filesystem::path const* folder_;
  std::vector<io::checkpoint_file> const* files_;
  std::vector<std::optional<opened_file>> opened_;
  int open_ = 0;
};

}  // namespace ashlar::checkpoint::detail
