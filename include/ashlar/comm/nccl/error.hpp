// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Converts NCCL's results to ashlar::error, with the texts of failure.hpp, and checks NCCL's
// version.

#include <nccl.h>

#include <ashlar/comm/nccl/failure.hpp>
#include <ashlar/support/error.hpp>

static_assert(NCCL_VERSION_CODE >= ashlar::nccl::least_nccl_version,
              "ashlar needs NCCL 2.27 or newer: give the folder of a newer one in NCCL_ROOT.");
static_assert(sizeof(ncclUniqueId) == 128 && ncclUnhandledCudaError == 1 && ncclSystemError == 2 &&
              ncclInternalError == 3 && ncclInvalidArgument == 4 && ncclInvalidUsage == 5 &&
              ncclRemoteError == 6 && ncclInProgress == 7);

namespace ashlar::nccl {

inline std::string explain(ncclResult_t status, ncclComm_t comm = nullptr) {
  char const* const last = ncclGetLastError(comm);
  return explain(static_cast<result>(status), ncclGetErrorString(status),
                 last == nullptr ? "" : last);
}

/// Throws ashlar::error if a call of NCCL failed. The result "in progress" of a non-blocking
/// communicator is not a failure: handle.hpp waits for the end of such a call.
inline void check(ncclResult_t status, call_site const& where, ncclComm_t comm = nullptr) {
  if (status == ncclSuccess || status == ncclInProgress) return;
  throw error("nccl", to_string(where) + ": " + explain(status, comm));
}

/// Throws ashlar::error if this program cannot use the loaded version of NCCL.
inline void check_version() {
  int loaded = 0;
  check(ncclGetVersion(&loaded), {-1, "", "ncclGetVersion"});
  if (auto const fault = version_fault(NCCL_VERSION_CODE, loaded); !fault.empty())
    throw error("nccl", fault);
}

}  // namespace ashlar::nccl
