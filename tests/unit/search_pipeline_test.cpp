// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Pipeline stages: blocks are found, one stage is the plain chain, a schedule replayed micro-batch by
// micro-batch takes the seconds of the formula, limits and bounds hold.

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/mesh/text.hpp>
#include <ashlar/search/pipeline.hpp>
#include <ashlar/search/pipeline_schedule.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

using ashlar::parse_topology;
using doctest::Approx;

ashlar::machine const cluster{{2e-6, 1e-11}, {5e-6, 2e-10}, 1e10, 1e12, 0};

/// A batch of 16 sequences in m micro-batches.
auto net_of(int blocks, int batch = 16) {
  return [=](int m) {
    auto net = block_net(blocks, {batch / m, 8}, 64);
    net.micro_batches = m;
    return net;
  };
}

/// Seconds until the last backward pass ends under 1F1B, where stage j runs min(m, s - j) forward
/// passes ahead, each pass starts when its input is there and its stage is free.
double replay(std::vector<double> const& forward, std::vector<double> const& backward, int m) {
  int const s = static_cast<int>(forward.size());
  auto const at = [&](int j, int k) { return static_cast<std::size_t>(j * m + k); };
  std::vector<double> done_forward(static_cast<std::size_t>(s * m), -1),
      done_backward(done_forward);
  std::vector<double> free(forward.size(), 0);
  std::vector<int> f(forward.size(), 0), b(forward.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (int j = 0; j < s; ++j) {
      auto const u = static_cast<std::size_t>(j);
      bool const ahead = f[u] < m && f[u] - b[u] < std::min(m, s - j);
      if (ahead && (j == 0 || done_forward[at(j - 1, f[u])] >= 0)) {
        double const ready = j == 0 ? 0 : done_forward[at(j - 1, f[u])];
        free[u] = std::max(free[u], ready) + forward[u];
        done_forward[at(j, f[u]++)] = free[u];
        moved = true;
      } else if (!ahead && b[u] < f[u] && (j + 1 == s || done_backward[at(j + 1, b[u])] >= 0)) {
        double const ready = j + 1 == s ? 0 : done_backward[at(j + 1, b[u])];
        free[u] = std::max(free[u], ready) + backward[u];
        done_backward[at(j, b[u]++)] = free[u];
        moved = true;
      }
    }
  }
  REQUIRE(std::all_of(b.begin(), b.end(), [m](int n) { return n == m; }));
  return *std::max_element(free.begin(), free.end());
}

TEST_CASE("the repeated blocks of a chain") {
  auto const net = block_net(4, {4, 8}, 16);
  CHECK(search::find_blocks(net) == search::repeated_blocks{1, 7, 4});
  CHECK(search::find_blocks(mlp(3, 8, 8)) == search::repeated_blocks{0, 3, 1});
  CHECK(search::find_blocks(mlp(9, 8, 8)).count == 2);  // widths repeat every four layers
  CHECK(search::find_blocks(search::problem{}).count == 1);
  CHECK(search::stage_limits(net, search::find_blocks(net), 2) == std::vector{0, 15, net.size()});
  auto const part = search::stage_of(net, 8, 15, 3);
  CHECK(part.size() == 7);
  CHECK(part[0].partner == 6);
  CHECK(part[6].partner == 0);
  CHECK(part.spec(1).saved_values == 3 * net.spec(9).saved_values);
}

TEST_CASE("one stage is the chain as it is") {
  auto const t = parse_topology("node=2,gpu=2");
  for (int const m : {1, 4}) {
    auto const net = net_of(2)(m);
    auto const plain = search::optimal(net, t, cluster);
    auto const piped = search::pipeline(net_of(2), t, cluster, {{1}, {m}});
    CHECK(piped.stages.size() == 1);
    CHECK(piped.axis == -1);
    CHECK(piped.seconds() == Approx(plain.seconds).epsilon(1e-9));
    CHECK(piped.chosen.communication_seconds == Approx(plain.communication_seconds).epsilon(1e-9));
    CHECK(piped.chosen.memory == plain.memory);
    CHECK(piped.bubble == 0);
    CHECK(piped.chosen.gap < 1e-9);
    CHECK(piped.chosen.problem_hash == hash(net));
  }
}

