// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A block of arena memory for the length of a scope: packing buffers and workspaces.

#include <memory>

#include <ashlar/comm/arena.hpp>

namespace ashlar {

template <class T>
class buffer {
 public:
  buffer(arena& memory, std::int64_t count)
      : memory_(&memory), bytes_(static_cast<std::size_t>(count) * sizeof(T)),
        data_(static_cast<T*>(memory.allocate(bytes_))) {}
  buffer(buffer const&) = delete;
  buffer& operator=(buffer const&) = delete;
  ~buffer() { memory_->release(data_, bytes_); }

  T* data() const { return data_; }

 private:
  arena* memory_;
  std::size_t bytes_;
  T* data_;
};

}  // namespace ashlar
