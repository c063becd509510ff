// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The machines of the simulated clusters, by name. A cluster and the plans that run on it are made
// from the same numbers: α and β here are latencies and bandwidths in tests/smpi/platform.cpp.

#include <string>
#include <string_view>

#include <ashlar/machine/machine.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar_test {

inline ashlar::machine machine_named(std::string_view name) {
  if (name == "workstation") return ashlar::machines::workstation;
  if (name == "gpu_cluster") return ashlar::machines::gpu_cluster;
  // As a two-tier machine in which messages cost next to nothing: plans with the most steps.
  if (name == "bandwidth") return {{1e-9, 1e-8}, {2e-9, 4e-8}, 1e11, 1e10, 0};
  throw ashlar::error("machine_named", std::string(name) + " is not known here.");
}

}  // namespace ashlar_test
