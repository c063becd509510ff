// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A folder for the files of one test. The destructor removes the folder and its contents.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

namespace ashlar_test {

class temporary_folder {
 public:
  /// Creates an empty folder. Its name is unique among all objects and all running processes.
  temporary_folder() {
    static int number = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("ashlar_test_" + std::to_string(::getpid()) + "_" + std::to_string(number++));
    std::filesystem::create_directories(path_);
  }
  temporary_folder(temporary_folder const&) = delete;
  temporary_folder& operator=(temporary_folder const&) = delete;
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::filesystem::path const& path() const { return path_; }
  /// Returns the path of a file in this folder.
  std::string file(std::string const& name) const { return (path_ / name).string(); }
  /// Returns the number of files and folders in this folder.
  int size() const {
    auto const begin = std::filesystem::directory_iterator(path_);
    return static_cast<int>(std::distance(begin, std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path path_;
};

/// Returns the contents of a file, or an empty string if there is no such file.
inline std::string text_of_file(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace ashlar_test
