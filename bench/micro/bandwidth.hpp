// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Computes the size in bytes and the bus factor of a redistribution step. nccl-tests defines:
//
//   algorithm bandwidth = size / time
//   bus bandwidth       = factor * algorithm bandwidth
//
// With this factor, the bus bandwidth can be compared with the bandwidth of a link for every
// collective and every number of ranks. For a group of n ranks and a whole tensor of T bytes:
//
//   step                         size in bytes                        factor
//   all_gather, reduce_scatter   T                                    (n - 1) / n
//   all_reduce                   T                                    2 (n - 1) / n
//   all_to_all                   T / n, the shard of a rank           (n - 1) / n
//   permute                      the largest shard, as for sendrecv   1, or 0 if n = 1
//   slice, zero_pad              the largest shard after the step     0: nothing is communicated

#include <ashlar/plan/redistribution.hpp>

#include "suite.hpp"

namespace ashlar_bench::micro {

inline counts counts_of(ashlar::redistribution_step const& s, ashlar::shape const& extents,
                        ashlar::topology const& t, int element_size) {
  auto const bytes_of = [&](ashlar::placement const& p) {
    return static_cast<double>(ashlar::max_local_elements(extents, t, p) * element_size);
  };
  double const whole = static_cast<double>(extents.elements() * element_size);
  double const n = t.group_size(s.axes);
  double const others = (n - 1) / n;
  switch (s.kind) {
    case ashlar::collective::all_gather:
    case ashlar::collective::reduce_scatter: return {whole, others, 0};
    case ashlar::collective::all_reduce: return {whole, 2 * others, 0};
    case ashlar::collective::all_to_all: return {bytes_of(s.from), others, 0};
    case ashlar::collective::permute: return {bytes_of(s.from), n > 1 ? 1.0 : 0.0, 0};
    default: return {bytes_of(s.to), 0, 0};
  }
}

}  // namespace ashlar_bench::micro
