// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests searches that share their tables of moves (move_tables.hpp). They must find the same prices
// of moves and the same plans as searches with separate tables.

#include <doctest/doctest.h>

#include <ashlar/machine/presets.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/search/optimal_plan.hpp>
#include <ashlar/search/tabulated_moves.hpp>

#include "search_nets.hpp"

namespace ashlar_test {

TEST_CASE("shared tables have the prices of own ones, for every weight of a collective") {
  auto const& m = ashlar::machines::h200_server;
  search::shared_moves shared;
  for (auto const* mesh : {"node=2,gpu=4", "node=2,node1=2,gpu=2", "node=2,gpu=4"}) {
    auto const t = ashlar::parse_topology(mesh);
    for (double const tie : {0., 1e-12, 1e-9}) {
      search::tabulated_moves own(t, m, tie);
      search::tabulated_moves both(t, m, tie, &shared);
      auto const copy = both;  // copies share the tables
      for (shape const& x : {shape{64, 32}, shape{16, 8, 4}}) {
        int const table = own.table(x, 4), same = both.table(x, 4);
        ashlar::placement_graph const graph(x.rank(), t);
        for (int from = 0; from < graph.states(); from += 3) {
          int const a = own.state(table, graph.state(from));
          CHECK(copy.state(same, graph.state(from)) == a);
          auto const* const weights = own.weight_from(table, a);
          auto const* const others = both.weight_from(same, a);
          for (int to = 0; to < graph.states(); ++to) {
            CHECK(weights[to] == others[to]);
            auto const p = own.move(x, 4, graph.state(from), graph.state(to)),
                       q = both.move(x, 4, graph.state(from), graph.state(to));
            CHECK(p.seconds == q.seconds);
            CHECK(p.weight == q.weight);
            CHECK(p.weight == weights[to]);
          }
        }
      }
    }
  }
}

TEST_CASE("tables serve machines that differ in memory, and no others") {
  auto m = ashlar::machines::h200_server;
  auto const t = ashlar::parse_topology("node=2,gpu=4");
  search::shared_moves shared;
  auto const* const first = &*shared.of(t, m);
  m.memory = 1000;
  CHECK(&*shared.of(t, m) == first);
  CHECK(&*shared.of(ashlar::parse_topology("node=4,gpu=2"), m) != first);
  CHECK(&*shared.of(t, ashlar::machines::piz_daint) != first);
  CHECK(&*shared.of(t, m) == first);
}

TEST_CASE("plans below a memory limit are the same with shared tables") {
  int fit = 0;
  search::shared_moves shared;
  for (unsigned seed = 1; seed <= 8; ++seed) {
    random_cases draw(seed);
    search::problem net;
    net.micro_batches = 1 + draw.below(3);
    shape const x{8 + 8 * draw.below(3), 16};
    for (int k = 0; k < 4; ++k) net.add(linear_spec(x, 16));
    net.add(cross_entropy_spec(x));
    auto const t = ashlar::parse_topology("node=2,gpu=4");
    auto m = ashlar::machines::h200_server;
    m.memory = search::optimal(net, t, m).memory * 9 / 10;
    search::search_effort const with{.moves = &shared};
    try {
      auto const alone = search::optimal(net, t, m);
      auto const both = search::optimal(net, t, m, search::any_choice{}, with);
      CHECK(both.choices == alone.choices);
      CHECK(both.seconds == alone.seconds);
      CHECK(both.gap == alone.gap);
      ++fit;
    } catch (ashlar::error const&) {
      CHECK_THROWS_AS(search::optimal(net, t, m, search::any_choice{}, with), ashlar::error);
    }
  }
  CHECK(fit > 4);
}

}  // namespace ashlar_test
