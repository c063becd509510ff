// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// An allocator that detects code which accesses memory beyond its shards. Each block is between two
// margins. Margins and new blocks are filled with bytes 0xff, which are a NaN as float or double
// and -1 as an integer. So a floating-point result that depends on memory beyond a shard, or on
// memory that was never written, is NaN. A changed margin shows that code has written beyond a
// shard.
//
// It serves to test layers (nn/verify.hpp). It is slow and does not reuse memory.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <new>

#include <ashlar/config.hpp>

namespace ashlar {

class guarded_blocks {
 public:
  static constexpr std::size_t alignment = 64;

  /// Makes an allocator whose margins have at least `margin` bytes.
  explicit guarded_blocks(std::size_t margin);
  guarded_blocks(guarded_blocks const&) = delete;
  guarded_blocks& operator=(guarded_blocks const&) = delete;
  ~guarded_blocks();

  void* allocate(std::size_t bytes);
  /// Frees a block. Does nothing if this object did not allocate it.
  void release(void* block, std::size_t);

  /// Returns whether all margins are unchanged, including the margins of blocks that were freed.
  bool are_intact() const;

 private:
  bool is_intact(std::byte const* block, std::size_t bytes) const;
  bool is_full(std::byte const* margin) const;
  void free(std::byte* block) const {
    ::operator delete(block - margin_, std::align_val_t{alignment});
  }

  std::size_t margin_;
  std::map<std::byte*, std::size_t> blocks_;
  bool intact_ = true;
};

#if ASHLAR_DEFINES(COMM)
ASHLAR_INLINE guarded_blocks::guarded_blocks(std::size_t margin)
    : margin_((margin + alignment - 1) / alignment * alignment) {}

ASHLAR_INLINE guarded_blocks::~guarded_blocks() {
  for (auto const& [block, bytes] : blocks_) free(block);
}

ASHLAR_INLINE void* guarded_blocks::allocate(std::size_t bytes) {
  auto* const begin = static_cast<std::byte*>(
      ::operator new(bytes + 2 * margin_, std::align_val_t{alignment}));
  std::memset(begin, 0xff, bytes + 2 * margin_);
  blocks_.emplace(begin + margin_, bytes);
  return begin + margin_;
}

ASHLAR_INLINE void guarded_blocks::release(void* block, std::size_t) {
  auto const at = blocks_.find(static_cast<std::byte*>(block));
  if (at == blocks_.end()) return;
  intact_ = intact_ && is_intact(at->first, at->second);
  free(at->first);
  blocks_.erase(at);
}

ASHLAR_INLINE bool guarded_blocks::are_intact() const {
  return intact_ && std::all_of(blocks_.begin(), blocks_.end(),
                                [this](auto const& b) { return is_intact(b.first, b.second); });
}

ASHLAR_INLINE bool guarded_blocks::is_intact(std::byte const* block, std::size_t bytes) const {
  return is_full(block - margin_) && is_full(block + bytes);
}

ASHLAR_INLINE bool guarded_blocks::is_full(std::byte const* margin) const {
  return std::all_of(margin, margin + margin_, [](std::byte b) { return b == std::byte(0xff); });
}
#endif

}  // namespace ashlar
