// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the planning of crossings between two meshes: the unit tasks and their orders. The list
// orders of the paper on cross-mesh resharding send whole tasks, and must take the times that
// follow from its table 2. The library's order must reach the lower bound within 1 %. Ports are
// numbered from 0. A task is written as {size, senders, receivers}.

#include <map>
#include <numeric>
#include <random>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/port_problems.hpp>
#include <support/relative.hpp>
#include <support/table_2.hpp>

#include <ashlar/placement/text.hpp>
#include <ashlar/plan/crossing/algorithms.hpp>
#include <ashlar/plan/crossing/chunks.hpp>
#include <ashlar/plan/crossing/plan_crossing.hpp>
#include <ashlar/plan/crossing/transfers.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar;

topology const five_nodes({{"node", 5}, {"gpu", 4}});
shape const of_figure_6{{48, 96, 24}};

port_problem ports_of(case_of_table_2 const& c) {
  auto const source = some_nodes(five_nodes, 0, c.send[0], c.send[1]);
  auto const target = some_nodes(five_nodes, c.send[0], c.receive[0], c.receive[1]);
  return ports_of(unit_tasks(of_figure_6, source, parse_placement(c.from), target,
                             parse_placement(c.to)),
                  five_nodes)
      .between;
}

/// Checks that a schedule moves each element of each task to each receiver exactly once. Also
/// checks that a port sends to only one port and receives from only one port in a round, and that
/// the data of a hop move in order.
void check_schedule(port_problem const& p, port_schedule const& s) {
  std::map<int, std::int64_t> shared;
  for (auto const& c : s.shares) {
    auto const& t = p.tasks[static_cast<std::size_t>(c.task)];
    CHECK(c.begin == shared[c.task]);
    shared[c.task] += c.size;
    CHECK(std::find(t.senders.begin(), t.senders.end(), c.chain.front()) != t.senders.end());
    std::vector<int> receivers(c.chain.begin() + 1, c.chain.end());
    std::sort(receivers.begin(), receivers.end());
    CHECK(receivers == t.receivers);
    CHECK(s.hops >= static_cast<int>(receivers.size()));
  }
  for (std::size_t i = 0; i < p.tasks.size(); ++i)
    CHECK(shared[static_cast<int>(i)] == p.tasks[i].size);
  std::map<std::pair<int, int>, std::int64_t> moved;  // elements moved, by share and hop
  for (auto const& r : s.rounds) {
    std::map<int, int> sends_to, receives_from;
    std::map<int, std::int64_t> sent;
    for (auto const& piece : r.pieces) {
      auto const& chain = s.shares[static_cast<std::size_t>(piece.share)].chain;
      int const from = chain[static_cast<std::size_t>(piece.hop)];
      int const to = chain[static_cast<std::size_t>(piece.hop) + 1];
      CHECK(sends_to.emplace(from, to).first->second == to);
      CHECK(receives_from.emplace(to, from).first->second == from);
      sent[from] += piece.size;
      auto& done = moved[{piece.share, piece.hop}];
      CHECK(piece.begin == done);
      done += piece.size;
    }
    for (auto const& [port, size] : sent) CHECK(size <= r.size);
  }
  for (std::size_t i = 0; i < s.shares.size(); ++i)
    for (std::size_t h = 0; h + 1 < s.shares[i].chain.size(); ++h)
      CHECK(moved[{static_cast<int>(i), static_cast<int>(h)}] == s.shares[i].size);
}

}  // namespace

TEST_CASE("table 2: tasks, the paper's orders, the bound, and the order that reaches it") {
  for (auto const& c : table_2) {
    CAPTURE(c.from);
    CAPTURE(c.to);
    auto const p = ports_of(c);
    auto const part_of_tensor = [&](double fraction) {
      return doctest::Approx(fraction * double(of_figure_6.elements()));
    };
    CHECK(p.tasks.size() == c.tasks);
    CHECK(double(naive_order(p).length) == part_of_tensor(c.naive));
    CHECK(double(balanced_order(p).length) == part_of_tensor(c.balanced));
    CHECK(double(least_elements(p)) == part_of_tensor(c.bound));
    auto const ours = pipelined_order(p);
    check_schedule(p, ours);
    CHECK(double(ours.elements()) <= 1.01 * double(ours.least_elements));
    CHECK(ours.least_elements == least_elements(p));
    auto const greedy = greedy_order(p);
    CHECK(greedy.length == length_of(p, greedy));
    CHECK(greedy.length >= ours.least_elements);
    if (c.tasks <= 4) CHECK(double(depth_first_order(p).length) == part_of_tensor(c.bound));
  }
}

