// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A cache of device memory for a program that repeats the same steps. Released blocks are reused
// for requests of the same size class. A size class is a range of sizes that round up to the same
// value (support/size_class.hpp). The bookkeeping is on the host. Training steps after the first
// one make no CUDA calls for memory.
//
//   order      A block may be used by work that is submitted to the arena's stream between
//              `allocate` and `release`. If another stream uses a block, that use must be finished
//              before the release: the arena's stream or the host must have waited for it.
//   growth     New blocks come from the pool. If the pool has no memory left, all arenas of this
//              pool return their free blocks to the driver, and the allocation is tried once more,
//              except during a capture.
//   graphs     Blocks that are allocated or released between begin_private and end_private belong
//              to the CUDA graph that is captured between these two calls. Each replay of the
//              graph uses these blocks. So other work must not use them until free_private is
//              called. If no free block fits, a new block is allocated on a separate stream, so
//              that the allocation is not captured.
//
// Not thread-safe: all arenas of a pool belong to one thread. The pool and the stream must outlive
// the arena.

#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ashlar/device/cuda/capture.hpp>
#include <ashlar/device/cuda/pool.hpp>
#include <ashlar/device/cuda/stream.hpp>
#include <ashlar/support/size_class.hpp>

namespace ashlar::cuda {

class arena {
 public:
  arena(pool& from, cudaStream_t stream) : pool_(from), stream_(stream) {
    pool_.arenas().push_back(this);
  }
  arena(arena const&) = delete;
  arena& operator=(arena const&) = delete;
  ~arena() {
    std::erase(pool_.arenas(), this);
    for (auto& [number, own] : private_) release_all(own.free);
    release_all(free_);
  }

  /// Returns a block of at least `bytes` bytes, aligned to 256 bytes and not initialized. The
  /// result is never null, not even for 0 bytes, because shards may be empty. Throws
  /// ashlar::out_of_memory if there is not enough memory. name() is called only in this case. It
  /// must return the purpose of the block for the error message.
  template <class Name>
  void* allocate(std::size_t bytes, Name const& name) {
    std::size_t const size = size_class(bytes);
    void* block = is_recording_ ? taken(private_[last_private_].free, size) : nullptr;
    if (block == nullptr) block = taken(free_, size);
    if (block == nullptr) block = grow(size, bytes, name);
    if (is_recording_) owner_[block] = last_private_;
    in_use_ += size;
    if (in_use_ > peak_) peak_ = in_use_;
    return block;
  }
  void* allocate(std::size_t bytes) {
    return allocate(bytes, [] { return std::string(); });
  }

  /// Takes back a block that was returned by allocate(bytes), with the same `bytes`.
  void release(void* block, std::size_t bytes) {
    std::size_t const size = size_class(bytes);
    in_use_ -= size;
    // Captured kernels may use this block, and each replay of the graph uses the block again. So a
    // block that is released during a capture belongs to the graph from now on.
    if (is_recording_) owner_.try_emplace(block, last_private_);
    auto const owner = owner_.empty() ? owner_.end() : owner_.find(block);
    (owner == owner_.end() ? free_ : private_.at(owner->second).free)[size].push_back(block);
  }

  /// Must be called when the capture of a CUDA graph begins. All blocks that are allocated or
  /// released until end_private belong to this graph. Returns a number that identifies the graph in
  /// free_private. No other capture may be under way.
  int begin_private() {
    is_recording_ = true;
    private_[++last_private_];
    return last_private_;
  }
  /// Must be called when the capture of a CUDA graph ends. Blocks that are allocated from now on
  /// belong to no graph.
  void end_private() {
    is_recording_ = false;
    if (growth_) growth_->synchronize();
  }
  /// Makes the blocks of a CUDA graph available to all work. `number` is the result of
  /// begin_private. Before this call, the graph must be destroyed, and the stream must have
  /// executed the last replay of the graph.
  void free_private(int number) {
    auto const own = private_.find(number);
    for (auto& [size, blocks] : own->second.free)
      free_[size].insert(free_[size].end(), blocks.begin(), blocks.end());
    private_.erase(own);
    std::erase_if(owner_, [&](auto const& block) { return block.second == number; });
  }

  std::size_t bytes_in_use() const { return in_use_; }
  std::size_t peak_bytes() const { return peak_; }
  void reset_peak() { peak_ = in_use_; }
  /// Returns the number of bytes of all blocks that the arena has from the pool: blocks in use,
  /// free blocks, and blocks of CUDA graphs.
  std::size_t bytes_held() const { return held_; }

  /// Returns all free blocks to the driver. Blocks of CUDA graphs do not count as free and are not
  /// returned. Waits for the stream.
  void trim() {
    release_all(free_);
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    pool_.trim();
  }

 private:
  using free_blocks = std::unordered_map<std::size_t, std::vector<void*>>;  ///< by size class
  struct private_blocks {
    free_blocks free;
  };

  static void* taken(free_blocks& from, std::size_t size) {
    auto const blocks = from.find(size);
    if (blocks == from.end() || blocks->second.empty()) return nullptr;
    void* const block = blocks->second.back();
    blocks->second.pop_back();
    return block;
  }

  template <class Name>
  void* grow(std::size_t size, std::size_t bytes, Name const& name) {
    void* block = from_pool(size);
    if (block == nullptr && !is_recording_) {
      for (arena* const each : pool_.arenas()) each->trim();
      block = from_pool(size);
    }
    if (block == nullptr) refuse(bytes, name());
    held_ += size;
    return block;
  }

  /// Allocates a block from the pool. Returns null if there is not enough memory. During a capture,
  /// this function allocates on a separate stream, because an allocation on the captured stream
  /// would be recorded.
  void* from_pool(std::size_t size) {
    if (!is_recording_) return pool_.try_allocate(static_cast<std::int64_t>(size), stream_);
    capture_mode const relaxed(cudaStreamCaptureModeRelaxed);
    if (!growth_) growth_.emplace();
    return pool_.try_allocate(static_cast<std::int64_t>(size), *growth_);
  }

  [[noreturn]] void refuse(std::size_t bytes, std::string const& name) const {
    check_allocation(cudaErrorMemoryAllocation, static_cast<std::int64_t>(bytes),
                     "cudaMallocFromPoolAsync", name,
                     "this mesh uses " + std::to_string(in_use_) + " bytes (at most " +
                         std::to_string(peak_) + " so far), and its CUDA graphs hold " +
                         std::to_string(bytes_of_graphs()) + " more bytes");
    std::abort();  // not reached: check_allocation has thrown
  }

  std::size_t bytes_of_graphs() const {
    std::size_t bytes = 0;
    for (auto const& [number, own] : private_)
      for (auto const& [size, blocks] : own.free) bytes += size * blocks.size();
    return bytes;
  }

  void release_all(free_blocks& all) {
    for (auto& [size, blocks] : all) {
      for (void* const block : blocks) pool::release(block, stream_);
      held_ -= size * blocks.size();
      blocks.clear();
    }
  }

  pool& pool_;
  cudaStream_t stream_;
  free_blocks free_;
  std::unordered_map<int, private_blocks> private_;  // for each graph, its free blocks
  // Maps each block that belongs to a graph to the number of the graph.
  std::unordered_map<void*, int> owner_;
  std::optional<stream> growth_;
  int last_private_ = 0;
  bool is_recording_ = false;
  std::size_t in_use_ = 0;
  std::size_t peak_ = 0;
  std::size_t held_ = 0;
};

}  // namespace ashlar::cuda
