// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The device kernels that transfers need, as function pointers. device/cuda implements them
// (device_kernels.hpp). All are asynchronous on a stream. Pointers are to device memory, and counts
// are in elements.
//
//   copy      copies a block of an array to its place in another array
//   pack      copies blocks of an array one after the other into `to`
//   unpack    the reverse of pack
//   fill      writes the identity of the reduction to n elements
//   combine   reduces n elements of each addend, left to right in accumulation_t; rounds once
//
// Copies depend only on the size of an element (1, 2, 4 or 8 bytes).

#include <cstddef>
#include <span>

#include <cuda_runtime_api.h>

#include <ashlar/comm/element_type.hpp>
#include <ashlar/comm/strided_block.hpp>

namespace ashlar::nccl {

struct transfer_kernels {
  void (*copy)(int element_size, strided_block const& block, std::byte const* from, std::byte* to,
               cudaStream_t stream) = nullptr;
  void (*pack)(int element_size, std::span<strided_block const> blocks, std::byte const* from,
               std::byte* to, cudaStream_t stream) = nullptr;
  void (*unpack)(int element_size, std::span<strided_block const> blocks, std::byte const* from,
                 std::byte* to, cudaStream_t stream) = nullptr;
  void (*fill)(element_type type, reduction op, std::byte* to, std::int64_t n,
               cudaStream_t stream) = nullptr;
  void (*combine)(element_type type, reduction op, std::span<std::byte const* const> addends,
                  std::byte* to, std::int64_t n, cudaStream_t stream) = nullptr;
};

}  // namespace ashlar::nccl
