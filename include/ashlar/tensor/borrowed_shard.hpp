// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The shard of a tensor in memory that someone else owns. The shard may keep an owner, which is
// destroyed with the last tensor that has the shard, by the thread that destroys this tensor.
//
// Such a shard is outside of the memory that the ranks of a node share, but transfers accept it
// (comm/shared/handshake.hpp): they use messages, or copy a small shard to a shared buffer. If an
// exception has interrupted a transfer, messages may still read the shard. The owner is then never
// destroyed. The arena does the same with its own blocks (arena::retire in comm/arena.hpp).

#include <memory>
#include <utility>

#include <ashlar/comm/empty_shard.hpp>
#include <ashlar/support/keep_forever.hpp>

namespace ashlar::detail {

template <class Memory>
class borrowed_memory {
 public:
  borrowed_memory(std::shared_ptr<Memory> memory, std::shared_ptr<void> owner)
      : memory_(std::move(memory)), owner_(std::move(owner)) {}
  borrowed_memory(borrowed_memory const&) = delete;
  borrowed_memory& operator=(borrowed_memory const&) = delete;
  ~borrowed_memory() {
    if (memory_->is_retired()) keep_forever(std::move(owner_));
  }

 private:
  std::shared_ptr<Memory> memory_;
  std::shared_ptr<void> owner_;
};

/// Returns a shard at `data` that keeps `owner`, which may be null. `memory` is the memory of the
/// mesh. If `data` is null, the shard has no elements.
template <class T, class Memory>
std::shared_ptr<T> borrowed_shard(std::shared_ptr<Memory> memory, T* data,
                                  std::shared_ptr<void> owner) {
  if (data == nullptr) data = static_cast<T*>(empty_shard().get());
  if (owner == nullptr) return {std::shared_ptr<void>(), data};
  return {std::make_shared<borrowed_memory<Memory>>(std::move(memory), std::move(owner)), data};
}

}  // namespace ashlar::detail
