// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks that the search runs in the compiler within its default limits: one evaluation finds the
// training plan for a chain of twelve layers on a mesh of two axes.
// tests/unit/search_constexpr_test.cpp compares such plans with those found at run time.

#include <ashlar/search/exhaustive.hpp>
#include <ashlar/search/optimal.hpp>

#include "../unit/search_specs.hpp"

namespace {

namespace search = ashlar::search;
using ashlar_test::gelu_spec, ashlar_test::linear_spec, ashlar_test::mlp;

constexpr ashlar::topology cluster{{"node", 2}, {"gpu", 4}};
constexpr auto net = mlp<12>(12, 512, 1024);
constexpr auto best = search::optimal(net, cluster, ashlar::machines::gpu_cluster);

static_assert(best.size() == 12);
static_assert(search::fingerprint(search::optimal_in_compiler(net, cluster,
                                                              ashlar::machines::gpu_cluster)) ==
              search::fingerprint(best));
static_assert(best.mesh == cluster && best.input == ashlar::shape{512, 1024});
static_assert(best.gap == 0 && best.problem_hash == search::hash(net));
static_assert(best.seconds > best.communication_seconds && best.communication_seconds > 0);
static_assert(best.memory == search::memory_per_rank(net, best));

// A filter is a predicate that permits or forbids the choices of a layer. With a filter, the
// optimum cannot be cheaper. The filter below permits only replicated parameters.
constexpr ashlar::topology pair{{"gpu", 2}};
constexpr auto small = mlp<3>(3, 64, 16);
constexpr auto free_plan = search::optimal(small, pair, ashlar::machines::workstation);
constexpr auto whole_plan = search::optimal(small, pair, ashlar::machines::workstation,
                                            [](int, search::layer_choice const& c) {
                                              for (auto const& p : c.parameters)
                                                if (!p.use[0].is_broadcast()) return false;
                                              return true;
                                            });
static_assert(free_plan.seconds <= whole_plan.seconds);
static_assert(whole_plan[0].parameters[0].use == ashlar::placement{ashlar::broadcast()});

// The compiler can also evaluate the exhaustive search, the total cost and memory limits.
constexpr auto all = search::exhaustive(small, pair, ashlar::machines::workstation);
static_assert(all.seconds == free_plan.seconds);
constexpr auto cost = search::total_cost(small, free_plan, ashlar::machines::workstation);
static_assert(cost.seconds() > 0 && cost.seconds() <= free_plan.seconds * (1 + 1e-9) &&
              cost.seconds() >= free_plan.seconds * (1 - 1e-9));

constexpr ashlar::machine limited() {
  auto m = ashlar::machines::workstation;
  m.memory = whole_plan.memory * 9 / 10;
  return m;
}
constexpr auto within = search::optimal(small, pair, limited());
static_assert(within.memory <= limited().memory && within.seconds >= free_plan.seconds);

}  // namespace
