// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Reports failures of cuBLASLt as ashlar::error. The message has the name of the call, cuBLAS's
// text and the product that was requested.

#include <string>

#include <cublasLt.h>

#include <ashlar/support/error.hpp>

namespace ashlar::cuda {

/// Throws ashlar::error if `status` reports a failure. `call` is the name of the cuBLASLt function,
/// and `what` describes the requested product.
inline void check_blas(cublasStatus_t status, char const* call, std::string const& what = {}) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::string text = std::string(cublasLtGetStatusName(status)) + " (" +
                     cublasLtGetStatusString(status) + ")";
  if (!what.empty()) text += " for " + what;
  if (status == CUBLAS_STATUS_NOT_INITIALIZED)
    text += ". Is there a device with free memory? Create a stream first: its error says what is "
            "wrong.";
  throw error(call, text);
}

}  // namespace ashlar::cuda
