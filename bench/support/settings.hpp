// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Under which settings a run was made, for the first columns of every line of its table:
//
//   memory      ASHLAR_SHARED_MEMORY: `off` for messages only, `default` where it is not set
//   transport   Open MPI's copy between processes: `default` or what the variable below says

#include <cstdlib>
#include <string>

namespace ashlar_bench {

inline std::string environment_or(char const* name, char const* otherwise) {
  char const* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

inline std::string memory_setting() { return environment_or("ASHLAR_SHARED_MEMORY", "default"); }

inline std::string transport_setting() {
  return environment_or("OMPI_MCA_btl_vader_single_copy_mechanism", "default");
}

}  // namespace ashlar_bench
