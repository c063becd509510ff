// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Decides which rank writes which values of a tensor to a checkpoint. Every value is written by
// exactly one rank, and no value moves between ranks.
//
// The ranks that hold the same shard are its holders. They write nearly equal amounts, unless a
// large shard has fewer rows than holders.
//
//   the shard has ...               then
//   `least_piece` bytes or more     each holder writes an equal part of the rows
//   for each holder
//   fewer bytes                     one holder writes the whole shard; the number of the tensor
//                                   says which one, so that holders take turns

#include <cstdint>

#include <ashlar/checkpoint/stored_array.hpp>

namespace ashlar::checkpoint {

/// A shard is cut into pieces for its holders only if it has this many bytes or more per holder.
inline constexpr std::int64_t least_piece = 64 * 1024;

/// Returns the box of an array that a rank of the whole mesh writes. It may be empty. Its values
/// are contiguous in the rank's shard. `number` is the number of the array in the checkpoint.
/// Expects a placement without P.
inline box piece_of(stored_array const& array, int rank, std::int64_t number) {
  box piece = box_of(array, rank);
  if (piece.elements() == 0) return piece;
  topology const& t = array.part.axes;
  auto const c = t.coordinates_of(position_in(array.part, rank));
  std::int64_t holders = 1, mine = 0;  // the number of holders, and this rank's position
  for (int a = 0; a < t.axes(); ++a) {
    if (!array.placement[a].is_broadcast()) continue;
    holders *= t.extent(a);
    mine = mine * t.extent(a) + c[static_cast<std::size_t>(a)];
  }
  int cut = 0;  // the first dim with more than one index: parts of it are contiguous
  while (cut < piece.rank() - 1 && piece[cut].size == 1) ++cut;
  interval& rows = piece.dim[cut];
  bool const is_large = piece.elements() * size_of(array.type) >= holders * least_piece;
  if (is_large) rows = balanced_part(rows, static_cast<int>(holders), static_cast<int>(mine));
  else if (mine != number % holders) rows.size = 0;
  return piece;
}

}  // namespace ashlar::checkpoint
