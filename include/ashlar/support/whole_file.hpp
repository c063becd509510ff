// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Writes a file completely or not at all. The text is written to a temporary file in the same
// folder and forced to the disk. Then the temporary file is renamed to the final name. If anything
// fails, the previous file remains unchanged.
//
//   path is ...                  then
//   a regular file               it is replaced; the new file gets the permissions of the old file
//   a symbolic link              the file that the link leads to is written; the link stays
//   a pipe or a device           the function throws, because a rename would destroy it
//   a folder                     the function throws
//   a file without write access  the function throws, although the folder may permit a rename

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ashlar/support/error.hpp>

namespace ashlar {

namespace detail {

/// The name of a temporary file consists of the final name, this suffix, and the number of the
/// process that writes the file.
inline constexpr char const* temporary_suffix = ".tmp.";

/// Returns the path of the file to which `path` leads through symbolic links. The file need not
/// exist.
inline std::filesystem::path end_of_links(std::filesystem::path path) {
  constexpr int most_links = 40;  // as in the Linux kernel
  std::error_code failed;
  for (int i = 0; i < most_links && std::filesystem::is_symlink(path, failed); ++i) {
    auto const target = std::filesystem::read_symlink(path, failed);
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

/// The most bytes that are read or written at once. macOS refuses more than 2 GiB.
inline constexpr std::int64_t most_bytes_at_once = std::int64_t{1} << 30;

/// Writes `bytes` bytes to the open file `file`. Returns 0, or an error number.
inline int write_all(int file, void const* data, std::size_t bytes) {
  auto const* next = static_cast<char const*>(data);
  while (bytes > 0) {
    auto const written = ::write(file, next, std::min<std::size_t>(bytes, most_bytes_at_once));
    if (written == 0) return EIO;
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) next += written, bytes -= static_cast<std::size_t>(written);
  }
  return 0;
}

/// Forces the open file `file` to the disk, unless `fault` is an error number, and closes it.
/// Returns `fault`, or the error number of the first call that failed.
inline int close_on_disk(int file, int fault) {
  // Pseudo file systems do not support fsync. There, fsync fails with EINVAL.
  if (fault == 0 && ::fsync(file) != 0 && errno != EINVAL) fault = errno;
  if (::close(file) != 0 && fault == 0) fault = errno;
  return fault;
}

}  // namespace detail

/// Writes `text` to the file `path`. If writing fails, throws an ashlar::error that names
/// `operation`, the file and the reason. In that case, the previous file remains unchanged.
inline void write_whole(std::string const& path, std::string_view text,
                        std::string const& operation) {
  auto const refuse = [&](std::string const& why) {
    throw error(operation, path + " cannot be written: " + why + ".");
  };
  auto const final_name = detail::end_of_links(path);
  struct stat before {};
  bool const exists = ::stat(final_name.c_str(), &before) == 0;
  if (!exists && errno != ENOENT) refuse(std::generic_category().message(errno));
  if (exists && !S_ISREG(before.st_mode))
    refuse(S_ISDIR(before.st_mode) ? "it is a folder. Add the name of a file"
                                   : "it is no regular file. Give the path of a file");
  if (exists && ::access(final_name.c_str(), W_OK) != 0)
    refuse(std::generic_category().message(errno));

  auto temporary = final_name;
  temporary += detail::temporary_suffix + std::to_string(::getpid());
  int const file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) refuse(std::generic_category().message(errno));
  if (exists) (void)::fchmod(file, before.st_mode & 07777);
  int fault = detail::close_on_disk(file, detail::write_all(file, text.data(), text.size()));
  if (fault == 0 && std::rename(temporary.c_str(), final_name.c_str()) != 0) fault = errno;
  if (fault == 0) return;
  (void)::unlink(temporary.c_str());
  refuse(std::generic_category().message(fault));
}

}  // namespace ashlar