TEST_CASE("each element of a tensor reaches each rank of the target once") {
  auto const halves = parts_along(topology({{"stage", 2}, {"node", 2}, {"gpu", 2}}), "stage");
  char const* const placements[] = {"B,B",       "S(0),B",        "B,S(1)",
                                    "S(0),S(0)", "S(0,1),S(0,0)", "S(1),S(0)"};
  for (shape const& s : {shape{{5, 3}}, shape{{1, 7}}, shape{{0, 4}}, shape{{8, 8}}})
    for (auto const* from : placements)
      for (auto const* to : placements) {
        auto const target = parse_placement(to);
        auto const tasks = unit_tasks(s, halves[0], parse_placement(from), halves[1], target);
        std::map<int, std::int64_t> received;
        for (auto const& t : tasks) {
          CHECK(t.region.elements() > 0);
          for (int const r : t.receivers) received[r] += t.region.elements();
          for (int const r : t.owners) CHECK(r < 4);
        }
        for (int i = 0; i < 4; ++i)
          CHECK(received[halves[1].ranks[static_cast<std::size_t>(i)]] ==
                local_box(s, halves[1].axes, target, halves[1].axes.coordinates_of(i)).elements());
      }
}

TEST_CASE("small problems: the search finds the shortest list order, and ours is never longer") {
  std::mt19937 random(1);
  for (int turn = 0; turn < 500; ++turn) {
    auto const p = random_problem(random, 1 + turn % 3, 1 + turn / 3 % 3, 1 + turn % 6, 3);
    auto const best = shortest(p);
    CHECK(depth_first_order(p).length == best);
    auto const ours = pipelined_order(p);
    check_schedule(p, ours);
    CHECK(double(ours.elements()) <= 1.01 * double(ours.least_elements));
    CHECK(ours.least_elements <= best);
    for (auto const& o : {naive_order(p), balanced_order(p), greedy_order(p, 3, 10)}) {
      CHECK(o.length == length_of(p, o));
      CHECK(o.length >= best);
    }
    if (turn % 5 != 0) continue;
    for (auto const& algorithm : crossing_algorithms) {
      CAPTURE(algorithm.name);
      CHECK(algorithm.length(p) >= (algorithm.cuts_tasks ? ours.least_elements : best));
    }
  }
}

TEST_CASE("large problems reach the bound") {
  std::mt19937 random(2);
  for (int turn = 0; turn < 20; ++turn) {
    auto const p = random_problem(random, 16, 16, 1000, turn % 2 == 0 ? 1 : 4);
    auto const ours = pipelined_order(p);
    CHECK(double(ours.elements()) <= 1.01 * double(ours.least_elements));
    CHECK(ours.hops <= 4);
    if (turn < 2) check_schedule(p, ours);
  }
}

TEST_CASE("the bound of the senders counts what only some of them have") {
  // Only port 0 holds the 20 elements of the first task. Ports 1 and 2 hold all other elements and
  // can send them with loads of 10 and 16. So the least possible load of the busiest port is 20.
  port_problem const p{4, {{20, {0}, {3}}, {10, {1, 0}, {3}}, {6, {2}, {3}}, {10, {0, 2}, {3}}}};
  CHECK(share_senders(p, 0).least_load == 20);
  CHECK(share_senders({3, {{9, {0, 1}, {2}}}}, 0).least_load == 5);
  CHECK(least_elements({3, {{9, {0, 1}, {2}}}}) == 9);
}

