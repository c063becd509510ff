// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The processor type of meshes and tensors whose memory is on a CUDA device. Operations on such
// tensors are submitted to the processor's stream in program order. device/host/processor.hpp has
// the processor type for the host. Matrix products also need `products`, the state of cuBLASLt.
// `products` may be null if the program computes no matrix products.

#include <cuda_runtime_api.h>

namespace ashlar::cuda {

class gemm_engine;

struct processor {
  /// Says whether host code may read and write this processor's memory directly.
  static constexpr bool is_host = false;

  cudaStream_t stream = nullptr;
  gemm_engine* products = nullptr;

  /// Converts to the stream, so that a processor can be passed to functions that take a stream.
  operator cudaStream_t() const { return stream; }
};

}  // namespace ashlar::cuda
