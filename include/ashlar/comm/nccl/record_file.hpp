// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Writes the last operations of a rank to a file. This happens when the watchdog stops the rank, or
// when an exception ends its mesh. A comparison of all ranks' files shows which rank was behind the
// others, and in which operation.
//
//   ASHLAR_NCCL_RECORDS   unset   no file is written
//                         a path  an existing folder, for the files rank_<number>.txt
//
// Writing never throws, because a more informative error is already being reported.

#include <cstdlib>
#include <fstream>
#include <string>

namespace ashlar::nccl {

/// Writes `text` to this rank's file. Returns a message for the user with the path of the file, or
/// with the fact that writing failed. The message is empty if no file is wanted.
inline std::string write_record_file(int rank, std::string const& text) noexcept try {
  char const* const folder = std::getenv("ASHLAR_NCCL_RECORDS");
  if (folder == nullptr || *folder == '\0') return "";
  std::string const path = std::string(folder) + "/rank_" + std::to_string(rank) + ".txt";
  std::ofstream file(path);
  file << text << '\n' << std::flush;
  return file ? "Written to " + path + "." : "ASHLAR_NCCL_RECORDS: " + path + " cannot be written.";
} catch (...) {
  return "";
}

}  // namespace ashlar::nccl
