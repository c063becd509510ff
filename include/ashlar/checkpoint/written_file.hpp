// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A file of a checkpoint, or a .npy file, while it is written.

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <ashlar/support/error.hpp>
#include <ashlar/support/whole_file.hpp>

namespace ashlar::checkpoint::detail {

/// A file that is open for writing. If a call fails, throws an ashlar::error that begins with the
/// text `operation`.
class written_file {
 public:
  /// `flags` are flags of open(2), such as O_CREAT, in addition to O_WRONLY.
  written_file(char const* operation, std::filesystem::path path, int flags)
      : operation_(operation), path_(std::move(path)),
        file_(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666)) {
    refuse_if(file_ < 0 ? errno : 0);
  }
  written_file(written_file const&) = delete;
  written_file& operator=(written_file const&) = delete;
  ~written_file() {
    if (file_ >= 0) (void)::close(file_);
  }

  /// Writes behind the data of earlier calls of append().
  void append(void const* data, std::size_t bytes) const {
    refuse_if(ashlar::detail::write_all(file_, data, bytes));
  }
  /// Writes at a position. Does not change the position at which append() writes.
  void write(std::int64_t position, void const* data, std::int64_t bytes) const {
    auto const* next = static_cast<std::byte const*>(data);
    while (bytes > 0) {
      auto const part = std::min(bytes, ashlar::detail::most_bytes_at_once);
      auto const done = ::pwrite(file_, next, static_cast<std::size_t>(part), position);
      if (done < 0 && errno == EINTR) continue;
      refuse_if(done < 0 ? errno : done == 0 ? EIO : 0);
      next += done, position += done, bytes -= done;
    }
  }
  void resize(std::int64_t bytes) const { refuse_if(::ftruncate(file_, bytes) == 0 ? 0 : errno); }
  /// Forces the file to the disk and closes it.
  void close() { refuse_if(ashlar::detail::close_on_disk(std::exchange(file_, -1), 0)); }

 private:
  void refuse_if(int fault) const {
    if (fault != 0)
      throw error(operation_, path_.string() + " cannot be written: " +
                                  std::generic_category().message(fault) + ".");
  }

  char const* operation_;
  std::filesystem::path path_;
  int file_;
};

}  // namespace ashlar::checkpoint::detail
