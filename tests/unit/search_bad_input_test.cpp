// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests problems that cannot be searched, and the largest ones that can. Each problem that cannot
// be searched must give an ashlar::error that names the fault, and no count may overflow unnoticed.

#include <limits>

#include <doctest/doctest.h>
#include <support/decimal_comma.hpp>
#include <support/message_of.hpp>

#include <ashlar/mesh/text.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/breakdown.hpp>
#include <ashlar/search/exhaustive.hpp>
#include <ashlar/search/explain.hpp>
#include <ashlar/support/checked.hpp>
#include <ashlar/support/parse_bytes.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

using ashlar::checked_count, ashlar::parse_bytes, ashlar::parse_topology;

std::string refused(search::problem const& net, char const* mesh = "node=2,gpu=2") {
  return message_of([&] { optimal(net, parse_topology(mesh), ashlar::machines::gpu_cluster); });
}

TEST_CASE("an empty chain") {
  CHECK(refused({}) == "search: the chain has no layers. Describe a net with one or more.");
}

TEST_CASE("a chain that is too long to try all plans") {
  search::problem net;
  for (int i = 0; i < search::most_enumerated_elements; ++i) net.add(gelu_spec({2, 2}));
  auto const tried = [&] { return exhaustive(net, parse_topology("gpu=1"), {}); };
  CHECK(tried().size() == net.size());
  net.add(gelu_spec({2, 2}));
  std::string const said =
      "search::exhaustive: the chain has 1025 elements, but all plans are tried only for chains of "
      "at most 1024. Use search::optimal.";
  CHECK(message_of(tried) == said);
  CHECK(message_of([&] { exhaustive(net, parse_topology("gpu=1"), {}, search::options{}); }) ==
        said);
}

TEST_CASE("zero extents name the element and the tensor") {
  for (shape const& x : {shape{0, 4}, shape{4, 0}}) {
    search::problem net;
    net.add(gelu_spec({3, 4}));
    net.add(gelu_spec(x));
    CHECK(refused(net) == "search: element 1 (gelu): x " + to_string(x) +
                              " has an empty dim. Every extent is 1 or more.");
  }
  search::problem parameter;
  parameter.add(linear_spec({3, 4}, 5));
  parameter.layers[0].parameters[1].extents = {0};
  CHECK(has(refused(parameter), "element 0 (linear): bias 0 has an empty dim"));
  search::problem negative;
  negative.add(gelu_spec({3, 4}));
  negative.layers[0].y[0] = -3;
  CHECK(has(refused(negative), "element 0 (gelu): y -3x4 has an empty dim"));
}

TEST_CASE("impossible counts") {
  auto net = mlp(3, 4, 2);
  net.micro_batches = 0;
  CHECK(has(refused(net), "they are 0, 4, 4 and 2"));
  net.micro_batches = 1, net.element_size = 0;
  CHECK(has(refused(net), "they are 1, 0, 4 and 2"));
  net.element_size = 4, net.optimizer_states = -1;
  CHECK(has(refused(net), "they are 1, 4, 4 and -1"));
  net.element_size = 8, net.optimizer_states = 2;
  CHECK(has(refused(net), "they are 1, 8, 4 and 2"));
  for (int const in_flight : {0, -1}) {
    auto none = mlp(3, 4, 2);
    none.in_flight = in_flight;
    CHECK(refused(none) == "search: " + std::to_string(in_flight) +
                               " micro-batches are in flight; at least 1 is required.");
  }
}

TEST_CASE("bytes beyond 2^63, of one tensor, of all, and on all ranks together") {
  std::int64_t const large = std::int64_t{1} << 31;
  search::problem one;
  one.add(gelu_spec({large, large}));  // 2^62 elements of 4 bytes
  CHECK(has(refused(one),
            "element 0 (gelu): x 2147483648x2147483648 has too many bytes on all ranks"));
  search::problem ranks;
  ranks.add(gelu_spec({large, large / 16}));  // 2^60 bytes per rank, so 2^63 on 8 ranks
  CHECK(has(refused(ranks, "gpu=8"), "too many bytes on all ranks together"));
  search::problem all;
  all.add(gelu_spec({large, large / 32}));  // 5 tensors of 2^59 bytes: x, dx, y, dy, saved x
  for (int i = 0; i < 5; ++i) {
    auto spec = gelu_spec({large, large / 32});
    spec.name = i % 2 == 0 ? "relu" : "gelu";
    all.add(spec);
  }
  CHECK(has(refused(all, "gpu=1"), "the tensors up to element 3 (relu) have too many bytes"));
  auto saved = mlp(3, 4, 2);
  saved.layers[1].saved_values = 1e30;
  CHECK(has(refused(saved), "element 1 (gelu) keeps too many bytes for the backward pass"));
}