TEST_CASE("replayed message by message, every rank of the target gets its shard") {
  machine slow = machines::gpu_cluster;
  // With these small latencies, even small tensors are sent in many chunks.
  slow.inter = {1e-9, 1e-9}, slow.intra = {1e-10, 2e-10};
  topology const whole({{"node", 5}, {"gpu", 4}});
  int const first[]{0, 1, 4, 5}, second[]{2, 3, 6, 7}, three[]{8, 9, 10}, six[]{2, 6, 7, 8, 9, 10},
      nine[]{8, 9, 10, 12, 13, 14, 16, 17, 18};
  std::vector<mesh_part> const parts{
      part_of(whole, first, {{"a", 2}, {"b", 2}}), part_of(whole, second, {{"a", 2}, {"b", 2}}),
      part_of(whole, three, {{"a", 3}, {"b", 1}}), part_of(whole, six, {{"a", 2}, {"b", 3}}),
      part_of(whole, nine, {{"a", 3}, {"b", 3}})};
  char const* const placements[] = {"B,B",       "S(0),B",        "B,S(1)",
                                    "S(0),S(0)", "S(0,1),S(0,0)", "S(1),S(0)"};
  int relayed = 0;  // the number of messages that are sent by ranks outside the source
  int cut = 0;      // the number of shares that are not whole tasks
  for (auto const& [a, b] : {std::pair{0, 1}, {0, 2}, {2, 0}, {0, 3}, {3, 0}, {0, 4}, {4, 0}})
    for (shape const& s : {shape{{7, 6}}, shape{{1, 5}}, shape{{0, 3}}, shape{{16, 12}}})
      for (auto const* from : placements)
        for (auto const* to : placements) {
          auto const &source = parts[std::size_t(a)], &target = parts[std::size_t(b)];
          auto const sent = parse_placement(from), received = parse_placement(to);
          auto const c = plan_crossing(s, 4, source, sent, target, received, whole, slow);
          CHECK(c.seconds >= c.bound * (1 - 1e-12));
          std::map<int, int> sends, receives;  // the number of messages of each rank
          for_each_transfer(c, whole, [&](crossing_transfer const& t) {
            ++sends[t.from];
            ++receives[t.to];
          });
          for (auto const* of : {&sends, &receives})
            for (auto const& entry : *of) {
              int const rank = entry.first, messages = entry.second;
              CHECK(c.seconds >= messages * slow.intra.alpha);
              int own = 0;
              for_each_transfer(
                  c, whole,
                  [&](crossing_transfer const& t) {
                    own += (of == &sends ? t.from : t.to) == rank;
                  },
                  rank);
              CHECK(own == messages);
            }
          for (auto const& share : c.between.shares)
            cut += share.size < c.tasks[std::size_t(share.task)].region.elements();
          // has[{rank, task}] contains one number for each element of the task's region: 0 if the
          // rank does not have the element, 1 if the rank had it from the beginning, else 2 + the
          // number of the group of messages that brought it.
          std::map<std::pair<int, int>, std::vector<int>> has;
          std::map<int, std::int64_t> in;
          std::map<int, int> last;                   // the last group of each rank
          std::map<std::pair<int, int>, int> count;  // the messages of each rank in each group
          for (std::size_t i = 0; i < c.tasks.size(); ++i) {
            auto const n = static_cast<std::size_t>(c.tasks[i].region.elements());
            for (int const r : c.tasks[i].owners) has[{r, int(i)}].assign(n, 1);
            for (int const r : c.tasks[i].receivers) has[{r, int(i)}].assign(n, 0);
          }
          for_each_transfer(c, whole, [&](crossing_transfer const& t) {
            auto const& own = c.tasks[std::size_t(t.task)];
            bool const is_owner = std::find(own.owners.begin(), own.owners.end(), t.from) !=
                                  own.owners.end();
            relayed += !is_owner;
            auto &give = has[{t.from, t.task}], &take = has[{t.to, t.task}];
            for (auto k = t.begin; k < t.begin + t.size; ++k) {
              CHECK(give.at(std::size_t(k)) > 0);
              CHECK(give.at(std::size_t(k)) < 2 + t.group);  // an earlier group brought it
              CHECK(take.at(std::size_t(k)) == 0);
              take[std::size_t(k)] = 2 + t.group;
            }
            for (int const r : {t.from, t.to}) {
              CHECK(last[r] <= t.group);
              last[r] = t.group;
              CHECK(++count[{r, t.group}] <= 256);  // NCCL has hung with more messages in a group
            }
            in[t.to] += t.size;
          });
          for (int i = 0; i < target.axes.ranks(); ++i) {
            int const r = target.ranks[std::size_t(i)];
            auto const own = local_box(s, target.axes, received, target.axes.coordinates_of(i));
            CHECK(in[r] == own.elements());
          }
          for (auto const& [where, elements] : has)
            CHECK(std::count(elements.begin(), elements.end(), 0) == 0);
        }
  CHECK(relayed > 0);
  CHECK(cut > 0);
}

