// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Implements the kernels for transfers (kernels.hpp) with the functions of device/cuda/strided.hpp.
//
//   copy, pack, unpack   one copy per strided block; blocks without elements are skipped
//   fill                 writes the identity of the reduction
//   combine              one reduction for up to most_addends addends. More addends take several
//                        rounds: the result so far is the first addend of the next round. For sums
//                        of bfloat16 this is an error, because every round would round the sum.

#include <algorithm>

#include <ashlar/comm/nccl/calls.hpp>
#include <ashlar/comm/nccl/kernels.hpp>
#include <ashlar/device/cuda/map.hpp>
#include <ashlar/device/cuda/strided.hpp>
#include <ashlar/placement/identity.hpp>
#include <ashlar/support/bfloat16.hpp>
#include <ashlar/support/error.hpp>
#include <ashlar/support/small_vector.hpp>

namespace ashlar::nccl {
namespace detail {

inline void copy_block(int size, strided_block const& b, std::byte const* from, std::byte* to,
                       cudaStream_t stream) {
  if (b.elements > 0)
    cuda::copy_strided_bytes(stream, size, b.rank, b.extents, from + b.source_offset * size,
                             b.source_strides, to + b.target_offset * size, b.target_strides);
}

/// Returns block `b` with a packed array as its source (if `source`) or as its target (otherwise).
/// The packed array contains only the block.
inline strided_block with_packed(strided_block b, bool source) {
  (source ? b.source_offset : b.target_offset) = 0;
  std::int64_t stride = 1;
  for (int d = b.rank - 1; d >= 0; --d) {
    (source ? b.source_strides : b.target_strides)[d] = stride;
    stride *= b.extents[d];
  }
  return b;
}

template <class T>
void fill(reduction op, std::byte* to, std::int64_t n, cudaStream_t stream) {
  if (n > 0) cuda::fill<T>(stream, identity_of<T>(op), n, reinterpret_cast<T*>(to));
}

template <class T>
void combine(reduction op, std::span<std::byte const* const> addends, std::byte* to, std::int64_t n,
             cudaStream_t stream) {
  static_assert(most_addends == cuda::most_sources);
  constexpr auto most = static_cast<std::size_t>(most_addends);
  if (sizeof(T) == 2 && op == reduction::sum && addends.size() > most)
    throw error("nccl", "an ordered sum has " + std::to_string(addends.size()) +
                            " bfloat16 addends, but the kernel takes at most " +
                            std::to_string(most) +
                            ". Set ASHLAR_NCCL_SUMS=library and leave mesh.set_sum_order at "
                            "around_ring.");
  std::int64_t const stride = 1;
  T* const sum = reinterpret_cast<T*>(to);
  for (std::size_t done = 0; done < addends.size();) {
    small_vector<T const*, static_cast<int>(most)> turn;
    std::size_t room = most;
    if (done > 0) {
      turn.push_back(sum);
      --room;
    }
    for (; room > 0 && done < addends.size(); --room)
      turn.push_back(reinterpret_cast<T const*>(addends[done++]));
    cuda::reduce_strided<T>(stream, op, 1, &n, turn, &stride, sum, &stride);
  }
}

}  // namespace detail

inline transfer_kernels device_kernels() {
  using blocks = std::span<strided_block const>;
  using bytes = std::byte const*;
  transfer_kernels k;
  k.copy = detail::copy_block;
  k.pack = [](int size, blocks all, bytes from, std::byte* to, cudaStream_t stream) {
    for (auto const& b : all) {
      detail::copy_block(size, detail::with_packed(b, false), from, to, stream);
      to += b.elements * size;
    }
  };
  k.unpack = [](int size, blocks all, bytes from, std::byte* to, cudaStream_t stream) {
    for (auto const& b : all) {
      detail::copy_block(size, detail::with_packed(b, true), from, to, stream);
      from += b.elements * size;
    }
  };
  k.fill = [](element_type type, reduction op, std::byte* to, std::int64_t n, cudaStream_t stream) {
    switch (type) {
      case element_type::f32: return detail::fill<float>(op, to, n, stream);
      case element_type::f64: return detail::fill<double>(op, to, n, stream);
      case element_type::bf16: return detail::fill<bfloat16>(op, to, n, stream);
      case element_type::i32: return detail::fill<std::int32_t>(op, to, n, stream);
      case element_type::i64: return detail::fill<std::int64_t>(op, to, n, stream);
      case element_type::u8: return;  // bytes are never reduced
    }
  };
  k.combine = [](element_type type, reduction op, std::span<bytes const> addends, std::byte* to,
                 std::int64_t n, cudaStream_t stream) {
    switch (type) {
      case element_type::f32: return detail::combine<float>(op, addends, to, n, stream);
      case element_type::f64: return detail::combine<double>(op, addends, to, n, stream);
      case element_type::bf16: return detail::combine<bfloat16>(op, addends, to, n, stream);
      case element_type::i32: return detail::combine<std::int32_t>(op, addends, to, n, stream);
      case element_type::i64: return detail::combine<std::int64_t>(op, addends, to, n, stream);
      case element_type::u8: return;
    }
  };
  return k;
}

}  // namespace ashlar::nccl
