// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A transfer of small shards within one node. Each rank copies its shard to its stage, which is a
// buffer in shared memory. Other ranks read the shard from the stage when they need it. A rank
// waits only for the members whose shards it needs, and never for readers. If ranks share cores,
// this saves every second context switch between them. The synchronization follows the rules of
// handshake.hpp:
//
//   stage · wait until the members whose shards I need have arrived · copy or reduce
//
// The shards themselves may be in any memory. advance() never waits.

#include <cstring>

#include <ashlar/comm/shared/handshake.hpp>
#include <ashlar/comm/shared/neighbours.hpp>

namespace ashlar::shared {

class eager_transfer {
 public:
  /// Returns whether the shards of all members are small enough for their stages. All members get
  /// the same result.
  static bool carries(transfer const& what, element_type type, neighbourhood const& group) {
    return what.largest_source * size_of(type) <= group.most_staged;
  }

  /// Requires carries(what, type, group). `what`, `group` and the arrays must outlive this object.
  /// `source` must not be written before the transfer has ended, because any call of advance() may
  /// copy it.
  eager_transfer(transfer const& what, element_type type, neighbourhood const& group,
                 std::uint64_t epoch, void const* source, void* target)
      : what_(&what), group_(&group), sync_(group, epoch, what, type), source_(source, type),
        target_(target, type), offset_(static_cast<std::int64_t>(epoch % 2) * stage_bytes) {}

  /// Does all work that is possible now. Returns true when the transfer has ended. Throws
  /// ashlar::error if this rank waits for a member that has abandoned the mesh or makes another
  /// transfer.
  bool advance() {
    if (!is_staged_ && !stage()) return false;
    while (next_ < what_->members) {
      if (needs(next_) && !sync_.arrived(next_)) return false;
      ++next_;
    }
    take_all(
        *what_, [&](int j) { return staged(j); }, target_);
    return true;
  }

 private:
  bool stage() {
    if (!sync_.all_arrived_before()) return false;
    auto const bytes = what_->from.elements() * source_.size();
    if (bytes > 0)
      std::memcpy(staged(what_->index).at, source_.at, static_cast<std::size_t>(bytes));
    sync_.publish();
    return is_staged_ = true;
  }

  bool needs(int member) const {
    transfer const& x = *what_;
    if (x.kind == collective::all_reduce) return x.from.elements() > 0;
    return x.receives[static_cast<std::size_t>(member)].elements > 0;
  }
  element_pointer staged(int member) const {
    return {group_->stages[static_cast<std::size_t>(member)] + offset_, source_.type()};
  }

  transfer const* what_;
  neighbourhood const* group_;
  handshake sync_;
  element_pointer source_, target_;
  std::int64_t offset_;
  bool is_staged_ = false;
  int next_ = 0;
};

}  // namespace ashlar::shared
