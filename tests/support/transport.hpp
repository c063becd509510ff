// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Creates meshes on a chosen transport, independently of the environment of the test program. A
// mesh reads ASHLAR_SHARED_MEMORY when it is constructed, so the variable is set during the
// construction.

#include <support/scoped_environment.hpp>

#include <ashlar/comm/mesh.hpp>

namespace ashlar_test {

enum class transport { messages, shared_memory };

constexpr char const* to_string(transport t) {
  return t == transport::messages ? "messages" : "shared memory";
}

/// Creates a mesh of all ranks. Collective over the world.
inline ashlar::mesh mesh_on(transport on, ashlar::topology const& t,
                            ashlar::machine const& m = ashlar::machines::workstation) {
  scoped_environment const setting("ASHLAR_SHARED_MEMORY",
                                   on == transport::messages ? "off" : "32MiB");
  return {MPI_COMM_WORLD, t, m};
}

}  // namespace ashlar_test
