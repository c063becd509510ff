// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <mpi.h>
#include <support/placed.hpp>
#include <support/temporary_folder.hpp>

namespace ashlar_test {

/// A temporary folder whose name all ranks know. Rank 0 creates it and removes it at the end.
class shared_folder {
 public:
  shared_folder() {
    if (world_rank() == 0) own_.emplace();
    std::string name = world_rank() == 0 ? own_->path().string() : "";
    int length = static_cast<int>(name.size());
    MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
    name.resize(static_cast<std::size_t>(length));
    MPI_Bcast(name.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD);
    path_ = name;
  }
  ~shared_folder() { MPI_Barrier(MPI_COMM_WORLD); }
  std::filesystem::path const& path() const { return path_; }

 private:
  std::optional<temporary_folder> own_;
  std::filesystem::path path_;
};

}  // namespace ashlar_test
