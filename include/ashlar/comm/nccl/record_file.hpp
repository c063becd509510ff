// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Where the last operations of a rank are written when the watchdog stops it, beside standard error, or an
// exception ends its mesh: the files of all ranks, side by side, show which rank came last and what it was at.
//
//   ASHLAR_NCCL_RECORDS   unset   nowhere
//                         a path  rank_<number>.txt in that folder, which must be there
//
// Writing never throws: it is done on the way to an error that says more.

#include <cstdlib>
#include <fstream>
#include <string>

namespace ashlar::nccl {

/// Writes `text` as this rank's record; what to tell people about it, perhaps nothing.
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