TEST_CASE("the largest accepted problems have finite figures") {
  search::problem net;
  std::int64_t const large = std::int64_t{1} << 28;
  net.add(linear_spec({large, large / 32}, 64));  // x has 2^53 bytes
  auto const t = parse_topology("node=4,gpu=8");
  for (auto const& plan : {optimal(net, t, {}), data_parallel(net, t, {})}) {
    CHECK(plan.memory > 0);
    CHECK(plan.seconds > 0);
    CHECK(plan.memory < std::numeric_limits<std::int64_t>::max() / 2);
    CHECK(breakdown(net, plan, {}).total.received >= 0);
  }
}

TEST_CASE("a machine whose prices could not be compared") {
  ashlar::machine no_rate;
  no_rate.flops = 0;
  auto const net = mlp(3, 4, 2);
  for (auto const* const mesh : {"gpu=2", "a=2,b=2,c=2"})
    for (bool const overlap : {false, true}) {
      auto searched = net;
      searched.overlap = overlap;
      CHECK(has(message_of([&] { optimal(searched, parse_topology(mesh), no_rate); }),
                "search: the machine's flops is 0, but must be a number from 1 to 1e+30."));
    }
}

TEST_CASE("residuals whose ends do not fit each other") {
  auto const net = block_net(1, {4, 6}, 8);
  for (int const partner : {-1, 1, 3, 100}) {
    auto bad = net;
    bad[1].partner = partner;
    CHECK(has(refused(bad), "element 1 (residual): a residual's begin and end must name"));
  }
}

TEST_CASE("skips whose branches cannot be concatenated, or whose joined dim is split") {
  search::problem net;
  add_skip(net, {4, 6}, [](search::problem& p) {
    p.add(linear_spec({4, 6}, 3));
    return shape{4, 3};
  });
  CHECK(refused(net) == "nothing was thrown");
  auto bad = net;
  bad.layers[2].y[1] = 10;
  CHECK(has(refused(bad), "element 2 (skip): a residual adds two tensors of equal extents, or "
                          "concatenates two along one dim."));
  bad = net;
  bad.layers[2].rows = ashlar::independent_training_rows(2);
  CHECK(has(refused(bad), "element 2 (skip): the dim in which a skip joins its two branches must "
                          "not be split."));
}

/// Returns a net whose elements are a branch: a begin (0), two layers (1 and 2), a turn (3), two
/// layers (4 and 5), and an end (6). The input and the output of both inner nets are 4 x 6.
search::problem branch_net(joined_by join) {
  search::problem net;
  auto const inside = [](search::problem& p) {
    p.add(linear_spec({4, 6}, 8));
    p.add(linear_spec({4, 8}, 6));
    return shape{4, 6};
  };
  add_branch(net, {4, 6}, join, inside, inside);
  return net;
}

TEST_CASE("branches whose begin, turn and end do not name each other") {
  std::string const names =
      ": the begin, the turn and the end of a branch must name each other, and each of its two "
      "nets has one element or more.";
  auto const net = branch_net(joined_by::sum);
  REQUIRE(net.size() == 7);
  CHECK(refused(net) == "nothing was thrown");
  for (int const element : {0, 3, 6})
    for (int const partner : {-1, 1, element, 7, 100}) {
      auto bad = net;
      bad[element].partner = partner;
      CAPTURE(element);
      CAPTURE(partner);
      CHECK(refused(bad) == "search: element 0 (branch)" + names);
    }
  auto bad = net;
  bad[0].partner = 0, bad[3].partner = 3;  // each names itself
  CHECK(refused(bad) == "search: element 0 (branch)" + names);

  // A branch whose first net is empty.
  search::problem empty;
  empty.add(net.spec(0), net[0].kind, 1);
  empty.add(net.spec(3), net[3].kind, 3);
  empty.add(gelu_spec({4, 6}));
  empty.add(net.spec(6), net[6].kind, 0);
  CHECK(refused(empty) == "search: element 0 (branch)" + names);

  // The end of the second of two branches names the begin of the first one.
  auto two = net;
  for (int i = 0; i < 7; ++i)
    two.add(net.spec(i), net[i].kind, net[i].partner < 0 ? -1 : net[i].partner + 7);
  CHECK(refused(two) == "nothing was thrown");
  two[13].partner = 0;
  CHECK(refused(two) == "search: element 7 (branch): the begin, the turn and the end of a branch "
                        "must name each other.");
}

