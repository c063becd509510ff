// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks that the compiler chooses strategies of gradient synchronization for a net of twelve
// layers, with and without a memory limit, and that it assigns parameters to owners. All this must
// be possible within the compiler's default limits.

#include <ashlar/sync/optimal.hpp>

#include "../unit/search_specs.hpp"

namespace {

namespace search = ashlar::search;
namespace sync = ashlar::sync;

constexpr ashlar::topology mesh{{"gpu", 4}};
constexpr auto machine = ashlar::machines::workstation;

/// Returns a chain of twelve linear layers.
constexpr auto chain() {
  search::basic_problem<12> net;
  for (int i = 0; i < 12; ++i) net.add(ashlar_test::linear_spec({64, 32}, 32));
  return net;
}
constexpr auto net = chain();

/// Returns the plan in which every rank has a part of the batch.
constexpr auto data_parallel() {
  search::planned_moves prices(mesh, machine);
  auto const& spec = net.spec(0);
  ashlar::placement const batch{ashlar::split(0)}, whole{ashlar::broadcast()};
  return search::make_plan(net, prices, 0, [&](int) {
    search::layer_choice c{batch, batch, batch, batch, {}, {}};
    for (int k = 0; k < spec.parameters.size(); ++k)
      c.parameters.push_back({whole, {ashlar::partial()}, whole});
    return c;
  });
}
constexpr auto plain = data_parallel();
static_assert(plain.seconds > 0);

constexpr auto best = sync::optimal(net, plain, machine);
static_assert(best.gap == 0 && best.chosen.seconds <= plain.seconds);
// Of equally fast choices, the one with less memory is chosen.
static_assert(best.chosen.memory < plain.memory);

constexpr ashlar::machine limited() {
  auto m = machine;
  m.memory = best.chosen.memory * 9 / 10;
  return m;
}
constexpr auto within = sync::optimal(net, plain, limited(), {.effort = 1000});
static_assert(within.chosen.memory <= limited().memory);
static_assert(within.bound >= best.chosen.seconds * (1 - 1e-9));

static_assert(sync::deal({3, 3, 2, 2, 2}, 2).most == 6);

}  // namespace
