// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The allocator of a mesh's tensors. It takes memory first from a region that the ranks of a node
// share (if the mesh has one), then from the heap. Released blocks stay in free lists and are
// reused. So the steps of a training take no memory from the system after the first ones. This
// matters because new pages from the system cost more time than many collectives. Sizes are rounded
// up to size classes (support/size_class.hpp). Of the free blocks of one size, the one released
// last is reused first, since it is likely still in the cache.
//
//   in the region   A bump pointer provides new blocks. If the region is full, or if its used part
//                   would exceed twice the peak use, adjacent free blocks are first merged. Then
//                   the first free range that is large enough provides the block. If there is none
//                   and the region is full, the block comes from the heap.
//   on the heap     operator new provides new blocks. Before the heap grows beyond its previous
//                   maximum, all its free blocks are returned to the system.
//
// For AddressSanitizer, free blocks and the padding of blocks in use are poisoned. A retired arena
// (see retire()) does not poison the blocks that it gets back, since messages may still arrive in
// them.
//
// Each rank of a mesh has one arena, which is not thread-safe. It counts the bytes in use and their
// peak. To test code that may write beyond the end of a shard, the arena can return guarded blocks
// instead (guarded_blocks.hpp).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <unordered_map>
#include <vector>

#include <ashlar/comm/guarded_blocks.hpp>
#include <ashlar/comm/shared/pages.hpp>
#include <ashlar/config.hpp>
#include <ashlar/support/size_class.hpp>

namespace ashlar {

class arena {
 public:
  static constexpr std::size_t alignment = 64;  // a cache line, and a vector register of AVX-512

  /// Makes an arena that takes memory first from the `bytes` bytes at `region`, then from the heap.
  /// The region must be aligned to a page and must outlive the arena. Null means no region.
  explicit arena(std::byte* region = nullptr, std::size_t bytes = 0);
  arena(arena const&) = delete;
  arena& operator=(arena const&) = delete;
  ~arena();

  /// Returns a block of at least `bytes` bytes, aligned to `alignment`. Its contents are
  /// unspecified. A request for zero bytes returns a valid block too. Throws std::bad_alloc if both
  /// the region and the heap are exhausted.
  void* allocate(std::size_t bytes);

  /// Returns a block to the arena. `bytes` must be the value given to `allocate`, because it
  /// determines the free list. No one may still read or write the block.
  void release(void* block, std::size_t bytes);

  /// Stops the arena from reusing or freeing blocks that are released from now on. Called when
  /// messages may still arrive in such blocks, or when other ranks may still read them.
  void retire() { is_retired_ = true; }
  bool is_retired() const { return is_retired_; }

  /// Makes every later block a guarded block. A guarded block lies between two margins of `margin`
  /// bytes, which show whether code writes beyond the block (guarded_blocks.hpp). Requires that no
  /// block is in use.
  void guard(std::size_t margin);
  /// Returns the allocator of guarded blocks, or null if `guard` was not called.
  guarded_blocks const* guarded() const { return guarded_.get(); }

  /// Returns the offset of address `p` in the shared region, in bytes, or -1 if `p` is outside the
  /// region.
  std::int64_t offset_in_region(void const* p) const;

  std::size_t bytes_in_use() const { return in_use_; }
  std::size_t peak_bytes() const { return peak_; }
  void reset_peak() { peak_ = in_use_; }

 private:
  void* find(std::size_t size);

  /// Returns the list of all blocks that were released to retired arenas. These blocks are never
  /// freed. The list keeps them reachable until the program ends, so that the leak sanitizer does
  /// not report them.
  static std::vector<void*>& blocks_of_messages();

  bool in_region(void const* p) const { return offset_in_region(p) >= 0; }

  void* from_region(std::size_t size);

  /// Makes the system provide pages for the first `bytes` bytes of the region. If the system has
  /// too few pages, the region is shortened to the part that has pages. Returns whether all `bytes`
  /// bytes have pages.
  bool commit(std::size_t bytes);

  /// Merges all free blocks of the region. Returns a block from the first free range that is large
  /// enough, or null if there is none.
  void* from_merged(std::size_t size);

  void merge(std::byte* block, std::size_t size);

  void* from_heap(std::size_t size);

  void free_heap_blocks();

