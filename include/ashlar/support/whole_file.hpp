// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Writes a file completely or not at all: the text is written to a temporary file in the same
// folder. Then the temporary file is renamed to the final name.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <ashlar/support/error.hpp>

namespace ashlar {

/// Writes `text` to the file `path`. If writing fails, throws an ashlar::error that names
/// `operation` and the file. In that case, the previous file remains unchanged.
inline void write_whole(std::string const& path, std::string const& text,
                        std::string const& operation) {
  std::string const temporary = path + ".tmp";
  {
    std::ofstream out(temporary, std::ios::trunc | std::ios::binary);
    out << text;
    out.flush();
    if (!out) {
      std::remove(temporary.c_str());
      throw error(operation, temporary + " cannot be written.");
    }
  }
  std::error_code failed;
  std::filesystem::rename(temporary, path, failed);
  if (failed) {
    std::remove(temporary.c_str());
    throw error(operation, path + " cannot be written: " + failed.message() + ".");
  }
}

}  // namespace ashlar
