// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Device memory in the order of a stream: a block is there for what the stream is given after the
// allocation, and is free again for what it is given after the release. Neither waits for the device.
//
//   keep      bytes that the pool holds back from the driver when all is released; default: all, so
//             that a training step allocates from the driver only once
//   used      bytes given out; `reserved`: held; both with their peaks
//
// An allocation that fails says what was asked, for what, and what is free.

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/error.hpp>

namespace ashlar::cuda {

struct pool_statistics {
  std::uint64_t used, used_peak, reserved, reserved_peak;  ///< bytes
};

class pool {
 public:
  /// On the selected device.
  explicit pool(std::uint64_t keep = std::numeric_limits<std::uint64_t>::max()) {
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.handleTypes = cudaMemHandleTypeNone;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    check(cudaMemPoolCreate(&pool_, &properties), "cudaMemPoolCreate");
    cudaError_t const status = cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold,
                                                       &keep);
    if (status != cudaSuccess) {
      cudaMemPoolDestroy(pool_);
      check(status, "cudaMemPoolSetAttribute");
    }
  }
  pool(pool&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)) {}
  pool& operator=(pool&& other) noexcept {
    std::swap(pool_, other.pool_);
    return *this;
  }
  ~pool() {
    if (pool_ != nullptr) cudaMemPoolDestroy(pool_);
  }

  /// So many bytes, aligned to 256; null for none. `what` is named when there are not as many.
  void* allocate(std::int64_t bytes, cudaStream_t stream, std::string const& what = {}) {
    if (bytes == 0) return nullptr;
    void* memory = nullptr;
    cudaError_t const status = cudaMallocFromPoolAsync(&memory, static_cast<std::size_t>(bytes),
                                                       pool_, stream);
    if (status != cudaSuccess) {
      auto const now = statistics();
      check_allocation(status, bytes, "cudaMallocFromPoolAsync", what,
                       std::to_string(now.used) + " are in use by this process and " +
                           std::to_string(now.reserved - now.used) + " kept by it");
    }
    return memory;
  }

  /// The same, but null where there is no more memory.
  void* try_allocate(std::int64_t bytes, cudaStream_t stream) {
    void* memory = nullptr;
    cudaError_t const status = cudaMallocFromPoolAsync(&memory, static_cast<std::size_t>(bytes),
                                                       pool_, stream);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      return nullptr;
    }
    check(status, "cudaMallocFromPoolAsync");
    return memory;
  }

  /// Gives back what `allocate` returned, after all that the stream was given.
  static void release(void* memory, cudaStream_t stream) noexcept {
    if (memory != nullptr) cudaFreeAsync(memory, stream);
  }

  pool_statistics statistics() const {
    return {attribute(cudaMemPoolAttrUsedMemCurrent), attribute(cudaMemPoolAttrUsedMemHigh),
            attribute(cudaMemPoolAttrReservedMemCurrent),
            attribute(cudaMemPoolAttrReservedMemHigh)};
  }

  /// Hands what is held but not used to the driver, down to `keep` bytes. Waits for nothing: what a
  /// stream has yet to release stays.
  void trim(std::int64_t keep = 0) {
    check(cudaMemPoolTrimTo(pool_, static_cast<std::size_t>(keep)), "cudaMemPoolTrimTo");
  }

 private:
  std::uint64_t attribute(cudaMemPoolAttr name) const {
    std::uint64_t value = 0;
    check(cudaMemPoolGetAttribute(pool_, name, &value), "cudaMemPoolGetAttribute");
    return value;
  }

  cudaMemPool_t pool_ = nullptr;
};

}  // namespace ashlar::cuda
