// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Where the memory of a mesh's tensors comes from. Blocks are kept and handed out again, so that a
// training step that has run once allocates nothing: fresh pages from the system cost more than
// many a collective. Sizes are rounded up to an eighth of their power of two.
//
// One arena per mesh and rank, used from one thread. It counts what is in use and the most that was.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <unordered_map>
#include <vector>

namespace ashlar {

class arena {
 public:
  static constexpr std::size_t alignment = 64;  // a cache line, and a vector register of AVX-512

  arena() = default;
  arena(arena const&) = delete;
  arena& operator=(arena const&) = delete;
  ~arena() {
    for (auto& [size, blocks] : free_)
      for (void* block : blocks) ::operator delete (block, std::align_val_t{alignment});
  }

  void* allocate(std::size_t bytes) {
    std::size_t const size = rounded(bytes);
    in_use_ += size;
    if (in_use_ > peak_) peak_ = in_use_;
    auto& blocks = free_[size];
    if (blocks.empty()) return ::operator new (size, std::align_val_t{alignment});
    void* const block = blocks.back();
    blocks.pop_back();
    return block;
  }

  void release(void* block, std::size_t bytes) {
    std::size_t const size = rounded(bytes);
    in_use_ -= size;
    free_[size].push_back(block);
  }

  std::size_t bytes_in_use() const { return in_use_; }
  std::size_t peak_bytes() const { return peak_; }
  void reset_peak() { peak_ = in_use_; }

 private:
  static std::size_t rounded(std::size_t bytes) {
    if (bytes <= 512) return 512;
    std::size_t const grain = std::bit_floor(bytes) / 8;
    return (bytes + grain - 1) / grain * grain;
  }

  std::unordered_map<std::size_t, std::vector<void*>> free_;
  std::size_t in_use_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace ashlar
