// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A pool of device memory. Blocks are allocated and released in the order of a stream. Work may use
// a block if it is submitted to the stream between the allocation and the release. Neither the
// allocation nor the release waits for the device.
//
//   keep       the number of bytes up to which released memory stays in the pool instead of being
//              returned to the driver. By default everything stays, so that a training step
//              allocates from the driver only the first time.
//   used       the bytes in allocated blocks
//   reserved   all bytes that the pool has from the driver, in allocated and in free blocks
//
// The statistics also have the high-water marks of `used` and `reserved`.
//
// A pool knows the arenas (arena.hpp) that keep blocks of it, so that one of them can ask the
// others to return their free blocks.
//
// The error of a failed allocation says how much was requested, for what, and how much is free.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/error.hpp>

namespace ashlar::cuda {

struct pool_statistics {
  std::uint64_t used, used_peak, reserved, reserved_peak;  ///< bytes
};

class arena;

class pool {
 public:
  /// Creates a pool on this thread's current device. `keep` is the number of bytes of released
  /// memory that stay in the pool.
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
  pool(pool const&) = delete;  // arenas keep its address
  pool& operator=(pool const&) = delete;
  ~pool() { cudaMemPoolDestroy(pool_); }

  /// Allocates a block of `bytes` bytes, aligned to 256 bytes. Returns null for 0 bytes. Throws
  /// ashlar::out_of_memory if there is not enough memory. `what` names the purpose of the block in
  /// the error message.
  void* allocate(std::int64_t bytes, cudaStream_t stream, std::string const& what = {}) {
    if (bytes == 0) return nullptr;
    void* memory = nullptr;
    cudaError_t const status = cudaMallocFromPoolAsync(&memory, static_cast<std::size_t>(bytes),
                                                       pool_, stream);
    if (status != cudaSuccess) {
      auto const now = statistics();
      check_allocation(status, bytes, "cudaMallocFromPoolAsync", what,
                       "this process uses " + std::to_string(now.used) + " bytes and keeps " +
                           std::to_string(now.reserved - now.used) + " more bytes for reuse");
    }
    return memory;
  }

  /// Allocates a block of `bytes` bytes. Returns null if there is not enough memory.
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

  /// Releases a block that was returned by `allocate` or `try_allocate`. The block becomes free
  /// when the stream has executed all work submitted so far.
  static void release(void* memory, cudaStream_t stream) noexcept {
    if (memory != nullptr) cudaFreeAsync(memory, stream);
  }

  pool_statistics statistics() const {
    return {attribute(cudaMemPoolAttrUsedMemCurrent), attribute(cudaMemPoolAttrUsedMemHigh),
            attribute(cudaMemPoolAttrReservedMemCurrent),
            attribute(cudaMemPoolAttrReservedMemHigh)};
  }

  /// Returns free memory to the driver until the pool has at most `keep` bytes, or no free memory.
  /// Does not wait: a block that a stream still uses is not returned, even if the block was already
  /// released.
  void trim(std::int64_t keep = 0) {
    check(cudaMemPoolTrimTo(pool_, static_cast<std::size_t>(keep)), "cudaMemPoolTrimTo");
  }

  std::vector<arena*>& arenas() { return arenas_; }

 private:
  std::uint64_t attribute(cudaMemPoolAttr name) const {
    std::uint64_t value = 0;
    check(cudaMemPoolGetAttribute(pool_, name, &value), "cudaMemPoolGetAttribute");
    return value;
  }

  cudaMemPool_t pool_ = nullptr;
  std::vector<arena*> arenas_;
};

}  // namespace ashlar::cuda
