// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The type by which meshes and tensors know that their memory is on a CUDA device
// (device/host/processor.hpp is the host's). Operations on them are submitted to its stream in
// program order. Matrix products also need the state in gemm_engine, which is null if the program
// has no products.

#include <cuda_runtime_api.h>

namespace ashlar::cuda {

class gemm_engine;

struct processor {
  /// Host code must not access the memory.
  static constexpr bool is_host = false;

  cudaStream_t stream = nullptr;
  gemm_engine* products = nullptr;

  /// Converts to the stream, so that a processor can be passed to functions that take a stream.
  operator cudaStream_t() const { return stream; }
};

}  // namespace ashlar::cuda
