// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Synchronization strategies by name, for programs with an option such as --sync:
//
//   all-reduce       all_reduce{}
//   zero1, zero2     zero<1>{}, which is the same as zero<2>{}
//   zero3            zero<3>{}
//   owners           owners{}
//   owners-at-use    owners{reads::at_use}
//   hybrid           hybrid{} along the last axis of the mesh
//   optimal          the strategies with which a step takes the fewest seconds (optimal.hpp)

#include <array>
#include <string>
#include <string_view>

#include <ashlar/sync/all_reduce.hpp>
#include <ashlar/sync/hybrid.hpp>
#include <ashlar/sync/optimal.hpp>
#include <ashlar/sync/owners.hpp>
#include <ashlar/sync/zero.hpp>

namespace ashlar::sync {

/// Returns the names of all strategies.
constexpr std::array<std::string_view, 8> names() {
  return {"all-reduce", "zero1", "zero2", "zero3", "owners", "owners-at-use", "hybrid", "optimal"};
}

/// Returns the plan `chosen` of `net` with the strategy of this name, priced on machine `m`. Throws
/// ashlar::error if there is no such strategy; other errors are those of changed_plan and
/// `optimal`.
template <int N>
search::basic_plan<N> named(std::string_view name, search::basic_problem<N> const& net,
                            search::basic_plan<N> const& chosen, machine const& m) {
  if (name == "all-reduce") return all_reduce{}(net, chosen, m);
  if (name == "zero1" || name == "zero2") return zero<1>{}(net, chosen, m);
  if (name == "zero3") return zero<3>{}(net, chosen, m);
  if (name == "owners") return owners{}(net, chosen, m);
  if (name == "owners-at-use") return owners{reads::at_use}(net, chosen, m);
  if (name == "hybrid")
    return hybrid{chosen.mesh.axis[chosen.mesh.axes() - 1].name.view()}(net, chosen, m);
  if (name == "optimal") return optimal(net, chosen, m).chosen;
  std::string all;
  for (auto const it : names()) all += (all.empty() ? "" : ", ") + std::string(it);
  throw error("sync::named",
              "there is no strategy \"" + std::string(name) + "\". Strategies are " + all + ".");
}

}  // namespace ashlar::sync
