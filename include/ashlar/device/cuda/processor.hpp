// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The processor type of meshes and tensors whose memory is on a CUDA device
// (device/host/processor.hpp is the host's). Operations on these tensors are submitted to the
// stream of the processor in program order. Matrix products also need the state in gemm_engine,
// which is null if the program has no products.

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