TEST_CASE("the number of chunks is that of least seconds") {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> any(0, 1);
  crossing_stage const none;
  auto const least = [](crossing_stage const& a, crossing_stage const& b, int most) {
    double seconds = crossing_seconds(a, b, 1);
    for (int k = 2; k <= most; ++k) seconds = std::min(seconds, crossing_seconds(a, b, k));
    return seconds;
  };
  for (int turn = 0; turn < 200; ++turn) {
    crossing_stage const one{1 + turn % 6, 1e-4 * any(random), any(random)};
    for (int most : {1, 7, 2000})
      CHECK(crossing_seconds(one, none, best_chunks(one, none, most)) <=
            least(one, none, most) * (1 + 1e-12));
    crossing_stage const two{turn % 4, 1e-5 * any(random), 0.3 * any(random)};
    CHECK(crossing_seconds(one, two, best_chunks(one, two, 2000)) <= 1.05 * least(one, two, 2000));
  }
  // Sends 1 GiB from one node along a chain of four other nodes, over four links of 10 Gb/s. With
  // many chunks, this takes little longer than sending 1 GiB over one link.
  port_schedule const s = pipelined_order({5, {{1 << 28, {0}, {1, 2, 3, 4}}}});
  crossing_stage const chain{s.hops, 50e-6, double(1 << 28) * 4 * 0.8e-9};
  int const chunks = best_chunks(chain, none, 1 << 20);
  CHECK(crossing_seconds(chain, none, chunks) < 1.05 * chain.transfer);
  CHECK(crossing_seconds(chain, none, 1) == relative(4 * chain.transfer, 0.01));
}

TEST_CASE("no message of a crossing has more than a GiB, even if fewer chunks are asked for") {
  topology const whole({{"stage", 2}, {"gpu", 2}});
  auto const halves = parts_along(whole, "stage");
  auto const chunks = [&](std::int64_t rows, int asked) {
    auto const at = parse_placement("B");
    return plan_crossing({{rows, 1 << 16}}, 4, halves[0], at, halves[1], at, whole,
                         machines::gpu_cluster, asked)
        .chunks;
  };
  CHECK(chunks(1 << 15, 1) == 8);  // 8 GiB
  CHECK(chunks((1 << 15) + 1, 1) == 9);
  CHECK(chunks(1 << 15, 20) == 20);
  CHECK(chunks(1 << 12, 1) == 1);  // 1 GiB
}

TEST_CASE("parts of a mesh: tiers, shapes and bad input") {
  topology const whole({{"node", 2}, {"gpu", 4}});
  auto const stages = parts_along(whole, "node");
  CHECK(stages.size() == 2);
  CHECK(stages[1].ranks == std::vector<int>{4, 5, 6, 7});
  CHECK(stages[1].axes == topology({{"gpu", 4}}));
  int const some[]{1, 5, 2, 6};
  auto const p = part_of(whole, some, {{"a", 2}, {"b", 2}});
  CHECK(p.axes.axis[0].tier == link_tier::intra_node);
  CHECK(p.axes.axis[1].tier == link_tier::inter_node);
  CHECK(node_of(whole, 5) == 1);
  int const twice[]{1, 1};
  CHECK(has(message_of([&] { part_of(whole, twice, {{"a", 2}}); }), "rank 1 is given twice."));
  int const outside[]{1, 8};
  CHECK(has(message_of([&] {
              part_of(whole, outside, {{"a", 2}});
            }),
            "rank 8 is not one of the mesh, which has 8."));
  CHECK(has(message_of([&] {
              part_of(whole, some, {{"a", 3}});
            }),
            "4 ranks are given, but the shape holds 3."));
  CHECK(has(message_of([&] { parts_along(whole, "rack"); }), "has no axis rack."));
}

}  // namespace ashlar_test
