// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Failures of cuBLASLt as ashlar::error: the call, cuBLAS's text and what was asked for.

#include <string>

#include <cublasLt.h>

#include <ashlar/support/error.hpp>

namespace ashlar::cuda {

/// Throws ashlar::error unless the call succeeded.
inline void check_blas(cublasStatus_t status, char const* call, std::string const& what = {}) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::string text = std::string(cublasLtGetStatusName(status)) + " (" +
                     cublasLtGetStatusString(status) + ")";
  if (!what.empty()) text += " for " + what;
  if (status == CUBLAS_STATUS_NOT_INITIALIZED)
    text +=
        ". Is there a device, and memory left on it? Make a stream first: it says what is wrong.";
  throw error(call, text);
}

}  // namespace ashlar::cuda
