// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the predicted cost of collectives. The numbers of messages and elements must equal those of
// algorithms that the test simulates message by message. Also tests α (the latency) and β (the
// seconds per byte) of a group of ranks on a mesh of nodes.

#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/machine/fingerprint.hpp>
#include <ashlar/machine/gemm.hpp>
#include <ashlar/machine/link.hpp>
#include <ashlar/machine/machine_fault.hpp>
#include <ashlar/machine/slowest.hpp>

using ashlar::collective;
using ashlar::traffic;

namespace {

std::int64_t part(std::int64_t n, int p, int i) { return n / p + (i < n % p ? 1 : 0); }

/// Simulates a ring over p ranks, for an array of n elements in p blocks. In step k of the first
/// pass, each rank receives block (rank + first_block - 1 - k) from its left neighbor. `passes` is
/// 1 for a reduce-scatter or an all-gather, and 2 for an all-reduce. Returns the traffic that each
/// rank receives.
std::vector<traffic> ring(std::int64_t n, int p, int first_block, int passes) {
  std::vector<traffic> load(static_cast<std::size_t>(p));
  for (int rank = 0; rank < p; ++rank)
    for (int pass = 0; pass < passes; ++pass)
      for (int k = 0; k < p - 1; ++k) {
        int const block = ((rank + first_block + pass - 1 - k) % p + 2 * p) % p;
        ++load[static_cast<std::size_t>(rank)].messages;
        load[static_cast<std::size_t>(rank)].elements += part(n, p, block);
      }
  return load;
}

ashlar::machine const m{{1, 10}, {100, 1000}, 1, 1, 0};

}  // namespace

TEST_CASE("a group of one rank exchanges nothing") {
  for (int k = 0; k <= static_cast<int>(collective::zero_pad); ++k)
    CHECK(ashlar::collective_traffic(static_cast<collective>(k), 1, 7, 7, 7, 0) == traffic{});
}

TEST_CASE("a ring gather receives what the formula says, for any extent") {
  for (int p = 2; p <= 5; ++p)
    for (std::int64_t n = 0; n <= 11; ++n) {
      auto const load = ring(n, p, 0, 1);
      for (int i = 0; i < p; ++i)
        CHECK(ashlar::collective_traffic(collective::all_gather, p, part(n, p, i), n, part(n, p, i),
                                         i) == load[static_cast<std::size_t>(i)]);
    }
}

TEST_CASE("a reduce-scatter receives every other rank's addends of its block") {
  for (int p = 2; p <= 5; ++p)
    for (std::int64_t n = 0; n <= 11; ++n)
      for (int i = 0; i < p; ++i)
        CHECK(ashlar::collective_traffic(collective::reduce_scatter, p, n, part(n, p, i), 0, i) ==
              traffic{p - 1, (p - 1) * part(n, p, i)});
}

TEST_CASE("in an all-to-all and a permute a rank receives what it does not have yet") {
  for (int p = 2; p <= 5; ++p)
    for (std::int64_t const to : {0, 1, 7, 32})
      for (std::int64_t kept = 0; kept <= to; kept += 1 + to / 3) {
        CHECK(ashlar::collective_traffic(collective::all_to_all, p, 9, to, kept, 1) ==
              traffic{p - 1, to - kept});
        CHECK(ashlar::collective_traffic(collective::permute, p, 9, to, kept, 1) ==
              traffic{1, to - kept});
      }
}

TEST_CASE("an all-reduce is a reduce-scatter and a gather of balanced blocks") {
  for (int p = 2; p <= 5; ++p)
    for (std::int64_t const n : {0, 1, 2, 3, 4, 5, 7, 11, 32768, 32769})
      for (int i = 0; i < p; ++i) {
        auto const block = part(n, p, i);
        auto const scatter = ashlar::collective_traffic(collective::reduce_scatter, p, n, block, 0,
                                                        i);
        auto const gather = ashlar::collective_traffic(collective::all_gather, p, block, n, block,
                                                       i);
        CHECK(ashlar::collective_traffic(collective::all_reduce, p, n, n, n, i) ==
              traffic{p == 2 && n <= 32768 ? 1 : scatter.messages + gather.messages,
                      scatter.elements + gather.elements});
      }
}

