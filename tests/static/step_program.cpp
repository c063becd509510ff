// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks that a step program can be built, transformed, checked and priced in the compiler.

#include <ashlar/machine/presets.hpp>
#include <ashlar/search/cost.hpp>
#include <ashlar/step/build.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/step/check_order.hpp>
#include <ashlar/step/overlapped.hpp>
#include <ashlar/step/traffic.hpp>

#include "../unit/search_specs.hpp"

namespace {

namespace search = ashlar::search;
using ashlar_test::linear_spec;

constexpr ashlar::topology pair{{"gpu", 2}};
constexpr ashlar::machine m = ashlar::machines::gpu_cluster;

/// A net of two linear layers, and its data-parallel plan: inputs are split by rows, and parameters
/// are replicated.
struct data_parallel {
  search::basic_problem<2> net;
  search::basic_plan<2> plan;
  constexpr data_parallel() {
    net.add(linear_spec({64, 32}, 32));
    net.add(linear_spec({64, 32}, 32));
    net.micro_batches = 2;
    plan.mesh = pair;
    ashlar::placement const rows{ashlar::split(0)}, whole{ashlar::broadcast()},
        sum{ashlar::partial()};
    for (int i = 0; i < 2; ++i)
      plan.choices.push_back(
          {rows, rows, rows, rows, {{whole, sum, whole}, {whole, sum, whole}}, {}});
  }
};
constexpr data_parallel c;

constexpr bool is_right() {
  auto const serial = build(c.net, c.plan, m);
  auto const best = overlapped(serial, m);
  search::program const both[] = {best.made, best.made};
  return !check(serial).found() && !check(best.made).found() && !check_order(both).found() &&
         best.pays() && best.seconds < best.serial &&
         high_water(serial).peak == memory_per_rank(c.net, c.plan) &&
         received_at_most(serial) == received_at_most(best.made) &&
         element_table(serial).size() == 2;
}
static_assert(is_right());

/// Checks the program of a step with three micro-batches, in which two micro-batches take turns.
constexpr bool is_right_in_turns() {
  auto net = c.net;
  net.micro_batches = 3;
  net.interleaved = 2;
  auto const turns = build(net, c.plan, m);
  auto const best = overlapped(turns, m);
  return !check(turns).found() && !check(best.made).found() && turns.interleaved == 2 &&
         high_water(turns).peak <= memory_per_rank(net, c.plan);
}
static_assert(is_right_in_turns());

}  // namespace