TEST_CASE("a step takes as long as its schedule replayed") {
  for (int const s : {1, 2, 3, 5})
    for (int const m : {1, 2, 4, 9}) {
      auto const n = static_cast<std::size_t>(s);
      // Equal stages: the formula to the letter.
      CHECK(replay(std::vector<double>(n, 1), std::vector<double>(n, 2), m) ==
            Approx(3.0 * (s + m - 1)));
      // Unequal ones: the slowest sets the pace, and the formula is not exceeded.
      std::vector<double> forward, backward;
      double sum = 0, most = 0;
      for (int j = 0; j < s; ++j) {
        forward.push_back(1 + (j * 7) % 3);
        backward.push_back(2 * forward.back());
        sum += 3 * forward.back();
        most = std::max(most, 3 * forward.back());
      }
      CHECK(replay(forward, backward, m) <= sum + (m - 1) * most + 1e-9);
      CHECK(replay(forward, backward, m) >= m * most);
    }
}

TEST_CASE("the schedule that is drawn is 1F1B as replayed") {
  for (int const s : {1, 2, 3, 5})
    for (int const m : {1, 2, 4, 9}) {
      std::vector<search::pipeline_stage> stages(static_cast<std::size_t>(s));
      std::vector<double> forward, backward;
      for (int j = 0; j < s; ++j) {
        forward.push_back(1 + (j * 7) % 3);
        backward.push_back(2 + (j * 5) % 4);
        auto& stage = stages[static_cast<std::size_t>(j)];
        stage.forward = forward.back();
        stage.seconds = forward.back() + backward.back();
      }
      auto const passes = search::one_f_one_b(stages, m);
      REQUIRE(passes.size() == static_cast<std::size_t>(2 * s * m));
      double last = 0;
      std::vector<int> seen(static_cast<std::size_t>(2 * s * m), 0);
      for (std::size_t k = 0; k < passes.size(); ++k) {
        auto const& p = passes[k];
        last = std::max(last, p.end);
        ++seen[static_cast<std::size_t>((p.stage * m + p.micro_batch) * 2 + p.backward)];
        // A stage does one pass at a time, in this order.
        bool const follows = k > 0 && passes[k - 1].stage == p.stage;
        if (follows) CHECK(p.begin >= passes[k - 1].end);
      }
      CHECK(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
      CHECK(last == Approx(replay(forward, backward, m)));
    }
}

TEST_CASE("stages, their seconds and their memory") {
  auto const t = parse_topology("node=4,gpu=2");
  auto const piped = search::pipeline(net_of(4), t, cluster, {{4}, {8}});
  REQUIRE(piped.stages.size() == 4);
  CHECK(piped.axis == 0);
  CHECK(piped.chosen.mesh == parse_topology("node=1,gpu=2"));
  double sum = 0, most = 0, synchronize = 0;
  std::int64_t memory = 0;
  for (auto const& s : piped.stages) {
    CHECK(s.sending > 0);
    CHECK(s.seconds >= s.work + s.sending);
    CHECK(s.forward > 0.2 * s.seconds);  // block_net's backward passes work twice as long
    CHECK(s.forward < 0.5 * s.seconds);
    sum += s.seconds;
    most = std::max(most, s.seconds);
    synchronize = std::max(synchronize, s.synchronize);
    memory = std::max(memory, s.memory);
  }
  CHECK(piped.seconds() == Approx(sum + 7 * most + synchronize));
  CHECK(piped.bubble == Approx(sum - most));
  CHECK(piped.chosen.memory == memory);
  CHECK(piped.lower_bound <= piped.seconds());
  CHECK(piped.lower_bound > 0.5 * piped.seconds());
  // Inner stages are alike but for the micro-batches they keep.
  CHECK(piped.stages[1].seconds == Approx(piped.stages[2].seconds));
  CHECK(piped.stages[1].memory > piped.stages[2].memory);
  // Each boundary: the activation one way, its gradient the other, both whole shards of 2 x 8 x 64.
  auto const& c = piped.chosen;
  int const border = piped.stages[0].last;
  auto const shard = std::min(max_local_elements({2, 8, 64}, c.mesh, c[border - 1].y),
                              max_local_elements({2, 8, 64}, c.mesh, c[border].x));
  CHECK(piped.stages[0].sending == Approx(5e-6 + 2e-10 * 2 * 4 * double(shard)));
}

TEST_CASE("the search takes the fastest of what it may take") {
  auto const t = parse_topology("node=4,gpu=2");
  auto const best = search::pipeline(net_of(4), t, cluster, {{}, {1, 2, 4, 8, 16}});
  double least = 1e300, bound = 1e300;
  for (int const s : {1, 2, 4})
    for (int const m : {1, 2, 4, 8, 16}) {
      auto const one = search::pipeline(net_of(4), t, cluster, {{s}, {m}});
      least = std::min(least, one.seconds());
      bound = std::min(bound, one.lower_bound);
      CHECK(one.lower_bound <= one.seconds());
    }
  CHECK(best.seconds() == Approx(least));
  CHECK(best.lower_bound == Approx(bound));
  // A slow network between nodes: stages send less than data parallel ranks synchronize.
  ashlar::machine slow = cluster;
  slow.inter.beta = 1e-8;
  CHECK(search::pipeline(net_of(4), t, slow, {{}, {1, 2, 4, 8, 16}}).stages.size() > 1);
}

TEST_CASE("a memory limit") {
  auto const t = parse_topology("node=4");
  auto m = cluster;
  auto const free = search::pipeline(net_of(4), t, m, {{}, {1, 2, 4}});
  m.memory = free.chosen.memory * 3 / 4;
  auto const limited = search::pipeline(net_of(4), t, m, {{}, {1, 2, 4}});
  CHECK(limited.chosen.memory <= m.memory);
  CHECK(limited.seconds() >= free.seconds() * (1 - 1e-12));
  for (auto const& s : limited.stages) CHECK(s.memory <= m.memory);
  m.memory = 1000;
  CHECK_THROWS_WITH_AS(search::pipeline(net_of(4), t, m, {{}, {1, 2}}),
                       doctest::Contains("fits in the machine's memory"), ashlar::error);
}

TEST_CASE("what cannot be cut is refused") {
  auto const t = parse_topology("node=4,gpu=2");
  CHECK_THROWS_WITH_AS(search::pipeline(net_of(4), t, cluster, {{3}, {1}}),
                       doctest::Contains("3 stages of 4 equal blocks on node=4,gpu=2"),
                       ashlar::error);
  CHECK_THROWS_WITH_AS(search::pipeline(net_of(4), t, cluster, {{8}, {1}}),
                       doctest::Contains("Here that leaves 1, 2, 4."), ashlar::error);
  auto const again = [](int m) {
    auto net = net_of(4)(m);
    net.recomputed = 1;
    return net;
  };
  CHECK_THROWS_WITH_AS(search::pipeline(again, t, cluster, {{2}, {1}}),
                       doctest::Contains("stages recompute no segments yet"), ashlar::error);
  CHECK_THROWS_AS(search::pipeline(net_of(4), t, cluster, {{0}, {1}}), ashlar::error);
  CHECK_THROWS_WITH_AS(search::pipeline(net_of(4), t, cluster, {{2}, {0}}),
                       doctest::Contains("a step needs 1 or more"), ashlar::error);
  auto const wrong = [](int) { return block_net(2, {4, 8}, 16); };
  CHECK_THROWS_WITH_AS(search::pipeline(wrong, t, cluster, {{1}, {2}}),
                       doctest::Contains("asked for 2 micro-batches"), ashlar::error);
  auto const recomputes = [&](int batches) {
    auto net = net_of(4)(batches);
    net.recomputed = 1;
    return net;
  };
  CHECK_THROWS_WITH_AS(search::pipeline(recomputes, t, cluster, {{1}, {1}}),
                       doctest::Contains("stages recompute no segments"), ashlar::error);
}

}  // namespace
}  // namespace ashlar_test
