// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Predicts the memory of the communication buffers of a redistribution step, in bytes per rank. The
// formula holds for MPI messages. Ranks that share a node's memory need no buffers. MPI processes
// exchange data in rounds of chunks, with two rounds in flight. If every two of the p ranks of a
// group exchange `block` bytes, the buffers of a rank need this many bytes:
//
//   min(rounds, 2) · 2 p · min(chunk, block)      rounds = block / chunk, rounded up
//                                                 chunk = packing_chunk_bytes
//
// No buffers are needed for
//
//   all_gather                   if the dims before the gathered one have extent 1, so that blocks
//                                are contiguous
//   permute between pairs        because whole shards are exchanged
//   slice, zero_pad              because nothing is communicated
//
// NCCL packs all data that it sends and all that it receives. packing_bound is an upper bound for
// both MPI and NCCL, for callers who know only the shards and not the steps between them. The bound
// holds because the p blocks together are at most as large as the larger shard. The comment of
// packing_bound names the one exception.

#include <ashlar/plan/redistribution_step.hpp>

namespace ashlar {

/// The most bytes that a rank packs at a time into a communication buffer for one other rank.
inline constexpr std::int64_t packing_chunk_bytes = 256 * 1024;

/// Returns an upper bound of the bytes of a rank's communication buffers if every two of `ranks`
/// MPI processes exchange at most `block` bytes.
constexpr std::int64_t packing_of_blocks(std::int64_t block, int ranks) {
  return std::int64_t{2} * ranks * (block <= packing_chunk_bytes ? block : 2 * packing_chunk_bytes);
}

/// Returns an upper bound of the bytes of a rank's communication buffers in an all_reduce of
/// `bytes` bytes. `crosses` says whether the group has two ranks that exchange their whole arrays
/// (arrays_cross).
constexpr std::int64_t packing_of_sum(std::int64_t bytes, bool crosses, int ranks) {
  return packing_of_blocks(crosses ? bytes : (bytes + ranks - 1) / ranks, ranks);
}

/// Returns an upper bound of the bytes of a rank's communication buffers in one step between MPI
/// processes.
constexpr std::int64_t packing_bytes(redistribution_step const& s, shape const& extents,
                                     int element_size, topology const& t) {
  if (!communicates(s.kind) || (s.kind == collective::permute && is_pairwise(s, t))) return 0;
  box const from = local_box(extents, t, s.from, fullest_rank(s.from));
  box const to = local_box(extents, t, s.to, fullest_rank(s.to));
  int const p = t.group_size(s.axes);
  if (s.kind == collective::all_gather) {
    bool runs = true;
    for (int d = 0; d < s.from[s.axes[0]].dim; ++d) runs = runs && to[d].size == 1;
    if (runs) return 0;
  }
  std::int64_t block = element_size;
  for (int d = 0; d < from.rank(); ++d)
    block *= from[d].size < to[d].size ? from[d].size : to[d].size;
  return s.kind == collective::all_reduce
             ? packing_of_sum(block, arrays_cross(p, from.elements()), p)
             : packing_of_blocks(block, p);
}

/// Returns an upper bound of the bytes of a rank's communication buffers in any redistribution
/// between `ranks` ranks. `shard_bytes` is the size of the largest shard of all placements through
/// which the redistribution passes. Expects shards of equal size. The one exception to the bound is
/// an all_reduce in which two ranks exchange whole arrays (arrays_cross). With n bytes, it needs
/// 4 n bytes, and n is at most the size of a chunk.
constexpr std::int64_t packing_bound(std::int64_t shard_bytes, int ranks) {
  if (ranks <= 1) return 0;
  std::int64_t const whole = 2 * shard_bytes;
  if (shard_bytes <= packing_chunk_bytes) return whole;
  std::int64_t const chunks = std::int64_t{4} * ranks * packing_chunk_bytes;
  std::int64_t const rounds = 2 * whole < chunks ? 2 * whole : chunks;
  return rounds > whole ? rounds : whole;
}

}  // namespace ashlar
