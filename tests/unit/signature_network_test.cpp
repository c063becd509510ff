// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks the signature tables of neural-network operators against all possible rows
// (support/role_prover.hpp). A table may omit valid rows only if this test lists these rows.

#include <doctest/doctest.h>
#include <support/check_table.hpp>
#include <support/naive_cross_entropy.hpp>

#include <ashlar/signature/network.hpp>

using namespace ashlar_test;

TEST_CASE("layer norm has the rows that hold, except those of parameters that are maxima") {
  // The table omits rows whose bias is P(max) or P(min), because parameters never have these
  // placements.
  for (int rank : {1, 2, 3})
    check_table(ashlar::layer_norm_signatures(rank), {layer_norm(rank, 0)},
                {"B,B,P(max) -> P(max)", "B,B,P(min) -> P(min)"});
}

TEST_CASE("the embedding table has all valid rows except those with P(max) or P(min) parameters") {
  // The signature tables omit rows whose embedding table is P(max) or P(min), because parameters
  // never have these placements.
  for (int rank : {1, 2})
    check_table(ashlar::embedding_signatures(rank), {embedding(rank)},
                {"B,P(max) -> P(max)", "B,P(min) -> P(min)"});
}

TEST_CASE("attention may be split by sequences and by heads, and no other row holds") {
  check_table(ashlar::attention_signatures(), {attention(0)});
  check_table(ashlar::attention_signatures(), {attention(0, false)});
}

TEST_CASE("cross-entropy may be split by rows, and no other row holds") {
  for (int rank : {2, 3})
    check_table(ashlar::cross_entropy_signatures(rank), {cross_entropy(rank)});
}

TEST_CASE("the statistics of a class-split cross-entropy have the rows that are valid for both") {
  for (int rank : {2, 3})
    check_table(ashlar::shifted_sum_signatures(rank),
                {shifted_exponentials(rank), target_logits(rank)});
}

TEST_CASE("a class-split cross-entropy is the loss once its statistics are reduced") {
  // The classes are split. The maximum of each row of logits then has placement P(max), and the sum
  // of exponentials has P. The loss of a row is log(sum) + maximum - target logit.
  std::mt19937 random(3);
  for (int trial = 0; trial < trials; ++trial) {
    extent_source extents{random, trial, 3};
    pieces x{logits_and_targets(2)(extents), {{0, 0}, {0}}};
    int const rows = x[0].extent(0);
    auto const whole = cross_entropy(2).run(x);
    naive_mesh const mesh{3};
    auto const logits = place(x[0], {ashlar::split(1)}, mesh, random);
    dense maximum({rows}, identity_of(reduction::max)), sums({rows}), targets({rows});
    auto add = [&](dense& to, dense const& from, reduction op) {
      for (std::size_t i = 0; i < to.values.size(); ++i)
        to.values[i] = combine(op, to.values[i], from.values[i]);
    };
    for (auto const& local : logits)
      add(maximum, reduced_over(local, 1, reduction::max), reduction::max);
    int begin = 0;
    for (auto const& local : logits) {
      add(sums, *shifted_exponentials(2).run({{local, maximum}, {{0, begin}, {0}}}),
          reduction::sum);
      add(targets, *target_logits(2).run({{local, x[1]}, {{0, begin}, {0}}}), reduction::sum);
      begin += local.extent(1);
    }
    double loss = 0;
    for (std::size_t i = 0; i < sums.values.size(); ++i)
      loss += std::log(sums.values[i]) + maximum.values[i] - targets.values[i];
    CHECK(close(loss, whole->values[0], 1e-12));
  }
}
