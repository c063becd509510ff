// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Selects and describes the device of a process. Each process uses one device. If a node has
// several devices, CUDA_VISIBLE_DEVICES or `select` gives each rank its own device.
//
//   count()     returns the number of devices that this process may use. Throws if there is no
//               driver or no device, or if the driver or the CUDA runtime is too old (error.hpp).
//   select(i)   makes device i, in [0, count()), the current device of this thread
//   describe()  returns the name, the memory size, the number of multiprocessors and the compute
//               capability of the current device, and the versions of driver and runtime, for
//               reports of measurements

#include <cstdint>
#include <string>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/error.hpp>

namespace ashlar::cuda {

/// Returns the number of devices that this process may use. Throws ashlar::error if there is none.
inline int count() {
  if (auto const fault = version_fault(); !fault.empty()) throw error("cuda::count", fault);
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  return devices;
}

/// Makes `device` the current device of this thread. Throws ashlar::error if there is no such
/// device.
inline void select(int device) {
  int const devices = count();
  if (device < 0 || device >= devices) {
    throw error("cuda::select",
                "device " + std::to_string(device) + " was requested, but there " +
                    (devices == 1 ? "is 1" : "are " + std::to_string(devices)) +
                    ". Start at most as many ranks on a node as the node has devices.");
  }
  check(cudaSetDevice(device), "cudaSetDevice");
}

struct device_description {
  std::string name;
  std::int64_t memory = 0;  ///< bytes
  int multiprocessors = 0;
  int compute_capability = 0;   ///< for example 90 for sm_90
  int driver = 0, runtime = 0;  ///< CUDA's codes of the versions: 13000 is 13.0
};

/// Returns a description of this thread's current device.
inline device_description describe() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  device_description d;
  d.name = properties.name;
  d.memory = static_cast<std::int64_t>(properties.totalGlobalMem);
  d.multiprocessors = properties.multiProcessorCount;
  d.compute_capability = 10 * properties.major + properties.minor;
  check(cudaDriverGetVersion(&d.driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&d.runtime), "cudaRuntimeGetVersion");
  return d;
}

}  // namespace ashlar::cuda
