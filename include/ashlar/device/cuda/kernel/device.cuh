// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The launcher that runs kernels on a device. It implements the interface of kernel/launcher.hpp:
//
//   for_each   a grid-stride loop with 256 threads per block and at most 16384 blocks
//   blocks     at most 2^31 - 1 thread blocks; more than 48 KiB of shared memory is enabled
//              explicitly, up to the device's limit
//   fold       a reduction by shuffles within each warp: lane l is combined with lane l + 16, then
//              l + 8, ... l + 1. Then every thread combines the results of the warps from left to
//              right.
//   fold_warps  the reduction by shuffles within each warp alone; then lane 0 sends the result to
//               the other lanes
//   mma, load_matrices, copy_async   mma.sync.m16n8k16, ldmatrix and cp.async, which need sm_80
//
// Only nvcc compiles this file, once for the device and once for the host. In the pass for the
// host, where __CUDA_ARCH__ is not defined, the functions of device_block do nothing, because the
// host never calls them.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <cuda_runtime.h>

#include <ashlar/device/cuda/error.hpp>
#include <ashlar/device/cuda/kernel/launcher.hpp>
#include <ashlar/device/cuda/kernel/warp_matrix.hpp>

namespace ashlar::cuda {

class device_block {
 public:
  ASHLAR_HD explicit device_block(std::byte* shared) : shared_(shared) {}

  ASHLAR_HD std::int64_t index() const {
#ifdef __CUDA_ARCH__
    return blockIdx.x;
#else
    return 0;
#endif
  }
  ASHLAR_HD std::int64_t count() const {
#ifdef __CUDA_ARCH__
    return gridDim.x;
#else
    return 1;
#endif
  }
  ASHLAR_HD int threads() const {
#ifdef __CUDA_ARCH__
    return static_cast<int>(blockDim.x);
#else
    return warp;
#endif
  }
  ASHLAR_HD std::byte* shared() const { return shared_; }

  template <class F>
  ASHLAR_HD void each(F const& f) const {
#ifdef __CUDA_ARCH__
    f(static_cast<int>(threadIdx.x));
    __syncthreads();
#endif
  }

  template <class F>
  ASHLAR_HD void each_alone(F const& f) const {
#ifdef __CUDA_ARCH__
    f(static_cast<int>(threadIdx.x));
#endif
  }

  template <class V>
  class per_thread {
   public:
    ASHLAR_HD explicit per_thread(device_block const&) {}
    ASHLAR_HD V& operator[](int) { return value_; }

   private:
    V value_;
  };

  template <class V, class Combine>
  ASHLAR_HD V fold(per_thread<V>& values, V* scratch, Combine const& combine) const {
    V total = values[0];
#ifdef __CUDA_ARCH__
    fold_warp(total, combine);
    int const thread = static_cast<int>(threadIdx.x);
    if (thread % warp == 0) scratch[thread / warp] = total;
    __syncthreads();
    total = scratch[0];
    for (int w = 1; w < threads() / warp; ++w) total = combine(total, scratch[w]);
    __syncthreads();  // The next fold may overwrite scratch.
#endif
    return total;
  }

  template <class V, class Combine>
  ASHLAR_HD void fold_warps(per_thread<V>& values, Combine const& combine) const {
#ifdef __CUDA_ARCH__
    fold_warp(values[0], combine);
    values[0] = shuffled(values[0], [](unsigned word) { return __shfl_sync(~0u, word, 0); });
#endif
  }

  template <class Get>
  ASHLAR_HD void mma(Get const& get) const {
#ifdef __CUDA_ARCH__
    mma_operands const o = get(static_cast<int>(threadIdx.x));
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(o.c[0]), "+f"(o.c[1]), "+f"(o.c[2]), "+f"(o.c[3])
        : "r"(o.a[0]), "r"(o.a[1]), "r"(o.a[2]), "r"(o.a[3]), "r"(o.b[0]), "r"(o.b[1]));
#endif
  }

  template <bool Transposed, class Get>
  ASHLAR_HD void load_matrices(Get const& get) const {
#ifdef __CUDA_ARCH__
    matrix_load const l = get(static_cast<int>(threadIdx.x));
    auto const row = static_cast<unsigned>(__cvta_generic_to_shared(l.row));
    if constexpr (Transposed) {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(l.to[0]), "=r"(l.to[1]), "=r"(l.to[2]), "=r"(l.to[3])
                   : "r"(row)
                   : "memory");
    } else {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(l.to[0]), "=r"(l.to[1]), "=r"(l.to[2]), "=r"(l.to[3])
                   : "r"(row)
                   : "memory");
    }
