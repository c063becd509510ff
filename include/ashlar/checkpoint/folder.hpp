// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The folder of a training's checkpoints:
//
//   step-000000100.json                         the index, which completes the checkpoint
//   step-000000100.0/rank-0.safetensors, ...    the values that each rank wrote
//
// The number after the point is that of the attempt. A new attempt at the same step writes into
// another folder, so the complete checkpoint stays until the new index replaces its index. One
// training at a time may use a folder.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <ashlar/support/error.hpp>

namespace ashlar::checkpoint {

/// Returns the first part of the names of all files of the checkpoint of a step.
inline std::string step_name(std::int64_t step) {
  char text[32];
  std::snprintf(text, sizeof text, "step-%09lld", static_cast<long long>(step));
  return text;
}
inline std::filesystem::path index_path(std::filesystem::path const& folder, std::int64_t step) {
  return folder / (step_name(step) + ".json");
}

namespace detail {

/// The name of a file or folder of a checkpoint.
struct entry_name {
  std::int64_t step = 0;
  std::string rest;  ///< what follows the step, such as ".json" or ".0"
};

/// Returns the parts of a name, or nothing if it is not a name in a checkpoint.
inline std::optional<entry_name> parts_of(std::string const& name) {
  std::string_view const begin = "step-";
  if (!name.starts_with(begin)) return std::nullopt;
  std::int64_t step = 0;
  char const* const last = name.data() + name.size();
  auto const [end, fault] = std::from_chars(name.data() + begin.size(), last, step);
  if (fault != std::errc() || step < 0) return std::nullopt;
  entry_name made{step, std::string(end, last)};
  if (step_name(step) + made.rest != name) return std::nullopt;
  return made;
}

/// Forces the names in a folder to the disk.
inline void sync_folder(std::filesystem::path const& folder) {
  int const file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  (void)::fsync(file);
  (void)::close(file);
}

}  // namespace detail

/// Returns the steps of the complete checkpoints in a folder, in ascending order. Returns an empty
/// list if there is no such folder.
inline std::vector<std::int64_t> complete_steps(std::filesystem::path const& folder) {
  std::vector<std::int64_t> steps;
  std::error_code failed;
  for (auto const& entry : std::filesystem::directory_iterator(folder, failed)) {
    auto const name = detail::parts_of(entry.path().filename().string());
    if (name && name->rest == ".json") steps.push_back(name->step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

/// Makes a new folder for an attempt to write the checkpoint of `step`, and returns its name inside
/// `folder`. Throws ashlar::error if this fails.
inline std::string new_attempt(std::filesystem::path const& folder, std::int64_t step) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  for (int attempt = 0; !failed; ++attempt) {
    auto const name = step_name(step) + '.' + std::to_string(attempt);
    if (std::filesystem::create_directory(folder / name, failed)) return name;
  }
  throw error("checkpoint::save", folder.string() + ": " + failed.message() + ".");
}

/// Removes the complete checkpoints except the newest `keep` (0: keeps all), and what attempts that
/// were not completed have left. `current` is the folder of the newest attempt.
inline void remove_old(std::filesystem::path const& folder, int keep, std::string const& current) {
  std::error_code ignored;
  auto steps = complete_steps(folder);
  auto const kept = keep == 0 ? steps.size()
                              : std::min(steps.size(), static_cast<std::size_t>(keep));
  std::size_t const gone = steps.size() - kept;
  for (std::size_t i = 0; i < gone; ++i)
    std::filesystem::remove(index_path(folder, steps[i]), ignored);
  steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(gone));
  std::vector<std::filesystem::path> unused;
  for (auto const& entry : std::filesystem::directory_iterator(folder, ignored)) {
    auto const text = entry.path().filename().string();
    auto const name = detail::parts_of(text);
    if (!name || !name->rest.starts_with('.') || name->rest == ".json" || text == current) continue;
    bool const is_complete = std::binary_search(steps.begin(), steps.end(), name->step);
    bool const is_replaced = current.starts_with(step_name(name->step) + '.');
    if (!is_complete || is_replaced) unused.push_back(entry.path());
  }
  for (auto const& path : unused) std::filesystem::remove_all(path, ignored);
}

}  // namespace ashlar::checkpoint