TEST_CASE("the ranks of an all-reduce receive 2 (p - 1) n elements together, as the ring does") {
  for (int p = 2; p <= 5; ++p)
    for (std::int64_t n = 0; n <= 11; ++n) {
      std::int64_t formula = 0, rings = 0;
      for (int i = 0; i < p; ++i) {
        auto const load = ashlar::collective_traffic(collective::all_reduce, p, n, n, n, i);
        formula += load.elements;
        CHECK(load.messages == (p == 2 ? 1 : 2 * (p - 1)));
      }
      for (auto const& load : ring(n, p, 0, 2)) rings += load.elements;
      CHECK(formula == 2 * (p - 1) * n);
      CHECK(formula == rings);
    }
}

TEST_CASE("slices and pads are free") {
  CHECK(ashlar::collective_traffic(collective::slice, 4, 8, 2, 2, 0) == traffic{});
  CHECK(ashlar::collective_traffic(collective::zero_pad, 4, 2, 8, 2, 0) == traffic{});
  CHECK_FALSE(ashlar::communicates(collective::slice));
  CHECK_FALSE(ashlar::communicates(collective::zero_pad));
  CHECK(ashlar::communicates(collective::permute));
}

TEST_CASE("a group inside a node sees the node's link") {
  ashlar::topology const t{{"node", 4}, {"gpu", 8}};
  CHECK(ashlar::group_link(m, t, {1}, collective::all_reduce) == m.intra);
  CHECK(ashlar::group_link(m, t, {1}, collective::all_to_all) == m.intra);
}

TEST_CASE("an axis between nodes that has one rank does not leave the node") {
  ashlar::topology const t{{"node", 1}, {"gpu", 8}};
  CHECK(ashlar::group_link(m, t, {0, 1}, collective::all_reduce) == m.intra);
  CHECK(ashlar::group_link(m, t, {0}, collective::all_reduce) == m.intra);
}

TEST_CASE("groups across nodes share the nodes' links") {
  ashlar::topology const t{{"node", 4}, {"gpu", 8}};
  // Each group has one rank per node. The eight ranks of a node belong to eight different groups,
  // which share the node's link.
  CHECK(ashlar::group_link(m, t, {0}, collective::all_reduce) == ashlar::link{100, 8 * 1000});
  // Every rank exchanges 24 of its 31 parts with other nodes.
  for (auto const kind : {collective::all_gather, collective::reduce_scatter,
                          collective::all_reduce, collective::all_to_all}) {
    auto const l = ashlar::group_link(m, t, {0, 1}, kind);
    CHECK(l.beta == doctest::Approx(1000.0 * 8 * 24 / 31));
    CHECK(l.alpha * 31 == doctest::Approx(7 * 1 + 24 * 100.0));
  }
  CHECK(ashlar::group_link(m, t, {0}, collective::all_to_all) == ashlar::link{100, 8 * 1000});
}

TEST_CASE("an exchange of roles has one partner a rank") {
  // Rank (node i, gpu j) exchanges with rank (node j, gpu i). In each node, one rank is its own
  // partner, and the other three share the link.
  ashlar::topology const mixed{{"node", 4}, {"gpu", 4}};
  CHECK(ashlar::group_link(m, mixed, {0, 1}, collective::permute) == ashlar::link{100, 3 * 1000});
  ashlar::topology const fat{{"node", 2}, {"gpu", 2}, {"core", 2}};
  CHECK(ashlar::group_link(m, fat, {0, 1}, collective::permute) == ashlar::link{100, 2 * 1000});
  CHECK(ashlar::group_link(m, fat, {1, 2}, collective::permute) == m.intra);
  // Rank (rack i, node j) exchanges with rank (rack j, node i). Either all three ranks of a node
  // are their own partners, or all three send their data out of the node.
  ashlar::topology const racks{{"rack", 2}, {"node", 2}, {"gpu", 3}};
  CHECK(ashlar::group_link(m, racks, {0, 1}, collective::permute) == ashlar::link{100, 3 * 1000});
  // If the two axes have different extents, the exchange is an all-to-all.
  ashlar::topology const uneven{{"node", 3}, {"gpu", 2}};
  CHECK(ashlar::group_link(m, uneven, {0, 1}, collective::permute) ==
        ashlar::group_link(m, uneven, {0, 1}, collective::all_to_all));
}

