// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The ranks of a test as GPU ranks. Where they are more than the devices of a node they share them: NCCL
// takes each for a node of its own, and they talk by sockets. That is for values, never for times.

#include <cstdlib>
#include <string>

#include <cuda_runtime_api.h>

#include <ashlar/comm/nccl/environment.hpp>

namespace ashlar_test {

/// Before the first call of NCCL.
inline void share_devices() {
  int devices = 0, rank = 0, ranks = 1;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) return;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks <= devices) return;
  setenv("NCCL_HOSTID", ("rank" + std::to_string(rank)).c_str(), 0);
  for (char const* const off : {"NCCL_IB_DISABLE", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"})
    setenv(off, "1", 0);
  for (char const* const zero : {"NCCL_NVLS_ENABLE", "NCCL_MNNVL_ENABLE", "NCCL_RAS_ENABLE"})
    setenv(zero, "0", 0);
  setenv("NCCL_NET", "Socket", 0);
  setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  setenv("NCCL_MAX_NCHANNELS", "1", 0);
}

/// Made when first asked for, by all ranks; ends with the program.
inline ashlar::nccl::environment& gpu_ranks() {
  static int argc = 0;
  static char** argv = nullptr;
  static ashlar::nccl::environment environment = [] {
    share_devices();
    return ashlar::nccl::environment(argc, argv);
  }();
  return environment;
}

}  // namespace ashlar_test
