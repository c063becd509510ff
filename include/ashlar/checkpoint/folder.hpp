// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The folder with the checkpoints of a training run:
//
//   step-000000100.json                         the index, which completes the checkpoint
//   step-000000100.0/rank-0.safetensors, ...    the values that each rank wrote
//
// The number after the point counts the attempts to write this checkpoint, from 0. A new attempt at
// the same step writes into another folder, so the complete checkpoint stays until the new index
// replaces its index. Only one training run at a time may use a folder.

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <ashlar/support/error.hpp>
#include <ashlar/support/whole_file.hpp>

namespace ashlar::checkpoint {

/// Returns the prefix of the names of all files and folders of a step's checkpoint, such as
/// "step-000000100".
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

/// Splits a name such as "step-000000100.0" into the step and the rest. Returns nothing if no
/// checkpoint has such a name.
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

/// Forces the names in a folder to the disk. Throws ashlar::error if this fails.
inline void sync_folder(std::filesystem::path const& folder) {
  int const file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int fault = file < 0 ? errno : 0;
  // Some file systems do not support fsync of folders.
  if (file >= 0 && ::fsync(file) != 0 && errno != EINVAL && errno != ENOTSUP) fault = errno;
  if (file >= 0) (void)::close(file);
  if (fault != 0)
    throw error("checkpoint::save", folder.string() + " cannot be written: " +
                                        std::generic_category().message(fault) + ".");
}

/// Returns whether a name belongs to an attempt to write a checkpoint, such as "step-000000100.0".
inline bool is_attempt(entry_name const& name) {
  return name.rest.size() > 1 && name.rest[0] == '.' &&
         std::all_of(name.rest.begin() + 1, name.rest.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

/// Returns whether a name belongs to an unfinished index, such as "step-000000100.json.tmp.17"
/// (support/whole_file.hpp): one that is being written, or that a process left when it ended.
inline bool is_half_index(entry_name const& name) {
  return name.rest.starts_with(std::string(".json") + ashlar::detail::temporary_suffix);
}

/// Says, as long as it exists, that a background save of this process writes into a folder. Only
/// rank 0 makes such an object, since only rank 0 makes the folders of attempts.
class busy_folder {
 public:
  explicit busy_folder(std::filesystem::path const& folder)
      : folder_(std::filesystem::weakly_canonical(folder)) {
    std::lock_guard const lock(all().mutex);
    all().folders.insert(folder_);
  }
  busy_folder(busy_folder const&) = delete;
  busy_folder& operator=(busy_folder const&) = delete;
  ~busy_folder() {
    std::lock_guard const lock(all().mutex);
    all().folders.erase(folder_);
  }
  static bool is_busy(std::filesystem::path const& folder) {
    std::lock_guard const lock(all().mutex);
    std::error_code failed;  // such a folder cannot be written in the background either
    return all().folders.contains(std::filesystem::weakly_canonical(folder, failed));
  }

 private:
  struct all_folders {
    std::mutex mutex;
    std::set<std::filesystem::path> folders;
  };
  static all_folders& all() {
    static auto* const one = new all_folders;  // never destroyed: a background save may be static
    return *one;
  }

  std::filesystem::path folder_;
};

/// Returns the names in a folder. Returns an empty list if there is no such folder. Throws
/// ashlar::error if the folder cannot be read.
inline std::vector<std::string> names_in(std::filesystem::path const& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  std::filesystem::directory_iterator at(folder, failed);
  for (; !failed && at != std::filesystem::directory_iterator(); at.increment(failed))
    names.push_back(at->path().filename().string());
  if (failed && failed != std::errc::no_such_file_or_directory)
    throw error("checkpoint", folder.string() + " cannot be read: " + failed.message() + ".");
  return names;
}

/// Returns the steps of those names that are indexes, such as "step-000000100.json", in ascending
/// order.
inline std::vector<std::int64_t> steps_of_indexes(std::vector<std::string> const& names) {
  std::vector<std::int64_t> steps;
  for (auto const& text : names)
    if (auto const name = parts_of(text); name && name->rest == ".json")
      steps.push_back(name->step);
  std::sort(steps.begin(), steps.end());
  return steps;
}

}  // namespace detail

/// Returns the steps of the complete checkpoints in a folder, in ascending order. Returns an empty
/// list if there is no such folder. Throws ashlar::error if the folder cannot be read.
inline std::vector<std::int64_t> complete_steps(std::filesystem::path const& folder) {
  return detail::steps_of_indexes(detail::names_in(folder));
}

/// Removes all complete checkpoints but the newest `keep` (0: keeps all), and the folders and
/// indexes of attempts that were never completed. The attempt `current` stays, and other attempts
/// at its step are removed. Expects that no index is being written.
inline void remove_old(std::filesystem::path const& folder, int keep, std::string const& current) {
  auto const names = detail::names_in(folder);
  auto steps = detail::steps_of_indexes(names);
  std::error_code ignored;
  while (keep > 0 && steps.size() > static_cast<std::size_t>(keep)) {
    std::filesystem::remove(index_path(folder, steps.front()), ignored);
    steps.erase(steps.begin());
  }
  for (auto const& text : names) {
    auto const name = detail::parts_of(text);
    if (name && detail::is_half_index(*name)) std::filesystem::remove(folder / text, ignored);
    if (!name || !detail::is_attempt(*name) || text == current) continue;
    bool const is_complete = std::binary_search(steps.begin(), steps.end(), name->step);
    bool const is_replaced = current.starts_with(step_name(name->step) + '.');
    if (!is_complete || is_replaced) std::filesystem::remove_all(folder / text, ignored);
  }
}

/// Makes a new folder for an attempt to write the checkpoint of `step`, and returns its name inside
/// `folder`. If there is no complete checkpoint of `step`, first removes what is left of attempts
/// that were never completed. Throws ashlar::error if this fails, or if `folder` has a checkpoint
/// of a later step, which then belongs to another training run. Also throws if a background save of
/// this process writes into `folder`, since its attempt would be removed.
inline std::string new_attempt(std::filesystem::path const& folder, std::int64_t step) {
  if (detail::busy_folder::is_busy(folder))
    throw error("checkpoint::save", folder.string() +
                                        " is being written in the background. Call finish() of "
                                        "its background_save first.");
  std::error_code failed;
  if (std::filesystem::create_directories(folder, failed))
    detail::sync_folder(std::filesystem::absolute(folder).parent_path());
  if (!failed) {
    auto const steps = complete_steps(folder);
    if (!steps.empty() && steps.back() > step)
      throw error("checkpoint::save", folder.string() + " has a checkpoint of step " +
                                          std::to_string(steps.back()) +
                                          ", which is later than step " + std::to_string(step) +
                                          ". Use another folder, or remove the later ones.");
    if (!std::binary_search(steps.begin(), steps.end(), step)) remove_old(folder, 0, "");
  }
  for (int attempt = 0; !failed; ++attempt) {
    auto const name = step_name(step) + '.' + std::to_string(attempt);
    if (!std::filesystem::create_directory(folder / name, failed)) continue;
    detail::sync_folder(folder);
    return name;
  }
  throw error("checkpoint::save",
              folder.string() + " cannot be written: " + failed.message() + ".");
}

}  // namespace ashlar::checkpoint
