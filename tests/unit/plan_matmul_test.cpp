// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares the plan of a product with all alternatives. An alternative consists of a pair of
// operand placements whose product needs no communication, and the cheapest redistributions of the
// operands and of the result. The operands and the result may be partial with any reduction, and
// memory may be limited. The test computes the peak memory independently, by counting each array
// that is allocated or released.

#include <algorithm>
#include <map>
#include <sstream>

#include <doctest/doctest.h>
#include <support/combinations.hpp>
#include <support/message_of.hpp>
#include <support/naive_placement.hpp>

#include <ashlar/plan/matmul.hpp>
#include <ashlar/plan/matmul_text.hpp>

namespace ashlar_test {
namespace {

using ashlar::collective;
using ashlar::matmul_options;
using ashlar::matmul_plan;
using ashlar::redistribution_plan;
using ashlar::shape;

struct problem {
  shape a, b;
  placement from_a, from_b, to;
  bool ta = false, tb = false;
  shape c() const { return {a[ta ? 1 : 0], b[tb ? 0 : 1]}; }
};

std::string text(problem const& q, ashlar::topology const& t) {
  return to_string(q.a) + " " + to_string(q.from_a) + " x " + to_string(q.b) + " " +
         to_string(q.from_b) + " -> " + to_string(q.to) + " @" + to_string(t);
}

matmul_plan plan_of(problem const& q, ashlar::topology const& t, ashlar::machine const& m,
                    matmul_options const& wanted = {}) {
  return plan_matmul(q.a, q.from_a, q.b, q.from_b, q.ta, q.tb, q.to, 4, t, m, wanted);
}

/// Returns the bytes of rank 0's shard.
std::int64_t shard(redistribution_plan const& plan, placement const& p, ashlar::topology const& t) {
  return local_box(plan.extents, t, p, {}).elements() * plan.element_size;
}

/// Returns the bytes of the buffers in which rank 0 packs its data in a step. Data is sent in
/// chunks of at most 256 KiB. The send and the receive buffer each hold two chunks for every rank
/// of the group, or one chunk if the data fits in one.
std::int64_t buffers(redistribution_plan const& plan, ashlar::redistribution_step const& s,
                     ashlar::topology const& t) {
  std::int64_t const p = t.group_size(s.axes), before = shard(plan, s.from, t),
                     after = shard(plan, s.to, t), chunk = 256 * 1024;
  auto const rounds = [&](std::int64_t block) {
    return 2 * p * std::min(block, chunk) * (block > chunk ? 2 : 1);
  };
  switch (s.kind) {
    case collective::all_gather: {
      auto const whole = local_box(plan.extents, t, s.to, {});
      return s.from[s.axes[0]].dim == 0 || whole[0].size == 1 ? 0 : rounds(before);
    }
    case collective::reduce_scatter: return rounds(after);
    case collective::all_reduce: {
      bool const whole = p == 2 && before <= 32768 * plan.element_size;
      return rounds(whole ? before : (before + p - 1) / p);
    }
    case collective::permute:
      if (is_pairwise(s, t)) return 0;
      [[fallthrough]];
    case collective::all_to_all: {
      auto const x = local_box(plan.extents, t, s.from, {}),
                 y = local_box(plan.extents, t, s.to, {});
      return rounds(std::min(x[0].size, y[0].size) * std::min(x[1].size, y[1].size) *
                    plan.element_size);
    }
    default: return 0;
  }
}

/// Tracks the bytes in use while a plan of a product runs, and their maximum.
class account {
 public:
  explicit account(ashlar::topology const& t) : topology_(t) {}
  void take(std::int64_t bytes) { most = std::max(most, now += bytes); }
  void give(std::int64_t bytes) { now -= bytes; }
  /// Simulates a redistribution. `owned` is the size of the source in bytes if the first step may
  /// release it, else 0. Returns the bytes that the caller has to release later.
  std::int64_t move(redistribution_plan const& plan, std::int64_t owned) {
    for (auto const& s : plan.steps) {
      auto const made = shard(plan, s.to, topology_), packed = buffers(plan, s, topology_);
      take(made);
      take(packed);
      give(packed);
      give(owned);
      owned = made;
    }
    return owned;
  }
  std::int64_t now = 0, most = 0;

