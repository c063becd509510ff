// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Makes the test cases of tests/support/kernel_*.hpp run on a real device. The class has the same
// interface as the class in tests/support/emulated_arrays.hpp, which runs the test cases on an
// emulated device.

#include <cstdint>
#include <vector>

#include <ashlar/device/cuda/array.hpp>
#include <ashlar/device/cuda/pool.hpp>
#include <ashlar/device/cuda/stream.hpp>

namespace ashlar_test {

class device_arrays {
 public:
  template <class T>
  class array {
   public:
    array(ashlar::cuda::pool& memory, std::int64_t n, int skip, cudaStream_t stream)
        : held_(memory, n + skip, stream), n_(n), skip_(skip) {
      if (n + skip > 0)
        ashlar::cuda::check(cudaMemsetAsync(held_.data(), 0xff,
                                            static_cast<std::size_t>(n + skip) * sizeof(T), stream),
                            "cudaMemsetAsync");
    }
    T* data() { return held_.data() + skip_; }
    T const* data() const { return held_.data() + skip_; }
    std::int64_t size() const { return n_; }

   private:
    ashlar::cuda::array<T> held_;
    std::int64_t n_;
    int skip_;
  };

  cudaStream_t queue() const { return stream_.get(); }
  ashlar::cuda::pool& memory() { return memory_; }

  template <class T>
  array<T> make(std::int64_t n, int skip = 0) {
    return array<T>(memory_, n, skip, stream_.get());
  }
  template <class T>
  array<T> upload(std::vector<T> const& values, int skip = 0) {
    auto made = make<T>(static_cast<std::int64_t>(values.size()), skip);
    move(made.data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
    return made;
  }
  template <class T>
  std::vector<T> download(array<T> const& from) {
    std::vector<T> values(static_cast<std::size_t>(from.size()));
    move(values.data(), from.data(), values.size() * sizeof(T), cudaMemcpyDeviceToHost);
    return values;
  }

 private:
  void move(void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes != 0)
      ashlar::cuda::check(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()), "cudaMemcpyAsync");
    stream_.synchronize();
  }

  ashlar::cuda::stream stream_;
  ashlar::cuda::pool memory_;
};

}  // namespace ashlar_test
