// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The method by which sums are computed on GPUs. An environment variable selects the method. If it
// differs between ranks, the value of rank 0 applies to all:
//
//   ASHLAR_NCCL_SUMS   unset, library   NCCL sums where possible. This is fast, and a network
//                                       switch may help. Results are reproducible on one machine,
//                                       but their bits differ from those of other transports.
//                      ordered          A kernel sums in the order of the mesh
//                                       (comm/sum_order.hpp), so results have the same bits as on
//                                       MPI. The number of bytes sent is the same.
//
// The variable does not change maxima and minima, whose bits are the same on every transport.

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