TEST_CASE("segments that begin inside a branch, and branches whose two nets do not fit") {
  auto const with = [](search::problem net, int element, auto change) {
    auto spec = net.spec(element);
    change(spec);
    net.replace(element, spec);
    return refused(net);
  };
  auto segmented = branch_net(joined_by::sum);
  segmented[4].segment = segmented[5].segment = 0;
  segmented.segments = 1;
  CHECK(refused(segmented) ==
        "search: element 3 (branch): no segment begins or ends inside a branch.");

  std::string const joins =
      "search: element 3 (branch): a branch joins two tensors of equal extents, or concatenates "
      "two along one dim.";
  auto const sum = branch_net(joined_by::sum), both = branch_net(joined_by::concatenation);
  CHECK(refused(both) == "nothing was thrown");
  auto const longer = [](search::layer_spec& s) { s.x = {4, 9}; };
  CHECK(with(sum, 3, longer) == joins);
  CHECK(with(both, 3, longer) == joins);
  // The first of these changes gives the second net another input than the branch has. The other
  // two change the output of the branch.
  CHECK(with(sum, 3, [](search::layer_spec& s) { s.y = {4, 7}; }) == joins);
  CHECK(with(sum, 6, [](search::layer_spec& s) { s.y = {4, 12}; }) == joins);
  CHECK(with(both, 6, [](search::layer_spec& s) { s.y = {8, 12}; }) == joins);  // along two dims

  auto const formula = branch_net(joined_by::formula);
  CHECK(refused(formula) == "nothing was thrown");
  CHECK(with(formula, 3, longer) ==
        "search: element 3 (branch): the formula that ends a branch joins two tensors of equal "
        "extents.");
}

TEST_CASE("a mesh with a prime axis that no dim can split evenly is searched and noted") {
  auto const net = mlp(3, 8, 4);
  auto const t = parse_topology("node=7,gpu=13");
  auto const plan = optimal(net, t, ashlar::machines::workstation);
  CHECK(plan.seconds > 0);
  auto const data = data_parallel(net, parse_topology("gpu=13"), ashlar::machines::workstation);
  CHECK(has(explain(net, data, ashlar::machines::workstation).text, "note: "));
}

TEST_CASE("a checked count that is too large stays too large") {
  std::int64_t const most = std::numeric_limits<std::int64_t>::max();
  static_assert((checked_count(3) * 4 + 5).value() == 17);
  static_assert(!(checked_count(std::int64_t{1} << 62) * 2).fits());
  CHECK((checked_count(most) + 0).fits());
  CHECK(!(checked_count(most) + 1).fits());
  CHECK((checked_count(most) * 1).fits());
  CHECK((checked_count(most) * 0).fits());
  CHECK(!((checked_count(most) * 2) * 0).fits());
  CHECK(!checked_count(-1).fits());
  CHECK((checked_count(most / 7) * 7).value() == most / 7 * 7);
}

TEST_CASE("sizes of memory") {
  CHECK(*parse_bytes("140GB") == 140'000'000'000);
  CHECK(*parse_bytes("140GiB") == 140 * (std::int64_t{1} << 30));
  CHECK(*parse_bytes("1.5 MiB") == 1'572'864);
  CHECK(*parse_bytes("4096") == 4096);
  CHECK(*parse_bytes("7 B") == 7);
  CHECK(*parse_bytes("2TB") == 2'000'000'000'000);
  CHECK(*parse_bytes("0") == 0);
  CHECK(*parse_bytes(".5KiB") == 512);
  for (auto const* bad :
       {"",  "GB",   "-1",   "+1",    "4XB",   "4GBs", "nan",   "inf", "1e30", "9999999TiB",
        ".", "infB", "0x10", "0x1p4", "4 G B", "0x",   "0x1GB", "1e3", "1,5",  "4GB "})
    CHECK_MESSAGE(!parse_bytes(bad).has_value(), bad);
}

TEST_CASE("sizes of memory have a point, also in locales that write a comma") {
  decimal_comma const locale;
  CHECK(*parse_bytes("1.5MiB") == 1'572'864);
  CHECK_FALSE(parse_bytes("1,5MiB").has_value());
}

}  // namespace
}  // namespace ashlar_test