 private:
  ashlar::topology const& topology_;
};

std::int64_t replayed_peak(matmul_plan const& plan, ashlar::topology const& t) {
  account bytes(t);
  bytes.take(shard(plan.a, plan.a.from, t));
  bytes.take(shard(plan.b, plan.b.from, t));
  auto const a = bytes.move(plan.a, 0), b = bytes.move(plan.b, 0);
  bytes.take(shard(plan.c, plan.c.from, t));
  bytes.give(a);
  bytes.give(b);
  bytes.move(plan.c, shard(plan.c, plan.c.from, t));
  return bytes.most;
}

struct alternative {
  double seconds;
  std::int64_t peak;
};

/// Returns the seconds and the peak memory of every alternative.
std::vector<alternative> alternatives(problem const& q, ashlar::topology const& t,
                                      ashlar::machine const& m) {
  auto const table = ashlar::matmul_signatures(q.ta, q.tb);
  std::map<std::string, redistribution_plan> known;
  auto const way = [&](shape const& s, placement const& from, placement const& to) {
    auto const key = to_string(s) + to_string(from) + to_string(to);
    auto const found = known.find(key);
    return found != known.end() ? found->second
                                : known[key] = plan_redistribution(s, 4, from, to, t, m);
  };
  std::vector<alternative> all;
  auto const states = all_placements(2, t.axes());
  for (auto const& [a, b] : all_combinations(states, states)) {
    auto const result = resolve(table, nullptr, a, b);
    if (!result) continue;
    matmul_plan plan;
    plan.a = way(q.a, q.from_a, a);
    plan.b = way(q.b, q.from_b, b);
    plan.c = way(q.c(), *result, q.to);
    auto const la = local_box(q.a, t, a, {}), lb = local_box(q.b, t, b, {});
    all.push_back({plan.a.seconds + plan.b.seconds + plan.c.seconds +
                       2.0 * double(la.elements()) * double(lb[q.tb ? 0 : 1].size) / m.flops,
                   replayed_peak(plan, t)});
  }
  return all;
}

problem random_problem(std::mt19937& random, std::vector<placement> const& states, int most) {
  auto const any = [&] {
    return states[static_cast<std::size_t>(
        uniform(random, 0, static_cast<int>(states.size()) - 1))];
  };
  std::int64_t const m = uniform(random, 0, most), k = uniform(random, 0, most),
                     n = uniform(random, 0, most);
  bool const ta = uniform(random, 0, 1) == 1, tb = uniform(random, 0, 1) == 1;
  return {
      ta ? shape{k, m} : shape{m, k}, tb ? shape{n, k} : shape{k, n}, any(), any(), any(), ta, tb};
}

bool is_chain(redistribution_plan const& plan) {
  placement at = plan.from;
  for (auto const& s : plan.steps) {
    if (!(s.from == at)) return false;
    at = s.to;
  }
  return at == plan.to;
}

void compare(ashlar::topology const& t, ashlar::machine const& m,
             std::vector<ashlar::reduction> const& ops, int samples, int most) {
  std::mt19937 random(23);
  auto const states = all_placements(2, t.axes(), ops);
  for (int i = 0; i < samples; ++i) {
    problem const q = random_problem(random, states, most);
    auto const plan = plan_of(q, t, m);
    auto const all = alternatives(q, t, m);
    auto const best = std::min_element(all.begin(), all.end(), [](auto const& x, auto const& y) {
                        return x.seconds < y.seconds;
                      })->seconds;
    CHECK_MESSAGE(std::abs(plan.seconds - best) <= best * 1e-9 + 1e-11, text(q, t));
    CHECK((is_chain(plan.a) && is_chain(plan.b) && is_chain(plan.c)));
    CHECK((plan.a.from == q.from_a && plan.b.from == q.from_b && plan.c.to == q.to));
    auto const local = resolve(ashlar::matmul_signatures(q.ta, q.tb), nullptr, plan.a.to,
                               plan.b.to);
    REQUIRE(local);
    CHECK(*local == plan.c.from);
    CHECK(plan.peak_bytes == replayed_peak(plan, t));
  }
}

}  // namespace

TEST_CASE("no local product costs less, whatever the reductions of the ends") {
  using ashlar::reduction;
  for (auto const& m : {ashlar::machines::workstation, ashlar::machines::gpu_cluster}) {
    compare({{"gpu", 5}}, m, {reduction::sum, reduction::max, reduction::min}, 120, 2000);
    compare({{"a", 2}, {"b", 2}}, m, {reduction::sum, reduction::max, reduction::min}, 60, 2000);
    compare({{"node", 2}, {"gpu", 3}}, m, {reduction::max, reduction::min}, 60, 40);
    compare({{"node", 2}, {"gpu", 2}, {"core", 2}}, m, {reduction::sum, reduction::max}, 3, 2000);
  }
}

TEST_CASE("a memory limit is kept to, by the cheapest plan that does") {
  ashlar::machine const m = ashlar::machines::workstation;
  std::mt19937 random(29);
  int limited = 0, streamed = 0, refused = 0;
  for (auto const& t : {ashlar::topology{{"gpu", 4}}, ashlar::topology{{"node", 2}, {"gpu", 3}}}) {
    auto const states = all_placements(2, t.axes());
    for (int i = 0; i < 80; ++i) {
      problem const q = random_problem(random, states, 600);
      auto const all = alternatives(q, t, m);
      auto const free = plan_of(q, t, m);
      auto const given = shard(free.a, q.from_a, t) + shard(free.b, q.from_b, t);
      std::int64_t const limit = given + (free.peak_bytes - given) * uniform(random, 4, 19) / 20;
      if (limit <= 0) continue;
      double best = 1e300;
      for (auto const& it : all)
        if (it.peak <= limit) best = std::min(best, it.seconds);
      matmul_plan plan;
      try {
        plan = plan_of(q, t, m, {limit});
      } catch (ashlar::error const&) {
        ++refused;
        CHECK_MESSAGE(best == 1e300, text(q, t));
        continue;
      }
      CHECK_MESSAGE(plan.peak_bytes <= limit, text(q, t));
      if (plan.panels.letter != 0) {
        ++streamed;
        CHECK_MESSAGE(best == 1e300, text(q, t));
      } else {
        ++limited;
        CHECK_MESSAGE(std::abs(plan.seconds - best) <= best * 1e-9 + 1e-11, text(q, t));
      }
    }
  }
  CHECK_MESSAGE((limited > 10 && streamed > 10 && refused > 10),
                limited << " " << streamed << " " << refused);
}

TEST_CASE("impossible requests are refused, and the error says what is possible") {
  ashlar::topology const t{{"gpu", 4}};
  problem const q{{64, 64}, {64, 64}, {ashlar::split(0)}, {ashlar::split(0)}, {ashlar::split(0)}};
  auto const m = ashlar::machines::workstation;
  auto const least = message_of([&] { plan_of(q, t, m, {100}); });
  CHECK(has(least, "matmul: no plan of 64x64 times 64x64 on 4 ranks fits 100 bytes per rank; the "
                   "smallest plan needs "));
  auto const number = std::stoll(least.substr(least.find("needs ") + 6));
  CHECK(plan_of(q, t, m, {number}).peak_bytes == number);
  CHECK(has(message_of([&] { plan_of(q, t, m, {number - 1}); }), "Allow more memory per rank"));
  CHECK(has(message_of([&] { plan_of(q, t, m, {0, 'm', 17}); }), "streams 17 panels of 'm'"));
  for (int const panels : {0, -1})
    CHECK(message_of([&] {
            plan_of(q, t, m, {0, 'k', panels});
          }) == "matmul: a dim cannot be streamed in " + std::to_string(panels) +
                    " panels. Set matmul_options::panels to 1 or more.");
  // An operand or a result that one rank of an axis owns is refused, even if it is a partial
  // maximum on another axis.
  ashlar::topology const two{{"a", 2}, {"b", 2}};
  auto const whole = placement::all_broadcast(2);
  for (auto const* text : {"O(0),B", "P(max),O(0)"}) {
    auto const home = ashlar::parse_placement(text);
    CHECK_THROWS_AS(plan_of({{8, 8}, {8, 8}, home, whole, whole}, two, m), std::invalid_argument);
    CHECK_THROWS_AS(plan_of({{8, 8}, {8, 8}, whole, whole, home}, two, m), std::invalid_argument);
  }
}

TEST_CASE("a plan prints its algorithm, its steps and its needs") {
  ashlar::topology const t{{"node", 2}, {"gpu", 2}};
  auto const m = ashlar::machines::workstation;
  auto const print = [&](matmul_plan const& plan) {
    std::ostringstream out;
    out << ashlar::matmul_report{plan, t, m};
    return out.str();
  };
  placement const blocks{ashlar::split(0), ashlar::split(1)};
  problem const q{{4096, 4096}, {4096, 4096}, blocks, blocks, blocks};
  auto const whole = print(plan_of(q, t, m));
  for (char const* part :
       {"matmul 4096x4096 [S(0),S(1)] x 4096x4096 [S(0),S(1)] -> [S(0),S(1)] @node=2,gpu=2: ",
        "32.00 MiB received by rank 0, peak 112.00 MiB\n",
        "  node: m, gpu: n; local product 2048x2048x4096, ",
        "  a all-gather along gpu: [S(0),S(1)] -> [S(0),B], 16.00 MiB, ", "  c stays\n"})
    CHECK_MESSAGE(has(whole, part), part << " in\n" << whole);
  auto const panels = print(plan_of(q, t, m, {0, 'k', 8}));
  for (char const* part :
       {"; 8 panels of k\n", "a each panel: all-gather along gpu: [S(0),S(1)] -> "
                             "[S(0),B], 2.00 MiB, "})
    CHECK_MESSAGE(has(panels, part), part << " in\n" << panels);
  auto const p = ashlar::partial();
  auto const whole_everywhere = placement::all_broadcast(2);
  problem const vector{{1000, 1000},
                       {1000, 1},
                       {p, ashlar::split(1)},
                       {ashlar::broadcast(), ashlar::split(0)},
                       whole_everywhere};
  CHECK(has(print(plan_of(vector, t, m)), "  node: addends of a, gpu: k; "));
}

}  // namespace ashlar_test
