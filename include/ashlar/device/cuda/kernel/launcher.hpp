// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The interface that kernels use, so that the same code runs on a device and, in the tests, on the
// host. A launcher `launch` has two functions:
//
//   launch.for_each(name, f, n)    calls f(i) for 0 <= i < n, in any order
//   launch.blocks(name, body, blocks, threads, shared_bytes)
//                                  calls body(block) for each thread block
//
// A thread block `block` has these members:
//
//   block.index(), count()         the number of this block, and the number of blocks
//   block.threads()                the number of threads, a multiple of 32
//   block.shared()                 shared_bytes bytes of shared memory, aligned to 16
//   block.each(f)                  calls f(t) for each thread t, followed by a barrier. Afterwards
//                                  threads see each other's writes to shared memory, and to global
//                                  memory that only this block uses.
//   block.each_alone(f)            calls f(t) for each thread t without a barrier, for data that
//                                  only thread t uses
//   per_thread<V> v(block)         one variable of type V for each thread; thread t uses v[t]
//   block.fold(v, scratch, f)      reduces all v[t] with f in a fixed order and returns the result
//                                  to every thread; `scratch` is shared memory for one V per warp
//   block.fold_warps(v, f)         reduces the v[t] of each warp with f in a fixed order and stores
//                                  the result in each v[t] of the warp; without a barrier
//
// Matrix operations of a warp (warp_matrix.hpp) are called outside of `each`, for all threads.
// `get` is a function: get(t) returns the operands of thread t.
//
//   block.mma(get)                           c += a b; get(t) returns mma_operands
//   block.load_matrices<Transposed>(get)     loads four 8 x 8 matrices from shared memory; get(t)
//                                            returns a matrix_load
//   block.fold_quads(get, f)                 reduces the floats get(t) of four neighbouring threads
//                                            with f and stores the result in all four
//
// Asynchronous copies of 4 or 16 bytes proceed in groups while the threads compute:
//
//   block.copy_async<Bytes>(to, from, valid)   in `each`: copies to shared memory; writes zeros if
//                                              `valid` is false
//   block.commit_copies()                      puts the copies that each thread has started since
//                                              the last commit_copies into a new group
//   block.wait_copies<Groups>()                waits until at most `Groups` groups are pending,
//                                              followed by a barrier
//
// Block::exp2(x) is an approximate 2^x. Block::pack_bfloat16(low, high) rounds two floats to the
// two bfloat16 of a word. Each of these two functions is a single instruction of the device.
//
// Outside of `each`, all threads must follow the same control flow. If one thread writes to shared
// memory and another thread reads the written value, the write and the read must be in different
// calls of `each`. The launchers are kernel/device.cuh and tests/support/emulated_device.hpp.

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>

#include <ashlar/config.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::cuda {

/// The number of threads in a warp, which execute together.
inline constexpr int warp = 32;

/// A type that launches kernels with the functions for_each(...) and blocks(...), for example
/// device_launcher in kernel/device.cuh. A stream is not a launcher. The functions that take a
/// stream are declared in device/cuda/*.hpp and defined in the file that nvcc compiles.
template <class L>
concept launcher = requires { typename L::is_launcher; };

/// Returns the number of threads for a block that has `units` independent pieces of work: a
/// multiple of the warp size, at most 256.
constexpr int threads_for(std::int64_t units) {
  if (units >= 256) return 256;
  return units <= warp ? warp : static_cast<int>((units + warp - 1) / warp * warp);
}

/// Returns whether a kernel along the middle dim of an array [outer, extent, inner] gives each line
/// of `extent` elements to one thread. It does so if the threads of a warp read adjacent elements
/// (inner >= warp), or if the lines are short. Otherwise the kernel gives each line to a block.
constexpr bool one_thread_per_line(std::int64_t extent, std::int64_t inner) {
  return inner >= warp || extent < 64;
}

/// Returns the number of thread blocks of a launch as CUDA's type. Throws ashlar::error if there
/// are more than 2^31 - 1, which CUDA cannot launch.
inline unsigned launched_blocks(char const* name, std::int64_t count) {
  if (count > std::numeric_limits<std::int32_t>::max())
    throw error(name, "a kernel of " + std::to_string(count) +
                          " thread blocks is too large, at most 2147483647 can be launched. Split "
                          "the tensor.");
  return static_cast<unsigned>(count);
}

/// Throws ashlar::error for a kernel whose thread blocks need `bytes` bytes of shared memory each.
/// The device permits `most` bytes.
[[noreturn]] inline void refuse_shared_memory(char const* name, std::int64_t bytes,
                                              std::int64_t most) {
  throw error(name, "a thread block needs " + std::to_string(bytes) +
                        " bytes of shared memory, but this device has at most " +
                        std::to_string(most) +
                        " for one. Use narrower attention heads, bfloat16, or a device with more.");
}

/// The quotient and the remainder of two non-negative numbers. The constructor divides in 32 bits
/// if both numbers fit into 32 bits, because 64-bit division is much slower on a device.
struct division {
  std::int64_t quotient;
  std::int64_t remainder;

  ASHLAR_HD division(std::int64_t a, std::int64_t b) {
    if (((a | b) >> 32) == 0) {
      auto const dividend = static_cast<std::uint32_t>(a);
      auto const divisor = static_cast<std::uint32_t>(b);
      quotient = dividend / divisor;
      remainder = dividend % divisor;
    } else {
      quotient = a / b;
      remainder = a % b;
    }
  }
};

constexpr std::int64_t at_most(std::int64_t value, std::int64_t limit) {
  return value < limit ? value : limit;
}

}  // namespace ashlar::cuda
