// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The data that the GPU benchmarks compute with.
//
//   repeated_normals   normally distributed pseudo-random numbers with a prime period: element i is
//                      table[i mod period]. The host can therefore compute any element of an array
//                      of any size without storing the array.
//   rotated            several copies of one array. Successive calls use successive copies, so that
//                      a call reads its operands from memory and not from the cache. If the
//                      operands are much larger than the cache, there is only one copy.

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include <ashlar/device/cuda/array.hpp>
#include <ashlar/device/cuda/device.hpp>
#include <ashlar/device/cuda/elements.hpp>
#include <ashlar/device/cuda/stream.hpp>

namespace ashlar_bench {

/// A CUDA stream, and the stream-ordered pool from which contestants allocate workspaces on it.
struct device_memory {
  ashlar::cuda::stream stream;
  ashlar::cuda::pool pool;

  void* allocate(std::size_t bytes) {
    return pool.allocate(static_cast<std::int64_t>(bytes), stream, "a workspace");
  }
  void release(void* block, std::size_t) { ashlar::cuda::pool::release(block, stream); }
};

template <class T>
class repeated_normals {
 public:
  static constexpr std::int64_t period = 1'048'573;

  explicit repeated_normals(unsigned seed, double deviation = 1) {
    std::mt19937 bits(seed);
    std::normal_distribution<float> normal(0.0f, static_cast<float>(deviation));
    for (std::int64_t i = 0; i < period; ++i) table_.push_back(static_cast<T>(normal(bits)));
  }

  T operator[](std::int64_t i) const { return table_[static_cast<std::size_t>(i % period)]; }

  /// Sets target[i] = (*this)[i] for 0 <= i < n. `target` is device memory.
  void fill(cudaStream_t stream, std::int64_t n, T* target) const {
    std::int64_t const first = std::min(n, period);
    ashlar::cuda::upload(stream, table_.data(), first, target);
    for (std::int64_t done = first; done < n; done += period)
      ashlar::cuda::copy_elements(stream, static_cast<T const*>(target), std::min(period, n - done),
                                  target + done);
  }

 private:
  std::vector<T> table_;
};

/// Returns pseudo-random numbers with this seed and standard deviation. They are computed at the
/// first call and cached.
template <class T>
repeated_normals<T> const& normals_of(unsigned seed, double deviation = 1) {
  static std::map<std::pair<unsigned, double>, repeated_normals<T>> made;
  return made.try_emplace({seed, deviation}, seed, deviation).first->second;
}

/// Returns how many copies of operands of `bytes` bytes are together more than four times as large
/// as the GPU's L2 cache. The result is at least 1 and at most 64.
inline int copies_beyond_cache(std::int64_t bytes) {
  int device = 0, cache = 0;
  ashlar::cuda::check(cudaGetDevice(&device), "cudaGetDevice");
  ashlar::cuda::check(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device),
                      "cudaDeviceGetAttribute");
  return static_cast<int>(std::clamp<std::int64_t>(
      4 * std::int64_t{cache} / std::max<std::int64_t>(bytes, 1) + 1, 1, 64));
}

/// `copies` copies of an array of n elements, in device memory. Each copy starts at a multiple of
/// 256 elements.
template <class T>
class rotated {
 public:
  rotated(device_memory& memory, std::int64_t n, int copies)
      : n_(n), step_((n + 255) / 256 * 256),
        data_(memory.pool, step_ * copies, memory.stream, "operands") {}

  std::int64_t size() const { return n_; }
  T* of(int copy) { return data_.data() + copy * step_; }

 private:
  std::int64_t n_, step_;
  ashlar::cuda::array<T> data_;
};

}  // namespace ashlar_bench
