// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The NCCL communicators of a mesh: one per list of axes that transfers use (group_split.hpp). Each
// is created on first use and kept until the mesh is destroyed. All ranks run the same program, so
// they create the same communicators in the same order.

#include <map>
#include <vector>

#include <ashlar/comm/group_split.hpp>
#include <ashlar/comm/nccl/world.hpp>

namespace ashlar::nccl {

class groups {
 public:
  groups(world const& w, topology const& t)
      : world_(w), topology_(t), here_(t.coordinates_of(w.rank())) {}

  /// Returns the communicator of this rank's group along `axes`. The first call for each list of
  /// axes is collective over the mesh.
  handle& of(axis_list const& axes) {
    auto const split = split_of(topology_, here_, axes);
    if (split.is_whole) return *world_.all;
    std::vector<signed char> const key(axes.begin(), axes.end());
    if (auto const found = find(key)) return *found;
    auto made = std::make_unique<handle>(*world_.all, split.color, split.key,
                                         to_string(axes, topology_));
    std::lock_guard const lock(mutex_);
    return *(handles_[key] = std::move(made));
  }

  /// Returns the first error of any communicator, or an empty string. Thread-safe.
  std::string fault() {
    std::string found = world_.all->fault();
    std::lock_guard const lock(mutex_);
    for (auto const& [axes, made] : handles_)
      if (found.empty()) found = made->fault();
    return found;
  }
  /// Aborts all communicators. Later calls on the communicators report `why`. Thread-safe.
  void abort(std::string const& why) {
    std::lock_guard const lock(mutex_);
    for (auto const& [axes, made] : handles_) made->abort(why);
    world_.all->abort(why);
  }

 private:
  handle* find(std::vector<signed char> const& key) {
    std::lock_guard const lock(mutex_);
    auto const found = handles_.find(key);
    return found == handles_.end() ? nullptr : found->second.get();
  }

  world world_;
  topology topology_;
  coordinates here_;
  std::map<std::vector<signed char>, std::unique_ptr<handle>> handles_;
  std::mutex mutex_;
};

}  // namespace ashlar::nccl
