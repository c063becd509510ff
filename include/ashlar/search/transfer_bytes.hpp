// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the bytes of a tensor that goes from a stage of a pipeline to a neighbouring stage, on
// the rank that holds the most bytes of it. The tensor has up to four placements:
//
//   made       The pass of one stage makes the tensor at this placement.
//   leaving    The tensor is redistributed to this placement, and sent to the other part.
//   arriving   The other part receives it at this placement.
//   read       The tensor is redistributed to this placement. The pass of the other stage reads it.
//
// If both stages are on one part, the tensor is redistributed from the first placement to the last.
// pipeline_memory.hpp says when these bytes are in memory.

#include <ashlar/layout/layout.hpp>
#include <ashlar/step/memory.hpp>

namespace ashlar::search {

/// The bytes of one tensor on a rank, at the placements above. A peak is the most memory that a
/// redistribution of the tensor needs, including its source. If the tensor is not redistributed,
/// the peak is the bytes of the tensor.
struct transfer_bytes {
  std::int64_t made = 0, leaving = 0, arriving = 0;
  std::int64_t before = 0;  ///< peak of the redistribution before the send
  std::int64_t after = 0;   ///< peak of the redistribution after the receive
  std::int64_t joined = 0;  ///< peak of the redistribution if both stages are on one part
};

/// The bytes of the tensors that go from a stage to the next one and back, for one micro-batch.
struct boundary_bytes {
  transfer_bytes forward, backward;
};

/// Returns the bytes of a tensor with these extents and these four placements on parts of equal
/// meshes. `element_size` is in bytes.
inline transfer_bytes bytes_of_transfer(shape const& extents, int element_size,
                                        topology const& mesh, placement const& made,
                                        placement const& leaving, placement const& arriving,
                                        placement const& read) {
  auto const bytes = [&](placement const& p) {
    return max_local_elements(extents, mesh, p) * element_size;
  };
  auto const peak = [&](placement const& from, placement const& to) {
    return bytes(from) + (from == to ? 0 : moving_bytes(bytes(from), bytes(to), mesh.ranks()));
  };
  return {bytes(made),         bytes(leaving),       bytes(arriving),
          peak(made, leaving), peak(arriving, read), peak(made, read)};
}

}  // namespace ashlar::search
