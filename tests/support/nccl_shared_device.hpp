// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Several ranks of NCCL on one device, for tests of what is right (never of how fast): NCCL takes two ranks
// for one node's, and refuses one device for both, by the name in NCCL_HOSTID. Each process names itself,
// and they talk through the loopback network. Set before main, and so before NCCL's first call; what is
// in the environment already stays.

#include <cstdlib>
#include <string>

#include <unistd.h>

namespace ashlar_test {

inline bool const shares_device = [] {
  auto const set = [](char const* name, std::string const& value) {
    ::setenv(name, value.c_str(), 0);
  };
  set("NCCL_HOSTID", "process " + std::to_string(::getpid()));
  set("NCCL_NET", "Socket");
  set("NCCL_IB_DISABLE", "1");
  set("NCCL_SOCKET_IFNAME", "lo");
  set("NCCL_P2P_DISABLE", "1");
  set("NCCL_SHM_DISABLE", "1");
  set("NCCL_NVLS_ENABLE", "0");
  set("NCCL_MNNVL_ENABLE", "0");
  set("NCCL_RAS_ENABLE", "0");
  set("NCCL_MAX_NCHANNELS", "1");
  set("NCCL_DEBUG", "WARN");
  set("ASHLAR_NCCL_TIMEOUT", "60");
  return true;
}();

}  // namespace ashlar_test
