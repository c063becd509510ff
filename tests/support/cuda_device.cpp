// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Ends test programs that find no CUDA device. This file is linked into every test that needs a
// device. Without a device, the program prints the reason and exits before main with code 77, which
// CTest shows as skipped.

#include <cstdio>
#include <cstdlib>

#include <cuda_runtime_api.h>

namespace {

[[maybe_unused]] bool const has_device = [] {
  int count = 0;
  cudaError_t const status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return true;
  std::printf("skipped: no CUDA device here (%s)\n", cudaGetErrorString(status));
  std::fflush(stdout);
  std::_Exit(77);
}();

}  // namespace
