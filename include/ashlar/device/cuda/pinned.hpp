// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// An array in pinned host memory, which the device reads and writes directly. An asynchronous copy
// from or to pinned memory returns at once and overlaps with kernels. A copy from or to other host
// memory is staged by the driver and blocks the host. Pinned memory is scarce and slow to allocate,
// so this array is meant as a long-lived staging buffer. The host must wait for pending copies
// before it changes the elements.

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/error.hpp>

namespace ashlar::cuda {

template <class T>
class pinned {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  pinned() = default;
  explicit pinned(std::int64_t count) : count_(count) {
    if (count == 0) return;
    auto const bytes = static_cast<std::size_t>(count) * sizeof(T);
    void* memory = nullptr;
    cudaError_t const status = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw error("cudaHostAlloc",
                  std::to_string(bytes) +
                      " bytes of pinned host memory cannot be allocated. Stage smaller pieces.");
    }
    check(status, "cudaHostAlloc");
    data_ = static_cast<T*>(memory);
  }
  pinned(pinned&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  pinned& operator=(pinned&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~pinned() {
    if (data_ != nullptr) cudaFreeHost(data_);
  }

  T* data() { return data_; }
  T const* data() const { return data_; }
  std::int64_t size() const { return count_; }
  T* begin() { return data_; }
  T* end() { return data_ + count_; }
  T const* begin() const { return data_; }
  T const* end() const { return data_ + count_; }
  T& operator[](std::int64_t i) { return data_[i]; }
  T const& operator[](std::int64_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::int64_t count_ = 0;
};

}  // namespace ashlar::cuda
