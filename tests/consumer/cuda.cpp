// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// A program that links the target ashlar::cuda. The host compiler compiles this file as plain C++,
// and the CUDA kernels are linked. On a machine without a GPU or a driver the program prints an
// error message and does not crash.

#include <iostream>

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <ashlar/device/cuda/error.hpp>

int main() {
  int nccl = 0;
  int devices = 0;
  bool right = ncclGetVersion(&nccl) == ncclSuccess && nccl >= 22700 && cublasLtGetVersion() > 0;
  try {
    ashlar::cuda::check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  } catch (ashlar::error const& e) {
    right = right && e.operation() == "cudaGetDeviceCount";
    std::cout << e.what() << '\n';
  }
  std::cout << "ashlar::cuda is " << (right ? "here" : "wrong") << ", devices: " << devices << '\n';
  return right ? 0 : 1;
}
