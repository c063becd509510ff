// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests that gradients are put into the best buckets. For lists of transfers, the buckets are
// compared with all possible divisions. For programs, they are compared on the timeline with
// buckets of many fixed sizes.

#include <algorithm>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/machine/presets.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/step/bucket_cuts.hpp>
#include <ashlar/step/overlapped.hpp>
#include <ashlar/sync/hybrid.hpp>

#include "step_programs.hpp"

namespace ashlar_test {
namespace {

namespace step = ashlar::search::step;
using transfers = std::vector<step::ready_transfer>;

/// Returns the time at which the last bucket ends. Buckets are lists of transfers, in any order.
double end_of(transfers const& all, std::vector<std::vector<int>> buckets) {
  auto const ready = [&](std::vector<int> const& bucket) {
    double latest = 0;
    for (int const i : bucket) latest = std::max(latest, all[std::size_t(i)].ready);
    return latest;
  };
  // The link carries buckets in the order in which they are ready. No other order ends earlier.
  std::sort(buckets.begin(), buckets.end(),
            [&](auto const& a, auto const& b) { return ready(a) < ready(b); });
  double end = 0;
  for (auto const& bucket : buckets) {
    end = std::max(end, ready(bucket)) + all[0].latency;
    for (int const i : bucket) end += all[std::size_t(i)].seconds;
  }
  return end;
}

/// Returns the earliest end over all divisions of the transfers from number `next` on. The
/// transfers before `next` are already in `buckets`.
double earliest_end(transfers const& all, std::vector<std::vector<int>>& buckets,
                    std::size_t next) {
  if (next == all.size()) return end_of(all, buckets);
  auto const number = static_cast<int>(next);
  buckets.push_back({number});
  double best = earliest_end(all, buckets, next + 1);
  buckets.pop_back();
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    buckets[b].push_back(number);
    best = std::min(best, earliest_end(all, buckets, next + 1));
    buckets[b].pop_back();
  }
  return best;
}

std::vector<std::vector<int>> divided(std::vector<int> const& ends) {
  std::vector<std::vector<int>> buckets;
  int next = 0;
  for (int const end : ends) {
    buckets.emplace_back();
    while (next < end) buckets.back().push_back(next++);
  }
  return buckets;
}

TEST_CASE("no division of transfers into buckets ends earlier than the best cuts") {
  std::mt19937 random(1);
  auto const below = [&](int n) { return static_cast<int>(random() % unsigned(n)); };
  int divided_in_some = 0;
  for (int drawn = 0; drawn < 10000; ++drawn) {
    // Few different numbers make ties and zeros frequent.
    int const n = drawn < 200 ? 8 : 1 + below(6), values = 2 + below(12);
    transfers all;
    double const latency = below(3) == 0 ? 0 : 0.5 * below(values);
    for (int i = 0; i < n; ++i)
      all.push_back({1.0 * below(2 * values), latency, 1.0 * below(values)});
    std::sort(all.begin(), all.end(), [](auto a, auto b) { return a.ready < b.ready; });
    auto const ends = step::bucket_cuts(all);
    REQUIRE(ends.back() == n);
    REQUIRE(std::is_sorted(ends.begin(), ends.end()));
    std::vector<std::vector<int>> buckets;
    CHECK(end_of(all, divided(ends)) ==
          doctest::Approx(earliest_end(all, buckets, 0)).epsilon(1e-12));
    divided_in_some += ends.size() > 1 && static_cast<int>(ends.size()) < n;
  }
  CHECK(divided_in_some > 1000);
  CHECK(step::bucket_cuts({}).empty());
}

TEST_CASE("buckets are closed once they have the bytes or the number of gradients of a rule") {
  using ashlar::search::bucketing;
  ashlar::search::problem const net = any_length(ashlar::nn::describe<float>(
      ashlar::nn::chain(ashlar::nn::linear(4, 4, false), ashlar::nn::linear(4, 4, false),
                        ashlar::nn::linear(4, 4, false), ashlar::nn::linear(4, 4, false),
                        ashlar::nn::linear(4, 4, false)),
      ashlar::nn::feature_batch{4, 4}));
  auto const m = ashlar::machines::workstation;
  auto const p = build(net, ashlar::search::data_parallel(net, {{"gpu", 2}}, m), m);
  // Returns how many gradients each bucket has, in the order in which gradients become complete. A
  // gradient that would be alone in its bucket has no bucket, so it is not counted.
  auto const sizes = [&](step::bucket_rule const& rule) {
    auto const numbers = step::buckets_of_size(p, rule);
    std::vector<int> filled, of_bucket(numbers.size(), 0);
    for (int const b : numbers)
      if (b >= 0) ++of_bucket[static_cast<std::size_t>(b)];
    for (int const n : of_bucket)
      if (n > 0) filled.push_back(n);
    return filled;
  };
  CHECK(sizes({bucketing::by_number, 2}) == std::vector<int>{2, 2});
  CHECK(sizes({bucketing::by_number, 3}) == std::vector<int>{3, 2});
  CHECK(sizes({bucketing::by_bytes, 128}) == std::vector<int>{2, 2});
  CHECK(sizes({bucketing::by_bytes, 128, 192}) == std::vector<int>{3, 2});
  CHECK(sizes({bucketing::by_bytes, 256, 64}) == std::vector<int>{4});
  CHECK(sizes({bucketing::by_bytes, 0}).empty());
  CHECK(sizes({bucketing::by_bytes, 0, 192}).empty());
  ashlar::search::overlap_options options;
  options.division = {bucketing::by_bytes, 0};
  for (auto const& move : step::overlapped(p, m, options).made.moves) CHECK(move.bucket < 0);
}

/// The program of a training step in which gradients cross two links: a reduce-scatter along the
/// GPUs of a node, then an all-reduce along nodes. Each of the 12 gradients has 1 MiB.
step::program on_two_links(ashlar::machine const& m) {
  auto const layers = ashlar::nn::chain(
      ashlar::nn::repeat(12, ashlar::nn::linear(512, 512, false)));
  ashlar::search::problem const net = any_length(
      ashlar::nn::describe<float>(layers, ashlar::nn::feature_batch{512, 512}));
  ashlar::topology const t{{"node", 4, ashlar::link_tier::inter_node}, {"gpu", 4}};
  auto const plain = ashlar::search::data_parallel(net, t, m);
  return build(net, ashlar::sync::hybrid{"gpu"}(net, plain, m), m);
}

/// The buckets of the synchronizations of gradients. Other moves have the number -1.
step::bucket_numbers synchronized_in(step::program const& p) {
  step::bucket_numbers numbers;
  for (auto const& m : p.moves)
    numbers.push_back(m.phase == ashlar::search::phase::synchronize ? m.bucket : -1);
  return numbers;
}

TEST_CASE("where gradients cross two links, buckets of a fixed size can win, and they are used") {
  auto const m = ashlar::machines::g4dn_12xlarge;
  auto const p = on_two_links(m);
  auto const made = step::overlapped(p, m).made;
  CHECK(synchronized_in(made) == step::buckets_of_size(p, 4 << 20));
  CHECK(synchronized_in(made) != step::best_buckets(p, m));
  auto const without_overlap_of_values = [&](step::bucket_numbers const& numbers) {
    return timeline_of(early_synchronization(p, numbers).made, m).seconds;
  };
  double const fixed = without_overlap_of_values(step::buckets_of_size(p, 4 << 20));
  CHECK(fixed < 0.95 * without_overlap_of_values(step::best_buckets(p, m)));
  CHECK(fixed < 0.95 * without_overlap_of_values(step::buckets_of_size(p, 0)));
}

TEST_CASE("a given division is used even if it does not make the step faster") {
  using ashlar::search::bucketing;
  auto m = ashlar::machines::g4dn_12xlarge;
  bool in_time_of_serial = false;
  for (double const alpha : {m.inter.alpha, 0.0}) {
    m.intra.alpha = m.inter.alpha = alpha;
    auto const p = on_two_links(m);
    double const best = step::overlapped(p, m).seconds;
    for (auto const& rule : {step::bucket_rule{bucketing::by_number, 2},
                             step::bucket_rule{bucketing::by_bytes, std::int64_t{1} << 40}}) {
      ashlar::search::overlap_options options;
      options.division = rule;
      options.renews_first = false;
      auto const given = step::overlapped(p, m, options);
      CHECK(synchronized_in(given.made) == step::buckets_of_size(p, rule));
      CHECK(given.seconds > best);
      auto const& pass = given.passes[1];
      CHECK(pass.kept);
      in_time_of_serial |= pass.after > pass.before * (1 - 1e-9);
    }
  }
  CHECK(in_time_of_serial);
}

TEST_CASE("the best buckets can be found in a constant expression") {
  // The link is idle until second 1. Waiting for the second transfer saves a latency of 2 seconds.
  // The third transfer is ready too late to wait for it.
  constexpr bool right = [] {
    auto const ends = step::bucket_cuts({{1, 2, 3}, {2, 2, 3}, {20, 2, 1}});
    return ends == std::vector<int>{2, 3};
  }();
  static_assert(right);
}

TEST_CASE("where only gradients move, on one link, no size of buckets is faster than the best") {
  random_cases draw(23);
  int in_buckets = 0, faster = 0;
  for (int drawn = 0; drawn < 400; ++drawn) {
    programmed c(draw);
    auto const rows = ashlar::placement::all_broadcast(c.mesh.axes());
    auto sums = rows;
    for (int a = 0; a < sums.axes(); ++a) sums.axis[a] = ashlar::parse_placement("P").axis[0];
    for (auto& own : c.plan.choices) {
      own.x = own.y = own.dy = own.dx = rows;
      for (auto& s : own.statistics) s = {rows, rows};
      for (auto& p : own.parameters) p = {rows, sums, rows};
    }
    c.plan.interleaved = c.net.interleaved = 1;
    auto const serial = build(c.net, c.plan, c.machine);
    if (serial.moves.empty()) continue;
    auto const& first = serial.path_of(serial.moves[0]);
    bool const on_one_link = std::all_of(serial.moves.begin(), serial.moves.end(), [&](auto& m) {
      return first.steps.size() == 1 && step::travel_together(serial.path_of(m), first);
    });
    if (!on_one_link) continue;
    auto const best = early_synchronization(serial, best_buckets(serial, c.machine)).made;
    double const seconds = timeline_of(best, c.machine).seconds;
    bool is_faster = false, has_buckets = false;
    for (std::int64_t const bytes : {0, 40, 100, 200, 400, 1000, 3000, 1 << 20}) {
      auto const of_size = early_synchronization(serial, bytes).made;
      double const others = timeline_of(of_size, c.machine).seconds;
      CHECK(seconds <= others * (1 + 1e-12));
      is_faster |= bytes > 0 && seconds < others * (1 - 1e-9);
    }
    for (auto const& m : best.moves) has_buckets |= m.bucket >= 0;
    in_buckets += has_buckets, faster += is_faster;
  }
  MESSAGE(in_buckets << " programs with buckets, " << faster << " faster than some size");
  CHECK(in_buckets > 20);
  CHECK(faster > 20);
}

}  // namespace
}  // namespace ashlar_test
