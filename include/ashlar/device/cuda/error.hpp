// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Failures of the CUDA runtime as ashlar::error: the call, CUDA's own text and what to do about it.
//
//   no driver, or one older than the runtime   says both versions
//   no device                                  names CUDA_VISIBLE_DEVICES
//   out of memory                              what was asked, what is free, how much there is
//   anything else                              CUDA's name and text of it
//
// A kernel reports its failures with a later call: `check_last` asks right after a launch, which finds
// a bad launch, not a bad address.

#include <cstdint>
#include <string>

#include <cuda_runtime_api.h>

#include <ashlar/support/error.hpp>

namespace ashlar::cuda {

/// Of a driver or runtime, as CUDA numbers them: 13000 is "13.0", 0 is "none".
inline std::string version_text(int version) {
  if (version == 0) return "none";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// What a failed call means and what to do, without the name of the call.
inline std::string explain(cudaError_t status) {
  std::string text = std::string(cudaGetErrorName(status)) + " (" + cudaGetErrorString(status) +
                     ")";
  if (status == cudaErrorInsufficientDriver || status == cudaErrorNoDevice) {
    int driver = 0;
    int runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (driver == 0) {
      text += ". There is no NVIDIA driver here: install one, or run on ashlar::mpi::environment.";
    } else if (status == cudaErrorInsufficientDriver) {
      text += ". The driver knows CUDA up to " + version_text(driver) +
              ", the program was built "
              "with " +
              version_text(runtime) + ": update the driver.";
    } else {
      text += ". The driver is there, but no device: look at nvidia-smi and CUDA_VISIBLE_DEVICES.";
    }
  } else if (status == cudaErrorNoKernelImageForDevice ||
             status == cudaErrorUnsupportedPtxVersion) {
    text += ". The kernels were not compiled for this device: add its number to "
            "ASHLAR_CUDA_ARCHITECTURES.";
  }
  return text;
}

/// Throws ashlar::error unless the call succeeded; `call` is its name.
inline void check(cudaError_t status, char const* call) {
  if (status == cudaSuccess) return;
  std::string const text = explain(status);
  cudaGetLastError();  // not reported a second time
  throw error(call, text);
}

/// After the launch of a kernel.
inline void check_last(char const* kernel) {
  cudaError_t const status = cudaGetLastError();
  if (status != cudaSuccess) throw error(kernel, "the launch failed: " + explain(status));
}

/// As `check`, for an allocation of so many bytes of a device's memory.
inline void check_allocation(cudaError_t status, std::int64_t bytes, char const* call,
                             std::string const& what = {}) {
  if (status == cudaSuccess) return;
  if (status != cudaErrorMemoryAllocation) return check(status, call);
  cudaGetLastError();
  std::size_t free = 0;
  std::size_t total = 0;
  bool const known = cudaMemGetInfo(&free, &total) == cudaSuccess;
  std::string text = "out of device memory: " + std::to_string(bytes) + " bytes were asked for" +
                     (what.empty() ? "" : " by " + what);
  if (known) {
    text += ", " + std::to_string(free) + " of " + std::to_string(total) + " are free";
  }
  throw error(call, text + ". Split over more ranks, or lower the batch.");
}

}  // namespace ashlar::cuda
