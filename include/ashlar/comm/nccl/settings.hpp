// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// How sums are summed on GPUs, by one environment variable that all ranks must have alike:
//
//   ASHLAR_NCCL_SUMS   unset, library   by NCCL where it can: fast, the switch may help; equal from run to
//                                       run on one machine, not equal to other transports' bits
//                      ordered          in the order of comm/transfer.hpp: the bits of MPI ranks; the same
//                                       bytes move, and a kernel adds them

#include <cstdlib>
#include <string>

#include <ashlar/comm/nccl/issue.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::nccl {

inline sums sums_from_environment() {
  char const* const text = std::getenv("ASHLAR_NCCL_SUMS");
  std::string const value = text == nullptr ? "" : text;
  if (value.empty() || value == "library") return sums::library;
  if (value == "ordered") return sums::ordered;
  throw error("nccl", "ASHLAR_NCCL_SUMS is '" + value + "'. Give library or ordered.");
}

}  // namespace ashlar::nccl
