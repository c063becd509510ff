// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// An array in device memory, allocated from a pool in the order of a stream. Work may use the array
// if it is submitted to the stream between construction and destruction, even if the work executes
// later. The elements are not initialized. The pool and the stream must outlive the array.

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/error.hpp>
#include <ashlar/device/cuda/pool.hpp>

namespace ashlar::cuda {

template <class T>
class array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  array() = default;
  array(pool& from, std::int64_t count, cudaStream_t stream, std::string const& what = {})
      : data_(static_cast<T*>(
            from.allocate(count * static_cast<std::int64_t>(sizeof(T)), stream, what))),
        count_(count), stream_(stream) {}
  array(array&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)),
        stream_(other.stream_) {}
  array& operator=(array&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~array() { pool::release(data_, stream_); }

  T* data() { return data_; }
  T const* data() const { return data_; }
  std::int64_t size() const { return count_; }

  /// Copies all elements from the host, in the order of the stream. If `host` is pinned memory, it
  /// must not change until the stream has executed the copy. Other host memory may be reused when
  /// this function returns.
  void copy_from(T const* host) { move(data_, host, cudaMemcpyHostToDevice); }
  /// Copies all elements to the host. The elements on the host are valid after the stream is
  /// synchronized.
  void copy_to(T* host) const { move(host, data_, cudaMemcpyDeviceToHost); }

 private:
  void move(T* to, T const* from, cudaMemcpyKind kind) const {
    if (count_ == 0) return;
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count_) * sizeof(T), kind, stream_),
          "cudaMemcpyAsync");
  }

  T* data_ = nullptr;
  std::int64_t count_ = 0;
  cudaStream_t stream_ = nullptr;
};

}  // namespace ashlar::cuda
