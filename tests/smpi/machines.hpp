// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The machines of the simulated clusters, by name. A cluster and the plans that run on it are made
// from the same numbers: bandwidths in tests/smpi/platform.cpp, times of messages in
// tests/smpi/message_costs.hpp.

#include <string>
#include <string_view>

#include <ashlar/machine/machine.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar_test {

/// The prefix for machines whose α is the latency of their links. Concurrent messages wait for it
/// only once.
inline constexpr std::string_view latency_prefix = "latency:";
inline bool has_latencies(std::string_view name) { return name.starts_with(latency_prefix); }

inline ashlar::machine machine_named(std::string_view name) {
  if (has_latencies(name)) name.remove_prefix(latency_prefix.size());
  if (name == "workstation") return ashlar::machines::workstation;
  if (name == "gpu_cluster") return ashlar::machines::gpu_cluster;
  // Two tiers with nearly free messages, for which plans have the most steps.
  if (name == "bandwidth") return {{1e-9, 1e-8}, {2e-9, 4e-8}, 1e11, 1e10, 0};
  throw ashlar::error("machine_named", std::string(name) + " is not known here.");
}

}  // namespace ashlar_test
