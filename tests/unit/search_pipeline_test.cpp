// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the search for plans with pipeline stages:
// - The search finds the repeated blocks of a network.
// - With a single stage, its plan equals the plan without a pipeline.
// - The predicted seconds and memory equal those of a simulation of the schedule, micro-batch by
//   micro-batch.
// - Plans obey memory limits.
// - No plan costs less than the lower bound. For small chains of layers, the test tries all plans.

#include <algorithm>
#include <map>
#include <vector>

#include <doctest/doctest.h>
#include <support/combinations.hpp>
#include <support/relative.hpp>

#include <ashlar/mesh/text.hpp>
#include <ashlar/search/explain_pipeline.hpp>
#include <ashlar/search/factored.hpp>
#include <ashlar/search/pipeline.hpp>
#include <ashlar/step/build.hpp>
#include <ashlar/step/build_stage.hpp>
#include <ashlar/step/high_water.hpp>
#include <ashlar/step/pipeline/dual_pipe_v.hpp>
#include <ashlar/step/pipeline/replay.hpp>
#include <ashlar/step/pipeline/warm_up.hpp>

#include "search_enumerations.hpp"
#include "search_nets.hpp"

namespace ashlar_test {
namespace {

using ashlar::parse_topology;
using doctest::Approx;

ashlar::machine const cluster{{2e-6, 1e-11}, {5e-6, 2e-10}, 1e10, 1e12, 0};

/// Returns a function that makes the network for m micro-batches. The micro-batches together have
/// `batch` sequences.
auto net_of(int blocks, int batch = 16) {
  return [=](int m) {
    auto net = block_net(blocks, {batch / m, 8}, 64);
    net.micro_batches = m;
    return net;
  };
}

/// Returns a function that makes the network of net_of for m micro-batches. In this network, groups
/// of `of_each` successive blocks form segments that can be recomputed.
auto segmented_net_of(int blocks, int of_each = 1, int batch = 16) {
  return [=](int m) {
    auto net = net_of(blocks, batch)(m);
    for (int b = 0; b < blocks; ++b)
      for (int i = 1 + 7 * b; i < 8 + 7 * b; ++i) net[i].segment = b / of_each;
    net.segments = (blocks + of_each - 1) / of_each;
    return net;
  };
}

/// Simulates the 1F1B pipeline schedule (one forward, one backward) of s stages and m
/// micro-batches. Stage j starts a forward pass only while fewer than min(m, s - j) of its
/// micro-batches wait for their backward passes. A pass starts when its input is available and its
/// stage is idle. The transfer of a result takes the seconds of `up` (to the next stage) or `down`,
/// runs while stages compute, and waits for the one before it on the same link. Returns for each
/// stage the seconds until its last pass ends.
std::vector<double> replayed_ends(std::vector<double> const& forward,
                                  std::vector<double> const& backward, int m,
                                  std::vector<double> const& up, std::vector<double> const& down) {
  int const s = static_cast<int>(forward.size());
  auto const at = [&](int j, int k) { return static_cast<std::size_t>(j * m + k); };
  std::vector<double> sent_up(static_cast<std::size_t>(s * m), -1), sent_down(sent_up);
  std::vector<double> free(forward.size(), 0), link_up(free), link_down(free);
  std::vector<int> f(forward.size(), 0), b(forward.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (int j = 0; j < s; ++j) {
      auto const u = static_cast<std::size_t>(j);
      bool const ahead = f[u] < m && f[u] - b[u] < std::min(m, s - j);
      if (ahead && (j == 0 || sent_up[at(j - 1, f[u])] >= 0)) {
        double const ready = j == 0 ? 0 : sent_up[at(j - 1, f[u])];
        free[u] = std::max(free[u], ready) + forward[u];
        link_up[u] = std::max(link_up[u], free[u]) + up[u];
        sent_up[at(j, f[u]++)] = link_up[u];
        moved = true;
      } else if (!ahead && b[u] < f[u] && (j + 1 == s || sent_down[at(j + 1, b[u])] >= 0)) {
        double const ready = j + 1 == s ? 0 : sent_down[at(j + 1, b[u])];
        free[u] = std::max(free[u], ready) + backward[u];
        link_down[u] = std::max(link_down[u], free[u]) + down[u];
        sent_down[at(j, b[u]++)] = link_down[u];
        moved = true;
      }
    }
  }
  REQUIRE(std::all_of(b.begin(), b.end(), [m](int n) { return n == m; }));
  return free;
}

/// Simulates a 1F1B schedule whose transfers take no time. Returns the seconds until the last
/// backward pass ends.
double replay(std::vector<double> const& forward, std::vector<double> const& backward, int m) {
  std::vector<double> const none(forward.size(), 0);
  auto const ends = replayed_ends(forward, backward, m, none, none);
  return *std::max_element(ends.begin(), ends.end());
}

/// Returns the seconds of a step of a 1F1B plan, simulated from the seconds of its stages.
double simulated(search::pipeline_plan const& p) {
  std::vector<double> forward, backward, up, down;
  for (auto const& s : p.stages) {
    forward.push_back(s.forward);
    backward.push_back(s.seconds - s.forward);
    up.push_back(s.sending - s.sending_back);
    down.push_back(s.sending_back);
  }
  auto const ends = replayed_ends(forward, backward, p.micro_batches(), up, down);
  double last = 0;
  for (std::size_t j = 0; j < ends.size(); ++j)
    last = std::max(last, ends[j] + p.stages[j].synchronize);
  return last;
}

/// Returns for each element of a stage the number of its segment, counted within the stage, or -1
/// if the element is in no segment.
std::vector<int> numbered_segments(search::problem const& net, search::pipeline_stage const& s) {
  std::vector<int> list;
  for (int i = s.first, before = -1, met = -1; i < s.last; ++i) {
    int const own = net[i].segment;
    if (own >= 0 && own != before) ++met;
    list.push_back(own < 0 ? -1 : met);
    before = own;
  }
  return list;
}

/// Computes the peak memory of a rank of stage j by counting its passes in the order of the 1F1B
/// schedule. One micro-batch uses the peak memory of a step. Every other micro-batch that waits for
/// its backward pass uses the bytes that are saved for this pass.
std::int64_t fake_stage_memory(search::problem const& net, search::pipeline_plan const& p, int j) {
  auto const chain = chain_of(net, p);
  auto stage = stage_of(chain, p, j);
  auto const own = search::plan_of_stage<-1>(p, j);
  stage.in_flight = 1;
  std::int64_t held = 0;  // bytes of a micro-batch between its two passes
  for (int i = 0; i < stage.size(); ++i) {
    auto const runs = stage.runs(i, own.recomputed);
    if (runs == search::forward_runs::once && stage[i].kind == search::element_kind::layer)
      held += saved_bytes(stage, stage.spec(i), own[i], own.mesh);
    bool const batch = i == 0 && j == 0 && own[i].x == ashlar::placement::all_broadcast(2);
    if (runs == search::forward_runs::twice_from_here && !batch)
      held += stage.element_size * max_local_elements(stage.spec(i).x, own.mesh, own[i].x);
  }
  int open = 0, most = 0;  // micro-batches between their two passes
  auto const passes = ashlar::pipelines::one_f_one_b(static_cast<int>(p.stages.size()),
                                                     p.micro_batches());
  for (auto const& pass : passes.order[static_cast<std::size_t>(j)]) {
    if (pass.what == ashlar::pipelines::pass::forward) most = std::max(most, ++open);
    else --open;
  }
  return memory_per_rank(stage, own) + (most - 1) * held;
}

/// Checks the predicted memory of stage j of a 1F1B plan. The prediction must cover the stage's
/// program and the micro-batches in flight. In addition, it may contain for each neighboring stage
/// at most two tensors that arrive early, the source of one send, and a redistribution.
void check_stage_memory(search::problem const& net, search::pipeline_plan const& p, int j,
                        ashlar::topology const& mesh, ashlar::machine const& m) {
  auto const memory = p.stages[std::size_t(j)].memory, alone = fake_stage_memory(net, p, j);
  int const count = static_cast<int>(p.stages.size());
  if (count == 1) {
    CHECK(memory == alone);
    return;
  }
  search::pipeline_part const part{j, schedule_of(p), limits_of(p), mesh,
                                   divided(mesh, p.axis, count)};
  CHECK(memory >= high_water(build_stage(chain_of(net, p), p.chosen, m, part)).peak);
  CHECK(memory >= alone);
  std::int64_t neighbours = 0;
  for (int const cut : {p.stages[std::size_t(j)].first, p.stages[std::size_t(j)].last}) {
    if (cut == 0 || cut == net.size()) continue;
    auto const bytes = boundary_extents(net, cut - 1).elements() * net.element_size;
    neighbours += 4 * bytes + ashlar::packing_bound(bytes, p.chosen.mesh.ranks());
  }
  CHECK(memory <= alone + neighbours);
}

/// Returns the seconds that recomputation adds to one micro-batch in stage j.
double seconds_again(search::problem const& net, search::pipeline_plan const& p, int j,
                     ashlar::machine const& m) {
  auto const& stage = p.stages[static_cast<std::size_t>(j)];
  auto const segment = numbered_segments(net, stage);
  double seconds = 0;
  auto const in = [&](int i) { return segment[static_cast<std::size_t>(i - stage.first)]; };
  auto const again = [&](int i) { return in(i) >= 0 && in(i) < stage.recomputed; };
  auto plain = p.chosen;
  plain.recomputed = 0;
  for (auto const& move : schedule(net, plain, m)) {
    int const i = move.element;
    if (i < stage.first || i >= stage.last || !again(i) || move.phase != search::phase::forward)
      continue;
    bool const enters = i == stage.first || in(i - 1) != in(i);
    if (!(enters && move.what == search::moved::activation)) seconds += move.plan.seconds;
  }
  for (int i = stage.first; i < stage.last; ++i) {
    if (!again(i)) continue;
    auto forward = net.spec(i);
    forward.backward_flops = forward.backward_values = 0;
    seconds += search::work_seconds(forward, p.chosen[i], p.chosen.mesh, m, net.element_size);
  }
  return seconds;
}

/// Returns, for each stage, how many segments it recomputes if it recomputes all of its segments.
std::vector<int> recomputed_all(search::problem const& net, std::vector<int> const& limits) {
  std::vector<int> list;
  for (std::size_t s = 0; s + 1 < limits.size(); ++s)
    list.push_back(search::stage_of(net, limits[s], limits[s + 1], 1).segments);
  return list;
}

/// Returns the seconds of the fastest pipeline plan that fits in memory. Tries every choice of
/// every element, and every number of recomputed segments in each stage. Returns 0 if no plan fits.
double fastest_of_all(search::problem const& net, std::vector<int> const& limits, int axis,
                      ashlar::topology const& t, ashlar::machine const& m,
                      ashlar::pipelines::schedule const& order = {}) {
  std::vector<std::vector<search::layer_choice>> choices;
  for (int i = 0; i < net.size(); ++i) choices.push_back(search::layer_choices(net.spec(i), t));
  auto const segments = recomputed_all(net, limits);
  search::plan chosen;
  chosen.mesh = t;
  double best = 0;
  std::vector<std::size_t> at(choices.size());
  std::vector<int> again(segments.size());
  do {
    chosen.choices.clear();
    for (std::size_t i = 0; i < at.size(); ++i) chosen.choices.push_back(choices[i][at[i]]);
    do {
      auto const p = search::price_pipeline(net, chosen, limits, again, axis, net.micro_batches, m,
                                            order);
      if (p.chosen.memory <= m.memory && (best == 0 || p.seconds() < best)) best = p.seconds();
    } while (next_digits(again, [&](std::size_t s) { return segments[s] + 1; }));
  } while (next_digits(at, [&](std::size_t i) { return choices[i].size(); }));
  return best;
}

/// Returns the optimal plan of a chain of linear layers, changed so that adjacent layers have
/// different placements.
search::plan alternating(search::problem const& net, ashlar::topology const& t) {
  auto chosen = search::optimal(net, t, cluster);
  for (int i = 0; i < net.size(); ++i)
    for (auto const& c : search::layer_choices(net.spec(i), t))
      if (i % 2 == 0 ? c.x[0].is_split_of(0) : c.x[0].is_broadcast() && c.y[0].is_split())
        chosen.choices[std::size_t(i)] = c;
  return chosen;
}

TEST_CASE("the repeated blocks of a chain") {
  auto const net = block_net(4, {4, 8}, 16);
  CHECK(search::find_blocks(net) == search::repeated_blocks{1, 7, 4});
  CHECK(search::find_blocks(mlp(3, 8, 8)) == search::repeated_blocks{0, 3, 1});
  CHECK(search::find_blocks(mlp(9, 8, 8)).count == 2);  // widths repeat every four layers
  CHECK(search::find_blocks(search::problem{}).count == 1);
  search::problem equal;  // all layers are equal, except that the first need not compute dx
  for (int i = 0; i < 4; ++i) {
    auto spec = linear_spec({8, 8}, 8);
    if (i == 0) spec.backward_flops /= 2;
    equal.add(spec);
  }
  CHECK(search::find_blocks(equal) == search::repeated_blocks{0, 1, 4});
  CHECK(search::stage_limits(net, search::find_blocks(net), 2) == std::vector{0, 15, net.size()});
  auto const part = search::stage_of(net, 8, 15, 3);
  CHECK(part.size() == 7);
  CHECK(part[0].partner == 6);
  CHECK(part[6].partner == 0);
  CHECK(part.spec(1) == net.spec(9));
  CHECK(part.in_flight == 3);
  CHECK(part.segments == 0);
  auto other = net;
  other.element_size = 2, other.accumulation_size = 8, other.optimizer_states = 0;
  other.micro_batches = 5, other.updates_apart = true;
  auto const same = search::stage_of(other, 8, 15, 3);
  CHECK(same.element_size == 2);
  CHECK(same.accumulation_size == 8);
  CHECK(same.optimizer_states == 0);
  CHECK(same.micro_batches == 5);
  CHECK(same.updates_apart);
}

TEST_CASE(
    "each stage recomputes its first segments, and a stage boundary divides a segment into two") {
  auto net = segmented_net_of(4)(1);
  net.recomputed = 3;
  std::vector<int> const limits{0, 15, net.size()};
  CHECK(search::recomputed_in_stages(net, limits) == std::vector{2, 1});
  auto const chain = search::in_stages(net, limits, {1, 2});
  CHECK(chain.segments == 4);
  CHECK(chain.recomputed == 3);
  for (int const i : {1, 15, 22})
    CHECK(chain.runs(i, chain.recomputed) == search::forward_runs::twice_from_here);
  for (int const i : {0, 8, 29})
    CHECK(chain.runs(i, chain.recomputed) == search::forward_runs::once);
  auto const part = search::stage_of(chain, 15, net.size(), 1);
  CHECK(part.segments == 2);
  CHECK(part.recomputed == 2);
  CHECK(part[0].segment == 0);
  CHECK(part[7].segment == 1);
  CHECK(part[14].segment == -1);
  auto const cut = search::in_stages(segmented_net_of(4, 3)(1), limits, {0, 1});
  // The network has two segments, of three blocks and of one block. The stage boundary divides the
  // first segment into a segment of two blocks and a segment of one block.
  CHECK(cut.segments == 3);
  CHECK(cut.runs(8, 1) == search::forward_runs::once);
  CHECK(cut.runs(15, 1) == search::forward_runs::twice_from_here);
  CHECK(cut.runs(22, 1) == search::forward_runs::once);
}

TEST_CASE("recomputing in stages takes the seconds and the bytes of its replayed schedule") {
  auto const mesh = parse_topology("node=4,gpu=2");
  for (int const of_each : {1, 3})  // with 3, segments extend over stage boundaries
    for (int const s : {1, 2, 4})
      for (int const m : {1, 2, 8}) {
        auto const net = segmented_net_of(4, of_each)(m);
        auto const limits = search::stage_limits(net, search::find_blocks(net), s);
        auto const t = search::stage_mesh(mesh, s == 1 ? -1 : 0, s);
        auto const chosen = search::optimal(net, t, cluster);
        auto const price = [&](std::vector<int> const& recomputed) {
          return search::price_pipeline(net, chosen, limits, recomputed, s == 1 ? -1 : 0, m,
                                        cluster);
        };
        auto const kept = price(std::vector<int>(limits.size() - 1));
        for (int const less : {0, 1, 2}) {
          std::vector<int> recomputed;  // later stages recompute fewer segments
          int total = 0;
          for (int j = 0; j < s; ++j) {
            auto const part = search::stage_of(net, limits[std::size_t(j)],
                                               limits[std::size_t(j) + 1], 1);
            recomputed.push_back(std::max(0, part.segments - (j > 0 ? less : 0)));
            total += recomputed.back();
          }
          auto const p = price(recomputed);
          CAPTURE(of_each);
          CAPTURE(s);
          CAPTURE(m);
          CAPTURE(less);
          CHECK(p.chosen.recomputed == total);
          std::vector<double> forward, backward;
          double sum = 0, most = 0;
          std::int64_t memory = 0;
          for (int j = 0; j < s; ++j) {
            auto const& now = p.stages[std::size_t(j)];
            auto const& before = kept.stages[std::size_t(j)];
            CHECK(now.forward == relative(before.forward));
            CHECK(now.sent == before.sent);
            CHECK(now.seconds == relative(before.seconds + seconds_again(net, p, j, cluster)));
            CHECK((now.seconds > before.seconds) == (recomputed[std::size_t(j)] > 0));
            check_stage_memory(net, p, j, mesh, cluster);
            check_stage_memory(net, kept, j, mesh, cluster);
            // Exchanging tensors with the neighboring stages adds at most the memory of these
            // tensors and of their buffers.
            auto alone = stage_of(net, limits[std::size_t(j)], limits[std::size_t(j) + 1], 1);
            alone.recomputed = 0;
            auto const own = search::plan_of_stage<-1>(kept, j);
            auto const with = memory_per_rank(alone, own);
            auto const& last = alone.spec(alone.size() - 1).y;
            auto const room = [&](shape const& s, ashlar::placement const& at) {
              auto const bytes = 4 * max_local_elements(s, t, at);
              return bytes + ashlar::packing_bound(bytes, t.ranks());
            };
            alone.stages_before = alone.stages_after = false;
            auto const without = high_water(build(alone, own, cluster)).peak;
            CHECK(without <= with);
            CHECK(with <= without + (j > 0 ? room(alone.spec(0).x, own[0].x) : 0) +
                              (j + 1 < s ? room(last, own[alone.size() - 1].dy) : 0));
            forward.push_back(now.forward);
            backward.push_back(before.seconds - before.forward + seconds_again(net, p, j, cluster));
            sum += now.seconds;
            most = std::max(most, now.seconds);
            memory = std::max(memory, now.memory);
          }
          CHECK(p.chosen.memory == memory);
          double const replayed = replay(forward, backward, m);
          CHECK(replayed <= (sum + (m - 1) * most) * (1 + 1e-12));
          CHECK(replayed >= m * most * (1 - 1e-12));
          CHECK(p.seconds() == relative(simulated(p)));
          CHECK(p.seconds() >= replayed * (1 - 1e-12));
          // The work of all elements adds up to the work of the stages.
          auto const parts = search::breakdown(net, p, cluster);
          CHECK(parts.total.work == relative([&] {
                  double work = 0;
                  for (auto const& stage : p.stages) work += m * stage.work;
                  return work;
                }()));
          std::int64_t kept = 0;
          for (auto const& stage : p.stages) {
            std::int64_t lasting = 0;
            for (int i = stage.first; i < stage.last; ++i)
              lasting += parts.elements[std::size_t(i)].memory.kept;
            CHECK(lasting <= stage.memory);
            kept += lasting;
          }
          CHECK(parts.total.memory.kept == kept);
        }
        // With a large batch, the peak memory of a stage occurs during its passes, not while
        // gradients are synchronized. So recomputation must lower it.
        if (m == 8) {
          auto const large = segmented_net_of(4, of_each, 512)(m);
          auto const plan = search::optimal(large, t, cluster);
          auto const memory_of = [&](std::vector<int> const& recomputed) {
            return search::price_pipeline(large, plan, limits, recomputed, s == 1 ? -1 : 0, m,
                                          cluster)
                .chosen.memory;
          };
          CHECK(memory_of(recomputed_all(large, limits)) <
                memory_of(std::vector<int>(limits.size() - 1)));
        }
      }
}

TEST_CASE("the sums of a cut are the seconds of its stages, also of recomputed elements") {
  auto const t = parse_topology("gpu=2");
  search::problem net;
  for (int k = 0; k < 5; ++k) net.add(linear_spec({8, 64}, 64));
  net.add_segment(0);
  net.recomputed = 1;
  auto const chosen = alternating(net, t);
  search::crossing_prices crossings(t, 0, cluster);
  search::stage_model model(net, chosen, cluster, crossings);
  search::cut_costs const costs(model, search::detail::cutting_points(net));
  double again = 0;
  for (int first = 0; first < costs.units(); ++first)
    for (int last = first + 1; last <= costs.units(); ++last)
      for (bool const joined : {false, true}) {
        auto const sums = costs.stage(first, last, joined);
        auto const own = model.stage(sums.first, sums.last, joined);
        CHECK(sums.seconds == relative(own.seconds));
        CHECK(sums.forward == relative(own.forward));
        again += model[sums.first].reenter;
      }
  CHECK(costs.units() == 5);
  CHECK(again > 0);
}

TEST_CASE("elements of a pipeline do not receive what crosses between parts instead") {
  auto const t = parse_topology("gpu=2");
  search::problem net;
  for (int k = 0; k < 5; ++k) net.add(linear_spec({8, 64}, 64));
  net.micro_batches = 3;
  auto const chosen = alternating(net, t);
  auto const p = search::price_pipeline(net, chosen, {0, 2, 5}, {0, 0}, 0, 3, cluster);
  auto const whole = breakdown(net, chosen, cluster), parts = breakdown(net, p, cluster);
  double received = 0, of_elements = 0;
  for (int j = 0; j < 2; ++j)
    received +=
        breakdown(stage_of(net, p, j), search::plan_of_stage<-1>(p, j), cluster).total.received;
  for (auto const& e : parts.elements) of_elements += e.received;
  CHECK(parts.total.received == relative(received));
  CHECK(of_elements == relative(received));
  CHECK(received > 0);
  // Without the cut, the activation between elements 1 and 2 or its gradient is gathered.
  CHECK(parts.elements[2].received + parts.elements[1].received <
        whole.elements[2].received + whole.elements[1].received);
}

TEST_CASE("one stage is the unchanged chain") {
  auto const t = parse_topology("node=2,gpu=2");
  for (int const m : {1, 4}) {
    auto const net = net_of(2)(m);
    auto const plain = search::optimal(net, t, cluster);
    auto const piped = search::pipeline(net_of(2), t, cluster, {{1}, {m}});
    CHECK(piped.stages.size() == 1);
    CHECK(piped.axis == -1);
    CHECK(piped.seconds() == relative(plain.seconds));
    CHECK(piped.chosen.communication_seconds == relative(plain.communication_seconds));
    CHECK(piped.chosen.memory == plain.memory);
    CHECK(piped.bubble == 0);
    CHECK(piped.chosen.gap < 1e-9);
    CHECK(piped.chosen.problem_hash == hash(net));
  }
}

TEST_CASE("a step takes as long as its replayed schedule") {
  for (auto const& [s, m] : all_combinations({1, 2, 3, 5}, {1, 2, 4, 9})) {
    auto const n = static_cast<std::size_t>(s);
    // If stages are equal, a step takes s + m - 1 times the seconds of one stage.
    CHECK(replay(std::vector<double>(n, 1), std::vector<double>(n, 2), m) ==
          Approx(3.0 * (s + m - 1)));
    // If stages are unequal, a step takes at most the seconds of the first micro-batch in all
    // stages plus those of the other micro-batches in the slowest stage.
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

TEST_CASE("the schedule that is drawn is the one that is priced") {
  for (auto const& [s, m] : all_combinations({1, 2, 3, 5}, {1, 2, 4, 9})) {
    ashlar::pipelines::pipeline_costs costs;
    std::vector<double> forward, backward;
    for (int j = 0; j < s; ++j) {
      forward.push_back(1 + (j * 7) % 3);
      backward.push_back(2 + (j * 5) % 4);
      costs.push_back({forward.back(), backward.back(), 0, 0, 0});
    }
    CHECK(replay(ashlar::pipelines::one_f_one_b(s, m), costs).seconds ==
          Approx(replay(forward, backward, m)));
  }
}

TEST_CASE("what a stage has in flight is that of the plan's schedule") {
  search::pipeline_plan p;
  p.stages.resize(4);
  p.chosen.micro_batches = 6;
  for (int j = 0; j < 4; ++j) CHECK(p.in_flight(j) == 4 - j);  // 1F1B
  p.order = ashlar::pipelines::eager(4, 6);
  int const eager[]{6, 5, 3, 1};
  for (int j = 0; j < 4; ++j) CHECK(p.in_flight(j) == eager[j]);
  // Two parts of the mesh hold two stages each. Stages are numbered in the order of the net.
  p.order = ashlar::pipelines::dual_pipe_v(2, 6);
  for (int j = 0; j < 4; ++j) CHECK(p.in_flight(j) == 4 - j);
}

TEST_CASE("stages, their seconds and their memory") {
  auto const t = parse_topology("node=4,gpu=2");
  auto const piped = search::pipeline(net_of(4), t, cluster, {{4}, {8}});
  REQUIRE(piped.stages.size() == 4);
  CHECK(piped.axis == 0);
  CHECK(piped.chosen.mesh == parse_topology("node=1,gpu=2"));
  double most = 0;
  std::int64_t memory = 0;
  for (auto const& s : piped.stages) {
    CHECK(s.sending > 0);
    CHECK(s.seconds >= s.work);
    // A backward pass of block_net takes twice as long as a forward pass.
    CHECK(s.forward > 0.2 * s.seconds);
    CHECK(s.forward < 0.5 * s.seconds);
    most = std::max(most, 8 * s.seconds + s.synchronize);
    memory = std::max(memory, s.memory);
  }
  CHECK(piped.seconds() == relative(simulated(piped)));
  CHECK(piped.bubble == relative(piped.seconds() - most).scale(piped.seconds()));
  CHECK(piped.exposed > 0);
  CHECK(piped.exposed < piped.bubble);
  CHECK(piped.chosen.memory == memory);
  CHECK(piped.lower_bound <= piped.seconds());
  CHECK(piped.lower_bound > 0.5 * piped.seconds());
  // The two inner stages are equal, but the earlier stage holds the activations of more
  // micro-batches.
  CHECK(piped.stages[1].seconds == relative(piped.stages[2].seconds));
  CHECK(piped.stages[1].memory > piped.stages[2].memory);
  // At each stage boundary, the activation crosses forward and its gradient backward. Both take the
  // seconds of the plan between the two parts of the whole mesh.
  auto const& c = piped.chosen;
  for (int j = 1; j < 4; ++j) {
    int const first = piped.stages[std::size_t(j)].first;
    auto const source = ashlar::divided(t, 0, 4)[std::size_t(j) - 1];
    auto const target = ashlar::divided(t, 0, 4)[std::size_t(j)];
    auto const crossed = [&](ashlar::mesh_part const& a, ashlar::placement const& from,
                             ashlar::mesh_part const& b, ashlar::placement const& to) {
      return ashlar::plan_cross_mesh({2, 8, 64}, 4, a, from, b, to, t, cluster).seconds;
    };
    auto const &before = piped.stages[std::size_t(j) - 1], &after = piped.stages[std::size_t(j)];
    CHECK(before.sending - before.sending_back ==
          relative(crossed(source, c[first - 1].y, target, c[first].x)));
    CHECK(after.sending_back == relative(crossed(target, c[first].dx, source, c[first - 1].dy)));
  }
  // The bytes that a stage sends: its activation to the next stage, and its gradient back to the
  // stage before it.
  search::crossing_prices prices(c.mesh, piped.axis, cluster);
  std::int64_t largest = 0;
  for (auto const& s : piped.stages) {
    std::int64_t sent = 0;
    if (s.last < c.size()) sent += prices({2, 8, 64}, 4, c[s.last - 1].y, c[s.last].x).sent;
    if (s.first > 0) sent += prices({2, 8, 64}, 4, c[s.first].dx, c[s.first - 1].dy).sent;
    CHECK(s.sent == sent);
    CHECK(sent >= (s.first > 0 && s.last < c.size() ? 2 : 1) * 2 * 8 * 64 * 4 / 2);
    largest = std::max(largest, sent);
  }
  auto const text = search::explain(net_of(4)(8), piped, cluster).text;
  CHECK(text.find("a rank sends at most " + ashlar::bytes_text(8 * double(largest)) +
                  " to other stages") != std::string::npos);
}

TEST_CASE("the search takes the fastest of the permitted pipelines") {
  auto const t = parse_topology("node=4,gpu=2");
  auto const best = search::pipeline(net_of(4), t, cluster, {{}, {1, 2, 4, 8, 16}});
  double least = 1e300, bound = 1e300;
  for (auto const& [s, m] : all_combinations({1, 2, 4}, {1, 2, 4, 8, 16})) {
    auto const one = search::pipeline(net_of(4), t, cluster, {{s}, {m}});
    least = std::min(least, one.seconds());
    bound = std::min(bound, one.lower_bound);
    CHECK(one.lower_bound <= one.seconds());
  }
  CHECK(best.seconds() == relative(least));
  CHECK(best.lower_bound == relative(bound));
  // If the links between nodes are slow, a pipeline is faster than data parallelism, because its
  // stages send less than the synchronization of gradients would.
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

TEST_CASE("below a limit stages recompute, the first ones most, which makes the step faster") {
  auto const t = parse_topology("node=4");
  auto m = cluster;
  auto const free = search::pipeline(segmented_net_of(8, 1, 256), t, m, {{4}, {8}});
  CHECK(free.chosen.recomputed == 0);
  // This memory limit is too low for the first stage, which also holds the embedding.
  m.memory = free.stages[1].memory;
  auto const some = search::pipeline(segmented_net_of(8, 1, 256), t, m, {{4}, {8}});
  CHECK(some.chosen.memory <= m.memory);
  CHECK(some.stages[0].recomputed > 0);
  CHECK(some.stages[3].recomputed == 0);
  CHECK(some.lower_bound >= free.lower_bound * (1 - 1e-9));
  m.memory = free.chosen.memory / 2;
  auto const none = net_of(8, 256);
  CHECK_THROWS_AS(search::pipeline(none, t, m, {{4}, {8}}), ashlar::error);
  auto const tight = search::pipeline(segmented_net_of(8, 1, 256), t, m, {{4}, {8}});
  CHECK(tight.chosen.memory <= m.memory);
  CHECK(tight.stages[0].recomputed >= tight.stages[3].recomputed);
  auto const text = search::explain(segmented_net_of(8, 1, 256)(8), tight, m).text;
  CAPTURE(text);
  CHECK(text.find("recomputed segments: ") != std::string::npos);
  CHECK(text.find(std::to_string(tight.stages[0].recomputed) + " of 2 in stage") !=
        std::string::npos);
}

TEST_CASE("the segments that the problem demands are recomputed") {
  auto const t = parse_topology("node=2,gpu=2");
  auto const again = [](int n) {
    return [n](int m) {
      auto net = segmented_net_of(4)(m);
      net.recomputed = n;
      return net;
    };
  };
  auto const plain = search::optimal(again(3)(2), t, cluster);
  auto const one = search::pipeline(again(3), t, cluster, {{1}, {2}});
  CHECK(one.chosen.recomputed == 3);
  CHECK(one.seconds() == relative(plain.seconds));
  CHECK(one.chosen.memory == plain.memory);
  auto const two = search::pipeline(again(3), t, cluster, {{2}, {2}});
  CHECK(two.stages[0].recomputed == 2);
  CHECK(two.stages[1].recomputed == 1);
  auto const kept = search::pipeline(again(0), t, cluster, {{2}, {2}});
  CHECK(two.seconds() > kept.seconds());
  CHECK(two.lower_bound > kept.lower_bound);
}

TEST_CASE("the bound holds for all plans of small chains, and the plan found is near the best") {
  int limits_tried = 0, best = 0, recomputed = 0, impossible = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    random_cases draw(seed);
    int const blocks = 2 * (1 + draw.below(2)), batches = 1 + draw.below(4), saves = draw.below(5);
    bool const placed = blocks == 2;  // two ranks per stage, so placements are chosen
    shape const x{2 + draw.below(4), 2 + draw.below(4)};
    double const work = draw.log_uniform(0.1, 10);
    auto const chain = [&](int m) {
      search::problem net;
      net.micro_batches = m;
      net.optimizer_states = 0;
      for (int b = 0; b < blocks; ++b) {
        int const first = net.size();
        auto spec = map_spec("map", x, ashlar::nonlinear_training_rows("md"), saves);
        spec.forward_values *= work;
        net.add(spec);
        net.add_segment(first);
      }
      net.add(cross_entropy_spec(x));
      return net;
    };
    ashlar::topology const t{{"node", placed ? 4 : 2, ashlar::link_tier::inter_node}};
    auto m = draw.machine();
    auto const net = chain(batches);
    auto const limits = search::stage_limits(net, search::find_blocks(net), 2);
    auto const free = search::pipeline(chain, t, m, {{2}, {batches}});
    for (double const share : {1.0, 0.9, 0.75, 0.6}) {
      m.memory = static_cast<std::int64_t>(share * double(free.chosen.memory));
      CAPTURE(seed);
      CAPTURE(share);
      double const least = fastest_of_all(net, limits, 0, search::stage_mesh(t, 0, 2), m);
      if (least == 0) {
        CHECK_THROWS_AS(search::pipeline(chain, t, m, {{2}, {batches}}), ashlar::error);
        ++impossible;
        continue;
      }
      auto const found = search::pipeline(chain, t, m, {{2}, {batches}});
      ++limits_tried;
      CHECK(found.chosen.memory <= m.memory);
      CHECK(found.seconds() >= least * (1 - 1e-9));
      CHECK(found.lower_bound <= least * (1 + 1e-9));
      best += found.seconds() <= least * (1 + 1e-9);
      recomputed += found.chosen.recomputed > 0;
      // With one rank per stage, only the numbers of recomputed segments remain to be chosen.
      if (!placed) CHECK(found.seconds() == relative(least));
    }
  }
  CHECK(limits_tried > 50);
  CHECK(recomputed > 10);
  CHECK(impossible > 0);
  CHECK(10 * best > 9 * limits_tried);
}

TEST_CASE("below a limit the bound holds for several schedules and numbers of micro-batches") {
  auto const wide = parse_topology("node=4:inter");
  int tried = 0, raised = 0, near = 0;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    random_cases draw(seed);
    int const saves = 1 + draw.below(4);
    shape const x{8 * (1 + draw.below(3)), 2 + draw.below(6)};
    double const work = draw.log_uniform(1, 100);
    auto const chain = [&](int m) {
      search::problem net;
      net.micro_batches = m;
      net.optimizer_states = 0;
      for (int b = 0; b < 2; ++b) {
        auto spec = map_spec("map", {x[0] / m, x[1]}, ashlar::nonlinear_training_rows("md"), saves);
        spec.forward_values *= work;
        net.add(spec);
        net.add_segment(b);
      }
      net.add(cross_entropy_spec({x[0] / m, x[1]}));
      return net;
    };
    std::vector<int> const batches{2, 4, 8};
    std::vector<std::string> const all[] = {{"1f1b"}, {"eager"}, {"gpipe"}, {"1f1b", "gpipe"}};
    auto const& names = all[draw.below(4)];
    search::pipeline_options const options{
        .stages = {2}, .micro_batches = batches, .schedules = names};
    auto m = draw.machine();
    m.memory = 0;
    auto const free = search::pipeline(chain, wide, m, options);
    for (double const share : {0.9, 0.75, 0.6}) {
      m.memory = static_cast<std::int64_t>(share * double(free.chosen.memory));
      CAPTURE(seed);
      CAPTURE(share);
      double least = 0;
      for (int const b : batches)
        for (auto const& choice : search::schedule_choices(names, {})) {
          auto const net = chain(b);
          auto const limits = search::stage_limits(net, search::find_blocks(net), 2);
          double const own = fastest_of_all(net, limits, 0, search::stage_mesh(wide, 0, 2), m,
                                            search::make_schedule(choice, 2, b, {}, {}));
          if (own > 0 && (least == 0 || own < least)) least = own;
        }
      if (least == 0) continue;
      auto const found = search::pipeline(chain, wide, m, options);
      ++tried;
      CHECK(found.chosen.memory <= m.memory);
      CHECK(found.seconds() >= least * (1 - 1e-9));
      CHECK(found.lower_bound <= least * (1 + 1e-9));
      raised += found.lower_bound > free.lower_bound * (1 + 1e-6);
      near += found.seconds() <= least * 1.05;
    }
  }
  CHECK(tried > 40);
  CHECK(raised > 10);
  CHECK(10 * near > 9 * tried);
}

TEST_CASE("stages that a layout places on different meshes are brought to one") {
  auto const t = parse_topology("node=8");
  auto m = cluster;
  // On eight ranks, the first stage is placed on a mesh of two axes and the last one on one axis.
  struct factoring {
    search::plan operator()(search::problem const& net, ashlar::topology const& own,
                            ashlar::machine const& on) const {
      bool const split = net.stages_after && own.axes() == 1 && own.extent(0) == 4;
      return search::optimal(net, split ? parse_topology("node=2,other=2") : own, on);
    }
  };
  auto const free = search::pipeline(segmented_net_of(8, 1, 256), t, m, {{2}, {8}}, factoring{});
  // Below this limit, recomputation with the placements of `free` takes longer than a plan in which
  // each stage gets other placements.
  m.memory = free.chosen.memory * 3 / 4;
  auto const found = search::pipeline(segmented_net_of(8, 1, 256), t, m, {{2}, {8}}, factoring{});
  CHECK(found.chosen.memory <= m.memory);
  CHECK(found.chosen.mesh.axes() == 2);
}

TEST_CASE("a search for plans below a known time stops at it") {
  auto const t = parse_topology("node=2,gpu=2");
  auto m = cluster;
  auto const net = segmented_net_of(4, 1, 256)(2);
  auto const free = search::optimal(net, t, m);
  m.memory = free.memory * 3 / 4;
  auto const best = search::optimal(net, t, m);
  auto const same = search::optimal(net, t, m, search::any_choice{},
                                    {.known = best.seconds * (1 + 1e-3)});
  CHECK(same.seconds == relative(best.seconds));
  for (std::int64_t const labels : {0, 1'000'000}) {
    double const known = best.seconds * (1 - best.gap) * 0.999;
    auto const none = search::optimal(net, t, m, search::any_choice{}, {labels, known});
    CHECK(none.size() == 0);
    CHECK(none.seconds <= known);
    CHECK(none.seconds > 0);
    auto const factored = search::optimal_factored(net, t, m, 3, {labels, known});
    CHECK((factored.size() == 0 || factored.seconds < known));
    CHECK(factored.seconds <= known);
  }
  auto const quick = search::optimal(net, t, m, search::any_choice{}, {.labels = 0});
  CHECK(quick.memory <= m.memory);
  CHECK(quick.seconds >= best.seconds * (1 - best.gap) * (1 - 1e-9));
  CHECK(quick.seconds * (1 - quick.gap) <= best.seconds * (1 + 1e-9));
}

TEST_CASE("chains that cannot be cut are refused") {
  auto const t = parse_topology("node=4,gpu=2");
  CHECK_THROWS_WITH_AS(search::pipeline(net_of(4), t, cluster, {{3}, {1}}),
                       doctest::Contains("3 stages of 4 equal blocks on node=4,gpu=2"),
                       ashlar::error);
  auto const uneven = [&](int stages) {
    search::pipeline_options options{{stages}, {1}};
    options.any_cuts = true;
    search::pipeline(net_of(4), t, cluster, options);
  };
  CHECK_THROWS_WITH_AS(uneven(3),
                       doctest::Contains("3 stages of a net that can be cut into at most 6 on "
                                         "node=4,gpu=2: their number must also divide"),
                       ashlar::error);
  CHECK_THROWS_WITH_AS(uneven(8), doctest::Contains("8 stages of a net that can be cut into"),
                       ashlar::error);
  CHECK_THROWS_WITH_AS(search::pipeline(net_of(4), t, cluster, {{8}, {1}}),
                       doctest::Contains("Possible numbers here: 1, 2, 4."), ashlar::error);
  CHECK_THROWS_AS(search::pipeline(net_of(4), t, cluster, {{0}, {1}}), ashlar::error);
  CHECK_THROWS_WITH_AS(search::pipeline(net_of(4), t, cluster, {{2}, {0}}),
                       doctest::Contains("a step needs 1 or more"), ashlar::error);
  auto const wrong = [](int) { return block_net(2, {4, 8}, 16); };
  CHECK_THROWS_WITH_AS(search::pipeline(wrong, t, cluster, {{1}, {2}}),
                       doctest::Contains("2 micro-batches were requested"), ashlar::error);
  auto const repeated = [](int m) {
    auto net = block_net(4, {16, 8}, 64);
    net.micro_batches = m;
    return net;
  };
  for (bool const any_cuts : {false, true}) {
    search::pipeline_options options{{1, 2}, {100'000'000}};
    options.any_cuts = any_cuts;
    CHECK_THROWS_WITH_AS(search::pipeline(repeated, t, cluster, options),
                         doctest::Contains("100000000 micro-batches of 1 element make a program "
                                           "that is too long. Give at most 1048576 micro-batches"),
                         ashlar::error);
    options.stages = {};
    CHECK_THROWS_WITH_AS(search::pipeline(repeated, t, cluster, options),
                         doctest::Contains("make a program that is too long"), ashlar::error);
  }
}

}  // namespace
}  // namespace ashlar_test
