// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Reports failures of the CUDA runtime as ashlar::error. The message has the name of the call,
// CUDA's own text, and advice that depends on the failure:
//
//   no driver                                        advises to install one
//   a driver of an older major version than the      names the versions of driver and runtime
//   runtime
//   a runtime of an older major version than the     names the versions of runtime and headers
//   program's headers                                (`count` in device.hpp reports this)
//   a driver that was updated while it was in use    advises to restart the machine
//   no device                                        refers to nvidia-smi and
//                                                    CUDA_VISIBLE_DEVICES
//   another process uses the device exclusively      refers to nvidia-smi
//   kernels not compiled for this device             names the device's architecture, which is to
//                                                    be added to ASHLAR_CUDA_ARCHITECTURES
//   out of memory                                    says how much was requested, is free, and
//                                                    exists
//   a bad address in a kernel                        advises compute-sanitizer
//   a call that cannot be captured in a graph        says what a captured part must not do
//   any other failure                                gives CUDA's name and text
//
// CUDA reports a failure inside a kernel, such as a bad address, only at a later call.
// `check_last`, called right after a launch, finds invalid launch parameters.

#include <cstdint>
#include <string>

#include <cuda_runtime_api.h>

#include <ashlar/support/out_of_memory.hpp>

namespace ashlar::cuda {

/// Converts CUDA's integer code of a driver or runtime version to text: 13000 is "13.0", 0 is
/// "none".
inline std::string version_text(int version) {
  if (version == 0) return "none";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Returns the reason why this program cannot run with the installed CUDA, or an empty string if
/// the program can run. `built` is the version of the headers, `runtime` the version of the loaded
/// runtime library, and `driver` the version of the driver. All three are CUDA's integer codes.
inline std::string version_fault(int built, int runtime, int driver) {
  if (driver == 0)
    return "There is no NVIDIA driver here: install one, or run on ashlar::mpi::environment.";
  if (runtime < built / 1000 * 1000)
    return "The CUDA runtime that was loaded is " + version_text(runtime) +
           ", the program was built with " + version_text(built) +
           ": put the newer one first in LD_LIBRARY_PATH.";
  if (driver / 1000 < runtime / 1000)  // an older driver of the same major version works
    return "The driver supports CUDA up to " + version_text(driver) +
           ", the CUDA runtime that was loaded is " + version_text(runtime) +
           ": update the driver.";
  return "";
}

/// Returns the reason why this program cannot run with the CUDA on this machine, or an empty string
/// if the program can run.
inline std::string version_fault() {
  int driver = 0;
  int runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  return version_fault(CUDART_VERSION, runtime, driver);
}

/// Returns the architecture of this thread's current device, for example "sm_90".
inline std::string architecture_text() {
  int device = 0;
  int major = 0;
  int minor = 0;
  bool const is_known = cudaGetDevice(&device) == cudaSuccess &&
                        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) ==
                            cudaSuccess &&
                        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) ==
                            cudaSuccess;
  return is_known ? "sm_" + std::to_string(10 * major + minor) : "of unknown architecture";
}

/// Returns the meaning of a failure, and advice to the user, without the name of the call.
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
      return text + (fault.empty() ? "The driver is installed, but it shows no device: look at "
                                     "nvidia-smi and CUDA_VISIBLE_DEVICES."
                                   : fault);
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
      return text + "The kernels were not compiled for this device, which is " +
             architecture_text() + ": add its number to ASHLAR_CUDA_ARCHITECTURES.";
    case cudaErrorSystemDriverMismatch:
      return text + "The driver was updated while it was in use: restart the machine.";
    case cudaErrorDevicesUnavailable:
      return text + "Another process uses the device exclusively: look at nvidia-smi.";
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure:
      return text +
             "An earlier kernel accessed invalid memory: run the program under compute-sanitizer.";
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureUnjoined:
    case cudaErrorStreamCaptureIsolation:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorCapturedEvent:
      return text + "A CUDA graph is being captured: captured code may not wait for the device, "
                    "copy values of the host, or leave work on another stream that does not join.";
    default: return name;
  }
}

/// Throws ashlar::error if `status` reports a failure. `call` is the name of the CUDA function.
inline void check(cudaError_t status, char const* call) {
  if (status == cudaSuccess) return;
  std::string const text = explain(status);
  cudaGetLastError();  // clears the error, so that no later call reports it again
  throw error(call, text);
}

/// Throws ashlar::error if the launch of the kernel named `kernel` failed. Must be called right
/// after the launch.
inline void check_last(char const* kernel) {
  cudaError_t const status = cudaGetLastError();
  if (status != cudaSuccess) throw error(kernel, "the launch failed: " + explain(status));
}

/// Checks the status of an allocation of `bytes` bytes of device memory. Throws
/// ashlar::out_of_memory if there was not enough device memory, and ashlar::error after any other
/// failure.
///
///   call   the name of the CUDA function
///   what   the purpose of the memory, for the error message
///   held   a clause about the memory that this process holds, for the error message, or empty
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
