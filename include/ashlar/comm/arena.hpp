// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Where the memory of a mesh's tensors comes from: first a region that the ranks of a node share (if
// the mesh has one), then the heap. Blocks are kept and handed out again, so that a training step
// that has run once allocates nothing: fresh pages from the system cost more than many a
// collective. Sizes are rounded up to an eighth of their power of two; the last block given back
// of a size is handed out first, while its cache lines are warm.
//
//   in the region   bump pointer; when it is at the end, free blocks are merged with their
//                   neighbours and the first large enough is cut; when there is none, the heap
//   on the heap     operator new; before more is asked for than was ever held, free blocks go back
//
// Free blocks, and what rounding adds to those in use, are poisoned for the address sanitizer; those given
// back to a retired arena are not, since messages may arrive there.
// One arena per mesh and rank, used from one thread. It counts what is in use and the most that was.
// For trials of code that may write beyond its shards it hands out guarded blocks (guarded_blocks.hpp).

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

  /// An arena whose first `bytes` come from `region` (aligned to a page, or null for none), which
  /// must outlive it.
  explicit arena(std::byte* region = nullptr, std::size_t bytes = 0)
      : region_(region), region_end_(bytes) {}
  arena(arena const&) = delete;
  arena& operator=(arena const&) = delete;
  ~arena() {
    free_heap_blocks();
    ASHLAR_UNPOISON(region_, used_);  // its addresses may come back as something else
  }

  /// A block of at least `bytes`, aligned to `alignment`, whose contents are whatever they were. Zero
  /// bytes are a block, too. Communicates nothing. Throws std::bad_alloc where heap and region are full.
  void* allocate(std::size_t bytes) {
    if (guarded_) return guarded_->allocate(bytes);
    std::size_t const size = size_class(bytes);
    void* const block = find(size);
    in_use_ += size;
    if (in_use_ > peak_) peak_ = in_use_;
    ASHLAR_UNPOISON(block, bytes);
    ASHLAR_POISON(static_cast<std::byte*>(block) + bytes, size - bytes);
    return block;
  }

  /// Takes back a block of allocate(bytes), for the same `bytes`: the count finds its list. Communicates
  /// nothing; nobody may still read or write there.
  void release(void* block, std::size_t bytes) {
    if (guarded_) return guarded_->release(block, bytes);
    std::size_t const size = size_class(bytes);
    in_use_ -= size;
    auto& blocks = is_retired_ ? blocks_of_messages() : free_[size];
    blocks.push_back(block);
    if (!is_retired_) ASHLAR_POISON(block, size);
  }

  /// Messages may arrive in blocks whose owners have gone, or neighbours read there: none is handed out
  /// again or freed.
  void retire() { is_retired_ = true; }
  bool is_retired() const { return is_retired_; }

  /// From now on every block has margins of so many bytes. Expects: no block is in use.
  void guard(std::size_t margin) { guarded_ = std::make_unique<guarded_blocks>(margin); }
  /// The guarded blocks, or null.
  guarded_blocks const* guarded() const { return guarded_.get(); }

  /// Where `p` lies in the shared region, or -1.
  std::int64_t offset_in_region(void const* p) const {
    auto const* const byte = static_cast<std::byte const*>(p);
    if (byte < region_ || byte >= region_ + region_end_) return -1;
    return byte - region_;
  }

  std::size_t bytes_in_use() const { return in_use_; }
  std::size_t peak_bytes() const { return peak_; }
  void reset_peak() { peak_ = in_use_; }

 private:
  void* find(std::size_t size) {
    auto& blocks = free_[size];
    if (!blocks.empty()) {
      void* const block = blocks.back();
      blocks.pop_back();
      return block;
    }
    if (void* const block = from_region(size)) return block;
    return from_heap(size);
  }

  /// Known to the leak sanitizer until the program ends, after everything else.
  static std::vector<void*>& blocks_of_messages() {
    static auto* const blocks = new std::vector<void*>;
    return *blocks;
  }

  bool in_region(void const* p) const { return offset_in_region(p) >= 0; }

  void* from_region(std::size_t size) {
    // New pages only while they are few beside what was ever in use: shapes that keep changing
    // would else take the whole region, a list of free blocks for each size.
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

  /// Gets pages for the region's first `bytes`; where there are no more, the region ends.
  bool commit(std::size_t bytes) {
    if (bytes <= committed_) return true;
    constexpr std::size_t page = 4096;
    std::size_t const wanted = std::min((bytes + page - 1) / page * page, region_end_) - committed_;
    std::size_t const got = shared::obtain_pages(region_ + committed_, wanted);
    committed_ += got;
    if (got < wanted) region_end_ = committed_;
    return got == wanted;
  }

  /// The first free stretch of the region that is large enough, after merging all free blocks.
  void* from_merged(std::size_t size) {
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

  void merge(std::byte* block, std::size_t size) {
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

  void* from_heap(std::size_t size) {
    std::size_t const wanted = heap_bytes_ + size;
    if (wanted > heap_most_) free_heap_blocks();
    void* const block = ::operator new(size, std::align_val_t{alignment});
    // With those just freed: two sizes in turns shall not drive each other out for ever.
    heap_most_ = std::max(heap_most_, wanted);
    heap_bytes_ += size;
    return block;
  }

  void free_heap_blocks() {
    for (auto& [size, blocks] : free_)
      std::erase_if(blocks, [&, bytes = size](void* block) {
        if (in_region(block)) return false;
        ASHLAR_UNPOISON(block, bytes);
        ::operator delete(block, std::align_val_t{alignment});
        heap_bytes_ -= bytes;
        return true;
      });
  }

  std::byte* region_;
  std::size_t region_end_;                    // never handed out from here on
  std::size_t used_ = 0;                      // of the region, by the bump pointer
  std::size_t committed_ = 0;                 // of the region, has pages
  std::map<std::byte*, std::size_t> merged_;  // free stretches of the region, in no list
  std::unordered_map<std::size_t, std::vector<void*>> free_;
  std::size_t heap_bytes_ = 0;  // from operator new, in use or in a list
  std::size_t heap_most_ = 0;
  std::size_t in_use_ = 0;
  std::size_t most_ = 0;  // ever in use
  std::size_t peak_ = 0;
  bool is_retired_ = false;
  std::unique_ptr<guarded_blocks> guarded_;
};

}  // namespace ashlar
