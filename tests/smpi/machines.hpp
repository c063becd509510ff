// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The machines of the simulated clusters, by name. The planner and the simulated cluster use the
// same α and β. The bandwidths of the cluster are computed from β (platform.cpp), and the time of
// each message from α (message_costs.hpp).
//
//   NAME              a machine of machine/presets.hpp, or one of the next three
//   bandwidth         two tiers with nearly free messages, on which plans have as many steps as
//                     possible
//   half_bandwidth    the same with links that are half as fast
//   slow:p3_8xlarge   links that are 64 times slower, for tensors that are 64 times smaller
//   latency:NAME      with α as a latency of the links
//   pairs:NAME        with a separate link between every two ranks
//   NAME+NAME         nodes of two kinds in turn. Plans are made for the machine that has the
//                     slower one of the two values of each property (machine/slowest.hpp).
//   flow:NAME         with a limit for each flow between nodes: an eighth of the bandwidth of a
//                     node's link
//   NAME/16           with α divided by 16. If n bytes take t seconds on NAME, n / 16 bytes in as
//                     many messages take t / 16 seconds here.

#include <string>
#include <string_view>
#include <utility>

#include <ashlar/machine/presets.hpp>
#include <ashlar/machine/slowest.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar_test {

/// The prefix of the names of machines on which α is a latency of the links. Concurrent messages
/// wait for a link's latency at the same time. On other machines they wait for α one after the
/// other.
inline constexpr std::string_view latency_prefix = "latency:";
inline bool has_latencies(std::string_view name) { return name.starts_with(latency_prefix); }

/// The prefix of the names of machines on which every two ranks have a separate duplex link, of
/// bandwidth 1 / β intra. There, a rank sends to two other ranks at once as fast as to one of them.
inline constexpr std::string_view pairs_prefix = "pairs:";
inline bool has_links_of_pairs(std::string_view name) { return name.starts_with(pairs_prefix); }

/// The prefix of the names of machines on which a flow between nodes gets at most an eighth of a
/// node's link.
inline constexpr std::string_view flow_prefix = "flow:";

/// Returns the names of the two kinds of nodes in NAME+NAME. If the name has no plus sign, returns
/// it twice.
inline std::pair<std::string_view, std::string_view> kinds_of_nodes(std::string_view name) {
  auto const plus = name.find('+');
  if (plus == name.npos) return {name, name};
  return {name.substr(0, plus), name.substr(plus + 1)};
}

inline ashlar::machine machine_named(std::string_view name) {
  if (auto const [one, other] = kinds_of_nodes(name); one != name)
    return ashlar::slowest(machine_named(one), machine_named(other));
  if (name.starts_with(flow_prefix)) {
    auto m = machine_named(name.substr(flow_prefix.size()));
    m.flow = 8 * m.inter.beta;
    return m;
  }
  if (has_latencies(name)) name.remove_prefix(latency_prefix.size());
  if (has_links_of_pairs(name)) name.remove_prefix(pairs_prefix.size());
  if (name == "slow:p3_8xlarge") {
    auto m = ashlar::machines::p3_8xlarge;
    m.intra.beta *= 64;
    m.inter.beta *= 64;
    return m;
  }
  double part = 1;
  if (auto const slash = name.find('/'); slash != name.npos) {
    part = std::stod(std::string(name.substr(slash + 1)));
    name = name.substr(0, slash);
  }
  ashlar::machine m{{1e-9, 1e-8}, {2e-9, 4e-8}, 1e11, 1e10, 0};
  if (auto const* const found = ashlar::find_machine(name)) m = *found;
  else if (name == "half_bandwidth") m.intra.beta *= 2, m.inter.beta *= 2;
  else if (name != "bandwidth")
    throw ashlar::error("machine_named", std::string(name) + " is not known here.");
  m.intra.alpha /= part;
  m.inter.alpha /= part;
  return m;
}

}  // namespace ashlar_test
