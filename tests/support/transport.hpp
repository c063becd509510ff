// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Creates meshes on a chosen transport, independently of the environment of the test program. A
// mesh reads ASHLAR_SHARED_MEMORY when it is constructed, so the variable is set during the
// construction.

#include <cstdlib>
#include <optional>
#include <string>

#include <ashlar/comm/mesh.hpp>

namespace ashlar_test {

enum class transport { messages, shared_memory };

constexpr char const* to_string(transport t) {
  return t == transport::messages ? "messages" : "shared memory";
}

/// Sets an environment variable for the lifetime of this object. Meanwhile no other thread may read
/// the environment.
class scoped_environment {
 public:
  scoped_environment(char const* name, char const* value) : name_(name) {
    if (char const* const now = std::getenv(name)) before_ = now;
    ::setenv(name, value, 1);
  }
  scoped_environment(scoped_environment const&) = delete;
  scoped_environment& operator=(scoped_environment const&) = delete;
  ~scoped_environment() {
    if (before_) ::setenv(name_, before_->c_str(), 1);
    else ::unsetenv(name_);
  }

 private:
  char const* name_;
  std::optional<std::string> before_;
};

/// Creates a mesh of all ranks. Collective over the world.
inline ashlar::mesh mesh_on(transport on, ashlar::topology const& t,
                            ashlar::machine const& m = ashlar::machines::workstation) {
  scoped_environment const setting("ASHLAR_SHARED_MEMORY",
                                   on == transport::messages ? "off" : "32MiB");
  return {MPI_COMM_WORLD, t, m};
}

}  // namespace ashlar_test
