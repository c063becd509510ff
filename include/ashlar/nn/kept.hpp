// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A block of a mesh's memory that outlives the call that allocated it. It holds the values that a
// layer keeps from its forward pass for its backward pass, or the state of an optimizer. Assigning
// {} frees the block.

#include <memory>

#include <ashlar/comm/empty_shard.hpp>
#include <ashlar/comm/mesh.hpp>
#include <ashlar/support/recycled.hpp>

namespace ashlar::nn {

template <class T>
class kept {
 public:
  kept() = default;
  /// Allocates `count` elements without initializing them. Communicates nothing.
  template <class Processor>
  kept(basic_mesh<Processor> const& m, std::int64_t count) : size_(count) {
    if (count == 0) {
      data_ = std::static_pointer_cast<T>(ashlar::detail::empty_shard());
      return;
    }
    auto const bytes = static_cast<std::size_t>(count) * sizeof(T);
    auto memory = m.shared_memory();
    data_ = std::shared_ptr<T>(
        static_cast<T*>(memory->allocate(bytes)),
        [memory, bytes](T* block) { memory->release(block, bytes); }, recycling_allocator<T>());
  }
  kept(kept&&) = default;
  kept& operator=(kept&&) = default;

  T* data() const { return data_.get(); }
  std::int64_t size() const { return size_; }

 private:
  std::shared_ptr<T> data_;
  std::int64_t size_ = 0;
};

}  // namespace ashlar::nn
