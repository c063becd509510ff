// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The method by which sums are computed on GPUs. An environment variable, which must be the same on
// all ranks, selects the method:
//
//   ASHLAR_NCCL_SUMS   unset, library   by NCCL where possible: fast, perhaps with the help of the
//                                       network switch; reproducible on one machine, but not the
//                                       same bits as other transports
//                      ordered          in the order of the mesh (comm/sum_order.hpp): the same bits as on MPI;
//                                       the same bytes are sent, and a kernel adds them

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
