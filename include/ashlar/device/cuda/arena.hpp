// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Device memory for a program that does the same again and again: blocks that were given back are handed
// out again by their size class (support/size_class.hpp), by the host alone. A training step that has run
// once calls CUDA for memory no more.
//
//   order      one stream's. A block is there for what the stream is given after `allocate`, and free for
//              what it is given after `release`. Who uses it on another stream makes this one wait for
//              that use, or the other's end is seen by the host, before the release
//   growth     from the pool; where there is no more, all blocks that nobody has go back to the driver, and
//              then it is tried once more
//   graphs     what is allocated, or released, between begin_private and end_private is that graph's until
//              free_private: its replays read and write there, so nobody else may. Blocks that nobody has
//              are taken first; growth is by a stream of its own, so that no allocation is captured
//
// One thread uses it. The pool and the stream outlive it.

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
  arena(pool& from, cudaStream_t stream) : pool_(from), stream_(stream) {}
  arena(arena const&) = delete;
  arena& operator=(arena const&) = delete;
  ~arena() {
    for (auto& [number, own] : private_) release_all(own.free);
    release_all(free_);
  }

  /// At least so many bytes, aligned to 256, whose contents are whatever they were. Never null, so that a
  /// shard of no elements is a block, too. Throws ashlar::error where there is no memory: it names name().
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

  /// Takes back a block of allocate(bytes), for the same `bytes`.
  void release(void* block, std::size_t bytes) {
    std::size_t const size = size_class(bytes);
    in_use_ -= size;
    // What a captured kernel read before the release, every replay reads.
    if (is_recording_) owner_.try_emplace(block, last_private_);
    auto const owner = owner_.empty() ? owner_.end() : owner_.find(block);
    (owner == owner_.end() ? free_ : private_.at(owner->second).free)[size].push_back(block);
  }

  /// What follows is for a graph that is being captured; its number. Expects: none is.
  int begin_private() {
    is_recording_ = true;
    private_[++last_private_];
    return last_private_;
  }
  /// What follows is for everybody.
  void end_private() {
    is_recording_ = false;
    if (growth_) growth_->synchronize();
  }
  /// The graph is no more, and this stream is past its last replay: its blocks are for everybody.
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
  /// Held from the pool: in use, free, or a graph's.
  std::size_t bytes_held() const { return held_; }

  /// Gives all blocks that nobody has back to the driver. Waits for the stream.
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
      trim();
      block = from_pool(size);
    }
    if (block == nullptr) refuse(bytes, name());
    held_ += size;
    return block;
  }

  /// Null where there is no more memory.
  void* from_pool(std::size_t size) {
    if (!is_recording_) return pool_.try_allocate(static_cast<std::int64_t>(size), stream_);
    capture_mode const relaxed(cudaStreamCaptureModeRelaxed);
    if (!growth_) growth_.emplace();
    return pool_.try_allocate(static_cast<std::int64_t>(size), *growth_);
  }

  [[noreturn]] void refuse(std::size_t bytes, std::string const& name) const {
    check_allocation(cudaErrorMemoryAllocation, static_cast<std::int64_t>(bytes),
                     "cudaMallocFromPoolAsync", name,
                     std::to_string(in_use_) + " are in use by this mesh (at most " +
                         std::to_string(peak_) + ") and " + std::to_string(bytes_of_graphs()) +
                         " kept for its graphs");
    std::abort();  // it has thrown
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
  std::unordered_map<int, private_blocks> private_;  // by the graph's number
  std::unordered_map<void*, int> owner_;             // of blocks that are a graph's
  std::optional<stream> growth_;
  int last_private_ = 0;
  bool is_recording_ = false;
  std::size_t in_use_ = 0;
  std::size_t peak_ = 0;
  std::size_t held_ = 0;
};

}  // namespace ashlar::cuda
