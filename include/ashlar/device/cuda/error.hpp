// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Failures of the CUDA runtime as ashlar::error: the call, CUDA's own text and what to do about it.
//
//   no driver, or one older than the runtime    says both versions
//   a runtime older than the program's headers  says both versions (version_fault, before any call)
//   no device, or one that others have          names CUDA_VISIBLE_DEVICES, nvidia-smi
//   kernels of no such device                   its number, for ASHLAR_CUDA_ARCHITECTURES
//   out of memory                               what was asked, what is free, how much there is
//   a bad address in a kernel                   compute-sanitizer
//   a call that a graph cannot have             what a captured part may not do
//   anything else                               CUDA's name and text of it
//
// A kernel reports its failures with a later call: `check_last` asks right after a launch, which finds
// a bad launch, not a bad address.

#include <cstdint>
#include <string>

#include <cuda_runtime_api.h>

#include <ashlar/support/out_of_memory.hpp>

namespace ashlar::cuda {

/// Of a driver or runtime, as CUDA numbers them: 13000 is "13.0", 0 is "none".
inline std::string version_text(int version) {
  if (version == 0) return "none";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Empty, or why programs that were built with such a runtime's headers do not run with what is here: the
/// runtime library that was loaded, and the driver.
inline std::string version_fault(int built, int runtime, int driver) {
  if (driver == 0)
    return "There is no NVIDIA driver here: install one, or run on ashlar::mpi::environment.";
  if (runtime < built / 1000 * 1000)
    return "The CUDA runtime that was loaded is " + version_text(runtime) +
           ", the program was built with " + version_text(built) +
           ": put the newer one first in LD_LIBRARY_PATH.";
  if (driver / 1000 < runtime / 1000)  // within a major version an older driver serves
    return "The driver knows CUDA up to " + version_text(driver) + ", the program was built with " +
           version_text(built) + ": update the driver.";
  return "";
}

/// version_fault of what is here.
inline std::string version_fault() {
  int driver = 0;
  int runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  return version_fault(CUDART_VERSION, runtime, driver);
}

/// "sm_90" of the selected device.
inline std::string architecture_text() {
  int device = 0;
  int major = 0;
  int minor = 0;
  bool const is_known = cudaGetDevice(&device) == cudaSuccess &&
                        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) ==
                            cudaSuccess &&
                        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) ==
                            cudaSuccess;
  return is_known ? "sm_" + std::to_string(10 * major + minor) : "of a number that is not known";
}

/// What a failed call means and what to do, without the name of the call.
inline std::string explain(cudaError_t status) {
  std::string const name = std::string(cudaGetErrorName(status)) + " (" +
                           cudaGetErrorString(status) + ")";
  std::string const text = name + ". ";
  std::string const fault = version_fault();
  switch (status) {
    case cudaErrorInsufficientDriver:
    case cudaErrorUnsupportedPtxVersion:
      return text +
             (fault.empty() ? "The driver is older than the program's CUDA: update it." : fault);
    case cudaErrorNoDevice:
      return text + (fault.empty() ? "The driver is there, but no device: look at nvidia-smi and "
                                     "CUDA_VISIBLE_DEVICES."
                                   : fault);
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
      return text + "The kernels were not compiled for this device, which is " +
             architecture_text() + ": add its number to ASHLAR_CUDA_ARCHITECTURES.";
    case cudaErrorSystemDriverMismatch:
      return text + "The driver was updated while it was in use: restart the machine.";
    case cudaErrorDevicesUnavailable:
      return text + "Another process has the device for itself: look at nvidia-smi.";
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure:
      return text +
             "An earlier kernel read or wrote where it may not: run under compute-sanitizer.";
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureUnjoined:
    case cudaErrorStreamCaptureIsolation:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorCapturedEvent:
      return text + "A CUDA graph is being captured: what is captured may not wait for the device, "
                    "move values of the host, or leave work on another stream behind.";
    default: return name;
  }
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

/// As `check`, for an allocation of so many bytes of a device's memory. `what` it is for; `held`: a
/// clause of what this process holds itself, perhaps empty. Throws ashlar::out_of_memory.
inline void check_allocation(cudaError_t status, std::int64_t bytes, char const* call,
                             std::string const& what = {}, std::string const& held = {}) {
  if (status == cudaSuccess) return;
  if (status != cudaErrorMemoryAllocation) return check(status, call);
  cudaGetLastError();
  std::size_t free = 0;
  std::size_t total = 0;
  std::string left;
  if (cudaMemGetInfo(&free, &total) == cudaSuccess)
    left = std::to_string(free) + " of " + std::to_string(total) + " are free" +
           (held.empty() ? "" : ", " + held);
  throw out_of_memory(call, "device memory", bytes, what, left);
}

}  // namespace ashlar::cuda