TEST_CASE("a slow link inside the node bounds the exchange that passes through it") {
  ashlar::machine const slow{{1, 7000}, {100, 1000}, 1, 1, 0};
  ashlar::topology const t{{"node", 4}, {"gpu", 8}};
  CHECK(ashlar::group_link(slow, t, {0, 1}, collective::all_gather).beta == 7000);
  CHECK(ashlar::group_link(slow, t, {0}, collective::all_gather).beta == 8000);
  // A group that has one rank in each node does not use the link inside a node.
  ashlar::machine const slower{{1, 9000}, {100, 1000}, 1, 1, 0};
  CHECK(ashlar::group_link(slower, t, {0, 1}, collective::all_gather).beta == 9000);
  CHECK(ashlar::group_link(slower, t, {0}, collective::all_gather).beta == 8000);
}

TEST_CASE("a limit of flows bounds what each rank sends out of its node") {
  ashlar::machine flows = m;
  ashlar::topology const t{{"node", 4}, {"gpu", 8}};
  ashlar::topology const alone{{"node", 4, ashlar::link_tier::inter_node}};
  flows.flow = 7000;  // eight flows are faster than the link of a node
  CHECK(ashlar::group_link(flows, t, {0}, collective::all_reduce) == ashlar::link{100, 8000});
  CHECK(ashlar::group_link(flows, alone, {0}, collective::all_reduce) == ashlar::link{100, 7000});
  flows.flow = 20000;
  CHECK(ashlar::group_link(flows, t, {0}, collective::all_reduce) == ashlar::link{100, 20000});
  CHECK(ashlar::group_link(flows, t, {0, 1}, collective::all_gather).beta ==
        doctest::Approx(20000.0 * 24 / 31));
  CHECK(ashlar::group_link(flows, t, {1}, collective::all_reduce) == m.intra);
  ashlar::topology const mixed{{"node", 4}, {"gpu", 4}};
  CHECK(ashlar::group_link(flows, mixed, {0, 1}, collective::permute) == ashlar::link{100, 20000});
  CHECK(ashlar::fingerprint(flows) != ashlar::fingerprint(m));
}

TEST_CASE("nodes of two kinds count as the slower one in every number") {
  ashlar::machine a{{1, 20}, {100, 1000}, 5, 7, 300, 64}, b{{2, 10}, {50, 3000}, 6, 4, 0, 32};
  a.flow = 9;
  b.intra_of.set(collective::all_reduce, {3, 5});
  ashlar::machine wanted{{2, 20}, {100, 3000}, 5, 4, 300, 64};
  wanted.intra_of.set(collective::all_reduce, {3, 20});
  wanted.flow = 9;
  CHECK(ashlar::slowest(a, b) == wanted);
  CHECK(ashlar::slowest(b, a) == wanted);
  CHECK(ashlar::slowest(a, a) == a);
}

TEST_CASE("seconds are alpha times messages and beta times bytes, and nothing for no message") {
  ashlar::topology const t{{"gpu", 4}};
  CHECK(ashlar::seconds(m, t, {0}, collective::all_gather, {3, 30}, 8) == 3 * 1 + 10 * 30 * 8);
  CHECK(ashlar::seconds(m, t, {0}, collective::all_gather, {3, 0}, 8) == 3);
  CHECK(ashlar::seconds(m, t, {0}, collective::slice, {0, 0}, 8) == 0);
}

