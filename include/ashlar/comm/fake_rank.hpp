// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Simulates one rank of a mesh of many ranks in a single process. The simulated mesh has the
// topology of all ranks and the coordinates of one of them, although the other ranks do not exist.
// So a test can simulate all ranks one after another, as long as their work is local. A tensor on
// such a mesh contains only the shard of the simulated rank. Any communication throws. The memory
// of the mesh is guarded (guarded_blocks.hpp).

#include <ashlar/comm/mesh.hpp>

namespace ashlar {

class fake_rank {
 public:
  /// Makes a mesh with topology `t` and the coordinates of rank `rank`. `alone` is a world of one
  /// rank, such as MPI_COMM_SELF. Each shard is between margins of `margin` bytes. Collective over
  /// `alone`.
  static mesh make(mesh::world alone, topology const& t, int rank, std::size_t margin) {
    mesh m(alone, {{"alone", 1}});
    m.state_->shape = t;
    m.state_->rank = rank;
    m.state_->here = t.coordinates_of(rank);
    m.state_->plans.clear();
    m.state_->forbidden = true;
    m.memory().guard(margin);
    return m;
  }
};

}  // namespace ashlar
