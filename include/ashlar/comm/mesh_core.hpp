// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The part of a mesh's state that does not depend on the backend (comm/backend.hpp).

#include <cstdint>
#include <memory>
#include <string>

#include <ashlar/comm/communicator.hpp>
#include <ashlar/comm/cross_plan_cache.hpp>
#include <ashlar/comm/plan_cache.hpp>
#include <ashlar/comm/watch/watchdog.hpp>
#include <ashlar/mesh/mesh_part.hpp>
#include <ashlar/mesh/text.hpp>

namespace ashlar {

struct mesh_core {
  topology shape;
  int rank = 0;    ///< negative on a rank that is not a member of this part of a mesh
  topology whole;  ///< topology of the whole mesh, of which this mesh is a part or all
  mesh_part part;  ///< which part of the whole mesh this mesh is
  std::shared_ptr<mesh_core> parent;      ///< the whole mesh; null if this mesh is whole
  operation_queue* operations = nullptr;  ///< the transfers of this mesh
  int crossings = 0;                      ///< how many crossings have been numbered
  cross_plan_cache cross_plans;           ///< plans of crossings from this mesh
  coordinates here{};
  machine priced_on;
  std::shared_ptr<communicator> plain;      ///< the transport without decorators, such as counters
  std::shared_ptr<communicator> transport;  ///< `plain`, perhaps inside decorators
  plan_cache plans;
  double seconds = 0;      ///< time spent in transfers
  bool is_timed = false;   ///< whether a transfer_timer is running
  bool forbidden = false;  ///< whether every transfer throws
  /// Says whether ranks compare transfers before they begin (checked_mode.hpp).
  bool is_checked = false;
  char const* label = nullptr;  ///< names what later transfers move (operation_label.hpp)
  std::shared_ptr<watch::watchdog> watching;  ///< null if this mesh is not watched

  /// Returns the state of the whole mesh.
  mesh_core& whole_mesh() { return parent == nullptr ? *this : *parent; }
};

namespace detail {

/// Throws ashlar::error unless a program on `size` ranks has as many ranks as the topology.
inline void require_ranks(topology const& t, int size) {
  if (t.ranks() == size) return;
  throw error("mesh", to_string(t) + " has " + std::to_string(t.ranks()) +
                          " ranks but the program runs on " + std::to_string(size) +
                          ". Start it with mpirun -n " + std::to_string(t.ranks()) +
                          ", or give a mesh whose extents multiply to " + std::to_string(size) +
                          ".");
}

/// Throws ashlar::error unless `root` is one of `ranks` ranks. The error names the collective
/// `kind`.
inline void require_root(collective kind, int root, int ranks) {
  if (root >= 0 && root < ranks) return;
  throw error("mesh", std::string(to_string(kind)) + ": rank " + std::to_string(root) +
                          " is not one of the " + std::to_string(ranks) + " ranks.");
}

/// Throws ashlar::error if communication is forbidden on the mesh (no_communication.hpp). The error
/// says that a transfer was requested.
inline void refuse_if_forbidden(mesh_core const& m, collective kind, axis_list const& axes) {
  if (m.forbidden)
    throw error("mesh", std::string("communication is forbidden here, but ") + to_string(kind) +
                            " along " + to_string(axes, m.shape) + " was requested.");
}
/// The same for a request of a crossing.
inline void refuse_forbidden_crossing(mesh_core const& m) {
  if (m.forbidden)
    throw error("mesh", "communication is forbidden here, but a crossing to another part of the "
                        "mesh was requested.");
}

/// Throws ashlar::error if `m` is a part of another mesh, because only whole meshes have mailboxes.
inline void require_whole(mesh_core const& m) {
  if (m.parent == nullptr) return;
  throw error("mesh", "ranks write letters on a whole mesh, but mesh " + to_string(m.shape) +
                          " is a part of one. Place the net on the whole mesh, or give a plan "
                          "without staleness.");
}

/// Throws ashlar::error if `m` is a part of another mesh. If only the members of a part gave it
/// another machine, the ranks of the whole mesh would choose different plans of crossings.
inline void require_whole_for_machine(mesh_core const& m) {
  if (m.parent == nullptr) return;
  throw error("mesh", "set_machine: mesh " + to_string(m.shape) +
                          " is a part of another mesh. Set the machine of the whole mesh, and make "
                          "its parts afterwards.");
}

/// Returns a new, odd number for a crossing on the whole mesh `m`. The numbers repeat after 2^29
/// crossings, because message tags are made from them.
inline int next_crossing_number(mesh_core& m) {
  int const number = 2 * m.crossings + 1;
  m.crossings = (m.crossings + 1) % (1 << 29);
  return number;
}

/// Throws ashlar::error unless both meshes are parts of the same mesh. A whole mesh counts as a
/// part of itself.
inline void require_one_mesh(mesh_core& from, mesh_core& to) {
  if (&from.whole_mesh() != &to.whole_mesh())
    throw error("redistribute", "from mesh " + to_string(from.shape) + " to mesh " +
                                    to_string(to.shape) +
                                    ": these are not parts of one mesh. Make both by mesh.part "
                                    "or mesh.split.");
}

}  // namespace detail
}  // namespace ashlar
