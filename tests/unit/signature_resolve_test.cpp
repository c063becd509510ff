// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares `resolve`, which derives the placement of a result from its operands' placements, with
// brute force on meshes of several axes. For every combination of operand placements, the test
// tries every result placement on simulated ranks, with uneven extents. The placement that resolve
// returns must be correct. If resolve returns no placement, no placement may be correct.

#include <doctest/doctest.h>
#include <support/naive_kernels.hpp>

#include <ashlar/signature/network.hpp>

using namespace ashlar_test;
using ashlar::broadcast, ashlar::partial, ashlar::split;

namespace {

struct tally {
  int combinations = 0, local = 0;
};

tally check_resolve(ashlar::signature_table const& table, operation const& op, naive_mesh const& m,
                    int rank_x, int rank_y, int rank_z, std::vector<reduction> const& partials) {
  tally count;
  auto const results = all_placements(rank_z, m.axes(), partials);
  for (auto const& x : all_placements(rank_x, m.axes(), partials))
    for (auto const& y : all_placements(rank_y, m.axes(), partials)) {
      auto const truth = results_of(op, m, {x, y}, results);
      auto const claimed = ashlar::resolve(table, nullptr, x, y);
      ++count.combinations;
      count.local += claimed.has_value();
      INFO(ashlar::to_string(x), " and ", ashlar::to_string(y), " resolve to ",
           claimed ? ashlar::to_string(*claimed) : "nothing", ", and ", truth.size(), " hold");
      if (claimed) {
        CHECK(std::count(truth.begin(), truth.end(), *claimed) == 1);
        CHECK(ashlar::check(*claimed, rank_z, m.axes()) == nullptr);
        // P(max) and P(min) may be correct as well, because a replicated value is its own maximum
        // and minimum.
        for (auto const& t : truth)
          CHECK((t == *claimed || (t.has_partial() && t.op() != reduction::sum)));
      } else {
        CHECK(truth.empty());
      }
    }
  return count;
}

}  // namespace

TEST_CASE("resolve agrees with brute force for matmul, also transposed, on a 2x3 mesh") {
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      auto const count = check_resolve(ashlar::matmul_signatures(ta, tb),
                                       contraction(ta ? "km" : "mk", tb ? "nk" : "kn", "mn"),
                                       {2, 3}, 2, 2, 2, {reduction::sum});
      CHECK(count.combinations == 18 * 18);
      // On each axis, a product without communication matches one of six rows. If both axes split
      // the same dimension (m, n or k), a second order of shards is possible.
      CHECK(count.local == 6 * 6 + 3);
    }
}

TEST_CASE("resolve agrees with brute force for batched matmul and a linear layer") {
  check_resolve(ashlar::batched_matmul_signatures(), contraction("bmk", "bkn", "bmn"), {2, 3}, 3, 3,
                3, {reduction::sum});
  check_resolve(ashlar::contraction_signatures("bsd", "df", "bsf"), contraction("bsd", "df", "bsf"),
                {3, 2}, 3, 2, 3, {reduction::sum});
}

TEST_CASE("resolve agrees with brute force for sums and products, maxima included") {
  std::vector<reduction> const all{reduction::sum, reduction::max, reduction::min};
  check_resolve(ashlar::multiply_signatures("mn", "mn"), binary("mn", "mn", product), {2, 3}, 2, 2,
                2, {reduction::sum});
  check_resolve(ashlar::add_signatures("mn", "n"), binary("mn", "n", sum), {2, 3}, 2, 1, 2,
                {reduction::sum});
  check_resolve(ashlar::add_signatures("m", "m"), binary("m", "m", sum), {2, 3}, 1, 1, 1, all);
}

TEST_CASE("resolve agrees with brute force for embedding, whose dims change their places") {
  check_resolve(ashlar::embedding_signatures(1), embedding(1), {2, 3}, 1, 2, 2, {reduction::sum});
}

TEST_CASE("resolve agrees with brute force for matmul on three axes, all orders of shards") {
  // Operands of one dimension keep the enumeration short. It covers all orders in which three axes
  // can split one dimension, for a dimension that is summed over and for one of the result.
  check_resolve(ashlar::contraction_signatures("k", "k", ""), contraction("k", "k", ""), {2, 3, 2},
                1, 1, 0, {reduction::sum});
  check_resolve(ashlar::contraction_signatures("m", "n", "mn"), contraction("m", "n", "mn"),
                {2, 2, 2}, 1, 1, 2, {reduction::sum});
}

TEST_CASE("a contraction of operands with different shard orders is refused") {
  ashlar::placement const canonical_k{split(1, 0), split(1, 1)}, other_k{split(1, 1), split(1, 0)};
  ashlar::placement const rows{split(0, 0), split(0, 1)}, other_rows{split(0, 1), split(0, 0)};
  auto const table = ashlar::matmul_signatures();
  int axis = -1;
  CHECK(ashlar::resolve(table, &axis, canonical_k, rows) ==
        ashlar::placement{partial(), partial()});
  CHECK(axis == -1);
  CHECK_FALSE(ashlar::resolve(table, &axis, canonical_k, other_rows));
  CHECK(axis == 0);
  CHECK_FALSE(ashlar::resolve(table, nullptr, other_k, rows));
  CHECK(ashlar::resolve(table, nullptr, other_k, other_rows) ==
        ashlar::placement{partial(), partial()});
}

TEST_CASE("the order of shards is carried to the result, also to another dim") {
  ashlar::placement const columns{split(1, 1), broadcast(), split(1, 0)};
  ashlar::placement const whole{broadcast(), split(0), broadcast()};
  auto const y = ashlar::resolve(ashlar::matmul_signatures(true, false), nullptr, columns, whole);
  CHECK_FALSE(y);  // the middle axis splits k of only one operand
  auto const z = ashlar::resolve(ashlar::matmul_signatures(true, false), nullptr, columns,
                                 ashlar::placement::all_broadcast(3));
  REQUIRE(z);
  CHECK(*z == ashlar::placement{split(0, 1), broadcast(), split(0, 0)});
}

TEST_CASE("the failing axis is the first on which no row matches") {
  int axis = -1;
  ashlar::placement const x{split(0), broadcast(), partial()};
  ashlar::placement const w{broadcast(), split(1), partial()};
  CHECK_FALSE(ashlar::resolve(ashlar::matmul_signatures(), &axis, x, w));
  CHECK(axis == 2);
}
