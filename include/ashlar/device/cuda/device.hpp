// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Which device a process works on. A process has one: rank by rank of a node, by
// CUDA_VISIBLE_DEVICES or by `select`.
//
//   count()    devices that this process may use; an error where there is no driver, one that is too
//              old, another runtime than the program was built with, or no device
//   select(i)  makes device i the one of this thread, in [0, count())
//   describe() its name, memory, number and clocks as what is measured on it is reported with

#include <cstdint>
#include <string>

#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/error.hpp>

namespace ashlar::cuda {

/// Devices that this process sees. Throws ashlar::error where there is none.
inline int count() {
  if (auto const fault = version_fault(); !fault.empty()) throw error("cuda::count", fault);
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  return devices;
}

/// Makes device i the one that this thread's later calls go to. Throws ashlar::error if there is no i.
inline void select(int device) {
  int const devices = count();
  if (device < 0 || device >= devices) {
    throw error("cuda::select", "device " + std::to_string(device) + " was asked for, but there " +
                                    (devices == 1 ? "is 1" : "are " + std::to_string(devices)) +
                                    ". Start as many ranks on a node as it has devices.");
  }
  check(cudaSetDevice(device), "cudaSetDevice");
}

struct device_description {
  std::string name;
  std::int64_t memory = 0;  ///< bytes
  int multiprocessors = 0;
  int compute_capability = 0;  ///< 90 is sm_90
  int driver = 0, runtime = 0;
};

/// Of the selected device.
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

/// Multiprocessors of the selected device: what the grids of kernels are cut for.
inline int multiprocessors() {
  int device = 0;
  int number = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&number, cudaDevAttrMultiProcessorCount, device),
        "cudaDeviceGetAttribute");
  return number;
}

}  // namespace ashlar::cuda
