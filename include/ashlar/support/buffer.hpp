// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A block of memory that is released at the end of a scope, for packing buffers and workspaces. The
// memory comes from any object with allocate(bytes) and release(block, bytes). Examples are an
// arena on the host and a memory pool of a device.

#include <cstddef>
#include <cstdint>

namespace ashlar {

template <class T>
class buffer {
 public:
  template <class Memory>
  buffer(Memory& memory, std::int64_t count)
      : bytes_(static_cast<std::size_t>(count) * sizeof(T)),
        data_(static_cast<T*>(memory.allocate(bytes_))), memory_(&memory),
        release_([](void* from, void* block, std::size_t bytes) {
          static_cast<Memory*>(from)->release(block, bytes);
        }) {}
  buffer(buffer const&) = delete;
  buffer& operator=(buffer const&) = delete;
  ~buffer() { release_(memory_, data_, bytes_); }

  T* data() const { return data_; }

 private:
  std::size_t bytes_;
  T* data_;
  void* memory_;
  void (*release_)(void*, void*, std::size_t);
};

}  // namespace ashlar
