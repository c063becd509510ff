// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A device as a type: meshes and tensors say by it whose memory they are in (device/host/processor.hpp is
// the host's). What works on them is given to its stream, in the order of the program; matrix products also
// need the state that gemm_engine keeps (null where there are none).

#include <cuda_runtime_api.h>

namespace ashlar::cuda {

class gemm_engine;

struct processor {
  /// The program's own loops may not touch the memory.
  static constexpr bool is_host = false;

  cudaStream_t stream = nullptr;
  gemm_engine* products = nullptr;

  /// Where a kernel takes a stream, the processor serves.
  operator cudaStream_t() const { return stream; }
};

}  // namespace ashlar::cuda