TEST_CASE("a collective with links of its own uses them, the others use those of their tier") {
  ashlar::machine own = m;
  own.intra_of.set(collective::all_to_all, {2, 20});
  own.inter_of.set(collective::all_to_all, {200, 2000});
  own.inter_of.set(collective::permute, {300, 3000});
  ashlar::topology const t{{"node", 4}, {"gpu", 4}};
  CHECK(ashlar::group_link(own, t, {1}, collective::all_to_all) == ashlar::link{2, 20});
  CHECK(ashlar::group_link(own, t, {0}, collective::all_to_all) == ashlar::link{200, 4 * 2000});
  CHECK(ashlar::group_link(own, t, {1}, collective::all_gather) == m.intra);
  CHECK(ashlar::group_link(own, t, {0}, collective::all_reduce) ==
        ashlar::group_link(m, t, {0}, collective::all_reduce));
  CHECK(ashlar::least_beta(m) == 10);
  CHECK(ashlar::least_beta(own) == 10);
  own.inter_of.set(collective::all_reduce, {1, 5});
  CHECK(ashlar::least_beta(own) == 5);
  own.inter_of = m.inter_of;
  own.inter_of.set(collective::all_to_all, {200, 2000});
  own.inter_of.set(collective::permute, {300, 3000});
  // In a permute, each rank has one partner. In each node, only one of the four ranks has its
  // partner in the same node.
  CHECK(ashlar::group_link(own, t, {0, 1}, collective::permute) == ashlar::link{300, 3 * 3000});
  // An all-to-all uses both tiers: 3 of a rank's 15 messages stay in the node.
  CHECK(ashlar::group_link(own, t, {0, 1}, collective::all_to_all).alpha * 15 ==
        doctest::Approx(3 * 2 + 12 * 200.0));
  // If the two axes have different extents, ranks have no single partner: the exchange is an
  // all-to-all.
  ashlar::topology const uneven{{"node", 3}, {"gpu", 2}};
  CHECK(ashlar::group_link(own, uneven, {0, 1}, collective::permute) ==
        ashlar::group_link(own, uneven, {0, 1}, collective::all_to_all));
}

TEST_CASE(
    "a GEMM runs at the peak if gemm_half is 0; otherwise each dim counts as gemm_half longer") {
  ashlar::machine on;
  on.flops = 1e9;
  CHECK(ashlar::gemm_seconds(on, 2e9, 1, 1, 1'000'000'000) == 2);
  on.gemm_half = 100;
  CHECK(ashlar::gemm_stretch(on, 100, 1'000'000'000, 1'000'000'000) == doctest::Approx(2));
  for (std::int64_t const rows : {1, 7, 64, 1000})
    for (std::int64_t const columns : {1, 13, 500})
      CHECK(ashlar::gemm_seconds(on, 2.0 * double(rows * columns) * 30, rows, columns, 30) ==
            doctest::Approx(2.0 * double((rows + 100) * (columns + 100)) * 130 / 1e9));
  // A product without operations takes no time.
  CHECK(ashlar::gemm_seconds(on, 0, 0, 5, 5) == 0);
  // A thin product is slower than a cube with the same number of operations.
  CHECK(ashlar::gemm_stretch(on, 10, 1000, 100) > ashlar::gemm_stretch(on, 100, 100, 100));
}

TEST_CASE("a figure of a machine that is outside of its limits is named") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinite = std::numeric_limits<double>::infinity();
  static_assert(!fault_of(ashlar::machine{}) && !fault_of(ashlar::machines::gpu_cluster));
  auto const named = [](auto change) {
    ashlar::machine it;
    change(it);
    auto const wrong = fault_of(it);
    return wrong ? name_of(wrong) : "";
  };
  using ashlar::machine;
  CHECK(named([](machine& it) { it.flops = 1; }) == "");
  CHECK(named([](machine& it) { it.flops = 0; }) == "flops");
  CHECK(named([](machine& it) { it.flops = nan; }) == "flops");
  CHECK(named([](machine& it) { it.memory_bandwidth = infinite; }) == "memory_bandwidth");
  CHECK(named([](machine& it) { it.intra.alpha = -1e-9; }) == "intra, alpha");
  CHECK(named([](machine& it) { it.inter.beta = nan; }) == "inter, beta");
  CHECK(named([](machine& it) {
          it.inter_of.set(collective::permute, {infinite, 0});
        }) == "inter, permute, alpha");
  CHECK(named([](machine& it) { it.intra_of.of[0].beta = nan; }) == "");  // this link is not given
  CHECK(named([](machine& it) { it.gemm_half = -1; }) == "gemm_half");
  CHECK(named([](machine& it) { it.flow = -1; }) == "flow");
  CHECK(named([](machine& it) { it.memory = -1; }) == "memory");
  ashlar::machine slow;
  slow.flops = 0.5;
  CHECK(text_of(fault_of(slow)) == "is 0.5, but must be a number from 1 to 1e+30.");
  CHECK_THROWS_WITH(check_machine(slow, "search"),
                    "search: the machine's flops is 0.5, but must be a number from 1 to 1e+30.");
}
