// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Lets several NCCL ranks share one device in tests of correctness. Times measured in this way mean
// nothing. NCCL identifies a node by the name in NCCL_HOSTID, and refuses two ranks of one node on
// the same device. Each process therefore sets a different name, and ranks communicate over the
// loopback network. The necessary environment variables are set before main, and thus before the
// first NCCL call. A variable that is already set keeps its value.

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
