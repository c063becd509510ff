// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What a kernel is written against, so that one text runs on a device and, in the tests, on the host:
//
//   launch.for_each(name, f, n)    f(i) for 0 <= i < n, in any order, none knowing of another
//   launch.blocks(name, body, blocks, threads, shared_bytes)
//                                  body(block) for each block; of a block one can have
//     block.index(), count()         which block of how many
//     block.threads()                a multiple of 32
//     block.shared()                 shared_bytes, aligned to 16
//     block.each(f)                  f(t) for each thread t, then a barrier: what one thread wrote to
//                                    shared memory, or to its block's part of an array, the others see
//     block.each_alone(f)            the same without a barrier, for what no other thread reads or writes
//     per_thread<V> v(block)         v[t]: a variable of each thread
//     block.fold(v, scratch, combine)   all v[t], folded in one order; the same value in every thread
//   of a warp's matrices (warp_matrix.hpp), called outside of `each` for all threads, get(t) thread t's:
//     block.mma(get)                    c += a b, get(t) an mma_operands
//     block.load_matrices<Transposed>(get)   four 8 x 8 matrices of shared memory, get(t) a matrix_load
//     block.fold_quads(get, combine)    the float get(t) of four neighbours, folded; each has the result
//   copies of 4 or 16 bytes that go on while the threads compute, in groups:
//     block.copy_async<Bytes>(to, from, valid)   in `each`: into shared memory; zeros if not valid
//     block.commit_copies()             what each thread has asked for since the last one is a group
//     block.wait_copies<Groups>()       until at most so many groups are on their way, then a barrier
//   and  Block::exp2(x), Block::pack_bfloat16(low, high), the device's own instructions
//
// A body has the same control flow in every thread outside of `each`. Shared memory is written and read
// in different `each`. The launchers are kernel/device.cuh and tests/support/emulated_device.hpp.

#include <concepts>
#include <cstdint>

#include <ashlar/config.hpp>

namespace ashlar::cuda {

/// Threads that execute together; the unit of `fold`.
inline constexpr int warp = 32;

/// Has the two ways of launching. A stream is none: the functions for streams are declared in
/// device/cuda/*.hpp and defined by the file that nvcc compiles.
template <class L>
concept launcher = requires { typename L::is_launcher; };

/// Whole warps for so many units of work of a block, at most 256 threads.
constexpr int threads_for(std::int64_t units) {
  if (units >= 256) return 256;
  return units <= warp ? warp : static_cast<int>((units + warp - 1) / warp * warp);
}

/// Quotient and remainder of what is not negative; a device divides 32 bits much faster than 64.
struct division {
  std::int64_t quotient;
  std::int64_t remainder;

  ASHLAR_HD division(std::int64_t a, std::int64_t b) {
    if (((a | b) >> 32) == 0) {
      auto const small = static_cast<std::uint32_t>(a);
      auto const divisor = static_cast<std::uint32_t>(b);
      quotient = small / divisor;
      remainder = small % divisor;
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
