// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The buffers of a step as if it travelled in messages (between neighbours in one node it needs none).
// Between MPI processes it goes in rounds of chunks, two of them under way, of `block` elements that
// pass between two of p ranks:
//
//   min(rounds, 2) · 2 p · min(chunk, block)      rounds: block / chunk, rounded up
//
//   all_gather                   none if the dims before the gathered one are 1: blocks are runs
//   permute of two whole shards  none
//   slice, zero_pad              none
//
// NCCL packs what it sends and what it receives whole. Where only shards are known and not the steps
// between them, packing_bound holds for both: p blocks are no more than the larger shard. (Two ranks
// that swap whole small arrays send them as they lie and receive one, less than the formula says.)

#include <ashlar/plan/redistribution_step.hpp>

namespace ashlar {

/// What a transport packs at a time for one other rank, at most.
inline constexpr std::int64_t packing_chunk_bytes = 256 * 1024;

/// The bound of a step's buffers between MPI processes, in bytes.
constexpr std::int64_t packing_bytes(redistribution_step const& s, shape const& extents,
                                     int element_size, topology const& t) {
  if (!communicates(s.kind) || (s.kind == collective::permute && is_pairwise(s, t))) return 0;
  box const from = local_box(extents, t, s.from, {}), to = local_box(extents, t, s.to, {});
  int const p = t.group_size(s.axes);
  if (s.kind == collective::all_gather) {
    bool runs = true;
    for (int d = 0; d < s.from[s.axes[0]].dim; ++d) runs = runs && to[d].size == 1;
    if (runs) return 0;
  }
  std::int64_t block = element_size;
  for (int d = 0; d < from.rank(); ++d)
    block *= from[d].size < to[d].size ? from[d].size : to[d].size;
  if (s.kind == collective::all_reduce && !arrays_cross(p, from.elements()))
    block = (block + p - 1) / p;
  return 2 * p * (block <= packing_chunk_bytes ? block : 2 * packing_chunk_bytes);
}

/// The bound of the buffers of any redistribution between `ranks` ranks whose largest shard, of all
/// that its steps go through, has so many bytes. Expects shards of equal size.
constexpr std::int64_t packing_bound(std::int64_t shard_bytes, int ranks) {
  if (ranks <= 1) return 0;
  std::int64_t const whole = 2 * shard_bytes;
  if (shard_bytes <= packing_chunk_bytes) return whole;
  std::int64_t const chunks = 4 * ranks * packing_chunk_bytes;
  std::int64_t const rounds = 2 * whole < chunks ? 2 * whole : chunks;
  return rounds > whole ? rounds : whole;
}

}  // namespace ashlar