#endif
  }

  template <class Get, class Combine>
  ASHLAR_HD void fold_quads(Get const& get, Combine const& combine) const {
#ifdef __CUDA_ARCH__
    float& value = get(static_cast<int>(threadIdx.x));
    value = combine(value, __shfl_xor_sync(~0u, value, 1));
    value = combine(value, __shfl_xor_sync(~0u, value, 2));
#endif
  }

  template <int Bytes>
  ASHLAR_HD void copy_async(void* to, void const* from, bool valid) const {
    static_assert(Bytes == 4 || Bytes == 16);
#ifdef __CUDA_ARCH__
    auto const target = static_cast<unsigned>(__cvta_generic_to_shared(to));
    auto const source = __cvta_generic_to_global(from);
    int const bytes = valid ? Bytes : 0;  // the remaining bytes are set to zero
    if constexpr (Bytes == 16) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                   :
                   : "r"(target), "l"(source), "r"(bytes)
                   : "memory");
    } else {
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                   :
                   : "r"(target), "l"(source), "r"(bytes)
                   : "memory");
    }
#endif
  }
  ASHLAR_HD void commit_copies() const {
#ifdef __CUDA_ARCH__
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
  }
  template <int Groups>
  ASHLAR_HD void wait_copies() const {
#ifdef __CUDA_ARCH__
    asm volatile("cp.async.wait_group %0;" : : "n"(Groups) : "memory");
    __syncthreads();
#endif
  }

  static ASHLAR_HD float exp2(float x) {
#ifdef __CUDA_ARCH__
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return x;
#endif
  }
  static ASHLAR_HD std::uint32_t pack_bfloat16(float low, float high) {
    std::uint32_t packed = 0;
#ifdef __CUDA_ARCH__
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
#endif
    return packed;
  }

 private:
#ifdef __CUDA_ARCH__
  /// Applies `shuffle` to each word of `value` and returns the value that the results form.
  template <class V, class Shuffle>
  static __device__ V shuffled(V const& value, Shuffle const& shuffle) {
    static_assert(sizeof(V) % sizeof(unsigned) == 0);
    constexpr int words = sizeof(V) / sizeof(unsigned);
    unsigned all[words];
    std::memcpy(all, &value, sizeof(V));
    for (int w = 0; w < words; ++w) all[w] = shuffle(all[w]);
    V result = value;
    std::memcpy(&result, all, sizeof(V));
    return result;
  }
  /// Reduces the values of a warp. Lane 0 gets the total.
  template <class V, class Combine>
  static __device__ void fold_warp(V& total, Combine const& combine) {
    for (int offset = warp / 2; offset > 0; offset /= 2)
      total = combine(total, shuffled(total, [offset](unsigned word) {
                        return __shfl_down_sync(~0u, word, offset);
                      }));
  }
#endif

  std::byte* shared_;
};

template <class F>
__global__ void __launch_bounds__(256) for_each_kernel(F f, std::int64_t n) {
  std::int64_t const stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += stride) {
    f(i);
  }
}

template <class Body>
__global__ void __launch_bounds__(Body::launch_threads) block_kernel(Body body) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  device_block const block(reinterpret_cast<std::byte*>(shared_memory));
  body(block);
}

class device_launcher {
 public:
  using is_launcher = void;
  explicit device_launcher(cudaStream_t stream) : stream_(stream) {}

  template <class F>
  void for_each(char const* name, F const& f, std::int64_t n) const {
    if (n <= 0) return;
    std::int64_t const blocks = at_most((n + 255) / 256, 16384);
    for_each_kernel<<<static_cast<unsigned>(blocks), 256, 0, stream_>>>(f, n);
    check_last(name);
  }

  template <class Body>
  void blocks(char const* name, Body const& body, std::int64_t count, int threads,
              std::int64_t shared_bytes) const {
    if (count <= 0) return;
    unsigned const launched = launched_blocks(name, count);
    if (shared_bytes > 48 * 1024) {
      auto const status = cudaFuncSetAttribute(block_kernel<Body>,
                                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               static_cast<int>(shared_bytes));
      if (status != cudaSuccess) require_shared_memory(name, shared_bytes);
      check(status, name);
    }
    block_kernel<<<launched, static_cast<unsigned>(threads), static_cast<std::size_t>(shared_bytes),
                   stream_>>>(body);
    check_last(name);
  }

 private:
  /// Throws ashlar::error if the device does not have `bytes` bytes of shared memory for one block.
  static void require_shared_memory(char const* name, std::int64_t bytes) {
    cudaGetLastError();  // clears the error of the caller, so that no later call reports it
    int device = 0, most = 0;
    check(cudaGetDevice(&device), name);
    check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), name);
    if (bytes > most) refuse_shared_memory(name, bytes, most);
  }

  cudaStream_t stream_;
};

}  // namespace ashlar::cuda