  std::byte* region_;
  std::size_t region_end_;     // size of the region in bytes; less if the system has no more pages
  std::size_t used_ = 0;       // bytes of the region taken by the bump pointer
  std::size_t committed_ = 0;  // bytes of the region that have pages
  std::map<std::byte*, std::size_t> merged_;  // free ranges of the region that are in no free list
  std::unordered_map<std::size_t, std::vector<void*>> free_;
  std::size_t heap_bytes_ = 0;  // bytes from operator new, in use or in a free list
  std::size_t heap_most_ = 0;
  std::size_t in_use_ = 0;
  std::size_t most_ = 0;  // peak of in_use_ plus the requested size, in calls of from_region
  std::size_t peak_ = 0;
  bool is_retired_ = false;
  std::unique_ptr<guarded_blocks> guarded_;
};

#if ASHLAR_DEFINES(COMM)
ASHLAR_INLINE arena::arena(std::byte* region, std::size_t bytes)
    : region_(region), region_end_(bytes) {}

ASHLAR_INLINE arena::~arena() {
  free_heap_blocks();
  ASHLAR_UNPOISON(region_, used_);  // the addresses may be mapped again for another purpose
}

ASHLAR_INLINE void* arena::allocate(std::size_t bytes) {
  if (guarded_) return guarded_->allocate(bytes);
  std::size_t const size = size_class(bytes);
  void* const block = find(size);
  in_use_ += size;
  if (in_use_ > peak_) peak_ = in_use_;
  ASHLAR_UNPOISON(block, bytes);
  ASHLAR_POISON(static_cast<std::byte*>(block) + bytes, size - bytes);
  return block;
}

ASHLAR_INLINE void arena::release(void* block, std::size_t bytes) {
  if (guarded_) return guarded_->release(block, bytes);
  std::size_t const size = size_class(bytes);
  in_use_ -= size;
  auto& blocks = is_retired_ ? blocks_of_messages() : free_[size];
  blocks.push_back(block);
  if (!is_retired_) ASHLAR_POISON(block, size);
}

ASHLAR_INLINE void arena::guard(std::size_t margin) {
  guarded_ = std::make_unique<guarded_blocks>(margin);
}

ASHLAR_INLINE std::int64_t arena::offset_in_region(void const* p) const {
  auto const* const byte = static_cast<std::byte const*>(p);
  if (byte < region_ || byte >= region_ + region_end_) return -1;
  return byte - region_;
}

ASHLAR_INLINE void* arena::find(std::size_t size) {
  auto& blocks = free_[size];
  if (!blocks.empty()) {
    void* const block = blocks.back();
    blocks.pop_back();
    return block;
  }
  if (void* const block = from_region(size)) return block;
  return from_heap(size);
}

ASHLAR_INLINE std::vector<void*>& arena::blocks_of_messages() {
  static auto* const blocks = new std::vector<void*>;
  return *blocks;
}

ASHLAR_INLINE void* arena::from_region(std::size_t size) {
  // Before the used part of the region grows beyond twice the peak use, free blocks are merged.
  // Otherwise a program whose shapes keep changing would fill the region with free blocks of sizes
  // that the program no longer needs.
  if (region_ == nullptr) return nullptr;
  most_ = std::max(most_, in_use_ + size);
  bool const at_end = region_end_ - used_ < size;
  if (at_end || used_ + size > 2 * most_)
    if (void* const block = from_merged(size)) return block;
  if (at_end || !commit(used_ + size)) return nullptr;
  std::byte* const block = region_ + used_;
  used_ += size;
  return block;
}

ASHLAR_INLINE bool arena::commit(std::size_t bytes) {
  if (bytes <= committed_) return true;
  constexpr std::size_t page = 4096;
  std::size_t const wanted = std::min((bytes + page - 1) / page * page, region_end_) - committed_;
  std::size_t const got = shared::obtain_pages(region_ + committed_, wanted);
  committed_ += got;
  if (got < wanted) region_end_ = committed_;
  return got == wanted;
}

ASHLAR_INLINE void* arena::from_merged(std::size_t size) {
  for (auto& [block_size, blocks] : free_)
    std::erase_if(blocks, [&, bytes = block_size](void* block) {
      if (!in_region(block)) return false;
      merge(static_cast<std::byte*>(block), bytes);
      return true;
    });
  for (auto at = merged_.begin(); at != merged_.end(); ++at) {
    if (at->second < size) continue;
    auto* const block = at->first;
    std::size_t const rest = at->second - size;
    merged_.erase(at);
    if (rest > 0) merged_.emplace(block + size, rest);
    return block;
  }
  return nullptr;
}

ASHLAR_INLINE void arena::merge(std::byte* block, std::size_t size) {
  auto const after = merged_.lower_bound(block);
  if (after != merged_.end() && block + size == after->first) {
    size += after->second;
    merged_.erase(after);
  }
  auto const next = merged_.lower_bound(block);
  if (next != merged_.begin()) {
    auto const before = std::prev(next);
    if (before->first + before->second == block) {
      before->second += size;
      return;
    }
  }
  merged_.emplace(block, size);
}

ASHLAR_INLINE void* arena::from_heap(std::size_t size) {
  std::size_t const wanted = heap_bytes_ + size;
  if (wanted > heap_most_) free_heap_blocks();
  void* const block = ::operator new(size, std::align_val_t{alignment});
  // The new maximum still counts the blocks that were just freed, so that the heap may have blocks
  // of several sizes. Otherwise, if requests for two sizes alternate, each request would free the
  // blocks of the other size.
  heap_most_ = std::max(heap_most_, wanted);
  heap_bytes_ += size;
  return block;
}

ASHLAR_INLINE void arena::free_heap_blocks() {
  for (auto& [size, blocks] : free_)
    std::erase_if(blocks, [&, bytes = size](void* block) {
      if (in_region(block)) return false;
      ASHLAR_UNPOISON(block, bytes);
      ::operator delete(block, std::align_val_t{alignment});
      heap_bytes_ -= bytes;
      return true;
    });
}
#endif

}  // namespace ashlar
