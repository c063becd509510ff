// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads the settings of a run from environment variables. They become columns of the run's table.
//
//   memory      the value of ASHLAR_SHARED_MEMORY: `off` means that ranks communicate by messages
//               only, `default` means that the variable is empty or not set
//   transport   how Open MPI copies data between processes: the value of
//               OMPI_MCA_btl_vader_single_copy_mechanism, or `default` if it is empty or not set

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
