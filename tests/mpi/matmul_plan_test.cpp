// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1

// Tests that the plan of a matrix product is the cheapest one. Every plan first redistributes the
// operands to placements whose product needs no communication. The test tries all pairs of such
// placements, with all orders of shards. The planner must also find the textbook algorithms.

#include <map>

#include <doctest/doctest.h>
#include <support/combinations.hpp>
#include <support/naive_placement.hpp>

#include <ashlar/plan/matmul.hpp>
#include <ashlar/plan/text.hpp>

namespace ashlar_test {
namespace {

using ashlar::collective;
using ashlar::shape;

struct problem {
  shape a, b;
  placement from_a, from_b, to;
  bool ta = false, tb = false;
};

/// Caches the predicted seconds of redistributions.
class prices {
 public:
  prices(ashlar::topology const& t, ashlar::machine const& m) : topology_(t), machine_(m) {}
  double operator()(shape const& s, placement const& from, placement const& to) {
    auto const key = to_string(s) + to_string(from) + to_string(to);
    auto const found = known_.find(key);
    if (found != known_.end()) return found->second;
    return known_[key] = plan_redistribution(s, 4, from, to, topology_, machine_).seconds;
  }

 private:
  ashlar::topology topology_;
  ashlar::machine machine_;
  std::map<std::string, double> known_;
};

double least(problem const& q, ashlar::topology const& t, ashlar::machine const& m) {
  auto const table = ashlar::matmul_signatures(q.ta, q.tb);
  shape const c{q.a[q.ta ? 1 : 0], q.b[q.tb ? 0 : 1]};
  prices price(t, m);
  double best = 1e300;
  auto const states = all_placements(2, t.axes());
  for (auto const& [a, b] : all_combinations(states, states)) {
    auto const result = resolve(table, nullptr, a, b);
    if (!result) continue;
    auto const la = local_box(q.a, t, a, {}), lb = local_box(q.b, t, b, {});
    double const gemm = 2.0 * double(la.elements()) * double(lb[q.tb ? 0 : 1].size) / m.flops;
    best = std::min(best, price(q.a, q.from_a, a) + price(q.b, q.from_b, b) + gemm +
                              price(c, *result, q.to));
  }
  return best;
}

ashlar::matmul_plan plan_of(problem const& q, ashlar::topology const& t, ashlar::machine const& m) {
  return plan_matmul(q.a, q.from_a, q.b, q.from_b, q.ta, q.tb, q.to, 4, t, m);
}

void compare(ashlar::topology const& t, ashlar::machine const& m, int samples) {
  std::mt19937 random(9);
  auto const states = all_placements(2, t.axes());
  auto const any = [&] {
    return states[static_cast<std::size_t>(
        uniform(random, 0, static_cast<int>(states.size()) - 1))];
  };
  for (int i = 0; i < samples; ++i) {
    std::int64_t const rows = uniform(random, 1, 3000), k = uniform(random, 1, 3000),
                       columns = uniform(random, 1, 3000);
    bool const ta = i % 2 == 1, tb = i % 4 >= 2;
    problem const q{ta ? shape{k, rows} : shape{rows, k},
                    tb ? shape{columns, k} : shape{k, columns},
                    any(),
                    any(),
                    any(),
                    ta,
                    tb};
    double const planned = plan_of(q, t, m).seconds, best = least(q, t, m);
    CHECK_MESSAGE(planned <= best * (1 + 1e-9) + 1e-11,
                  planned << " s, but " << best << " s are possible: " << to_string(q.a) << " "
                          << q.from_a << " x " << to_string(q.b) << " " << q.from_b << " -> "
                          << q.to << " @" << t);
  }
}

}  // namespace

TEST_CASE("no local product between other placements is cheaper") {
  for (auto const& m : {ashlar::machines::workstation, ashlar::machines::gpu_cluster}) {
    compare({{"gpu", 3}}, m, 60);
    compare({{"node", 2}, {"gpu", 4}}, m, 60);
    compare({{"a", 2}, {"b", 2}}, m, 60);
    compare({{"node", 2}, {"gpu", 2}, {"core", 2}}, m, 3);
  }
}

TEST_CASE("the costs lead to the textbook algorithms") {
  ashlar::machine const m = ashlar::machines::workstation;
  ashlar::topology const t{{"a", 4}, {"b", 4}};
  auto const p = [](char const* text) { return ashlar::parse_placement(text); };

  // Data parallel: a has many rows, and the small weight b is replicated, so nothing moves.
  auto const data = plan_of({{100000, 64}, {64, 64}, p("S(0),S(0)"), p("B,B"), p("S(0),S(0)")}, t,
                            m);
  CHECK(data.a.is_local());
  CHECK(data.b.is_local());
  CHECK(data.c.is_local());

  // The long inner dimension is split, so only partial results move.
  auto const inner = plan_of({{64, 100000}, {100000, 64}, p("S(1),S(1)"), p("S(0),S(0)"), p("B,B")},
                             t, m);
  CHECK(inner.a.is_local());
  CHECK(inner.b.is_local());
  CHECK(inner.c.from == p("P,P"));

  // 2-D: each operand is gathered along one axis, and the result needs no communication.
  auto const blocks = plan_of(
      {{4096, 4096}, {4096, 4096}, p("S(0),S(1)"), p("S(0),S(1)"), p("S(0),S(1)")}, t, m);
  CHECK(blocks.a.to == p("S(0),B"));
  CHECK(blocks.b.to == p("B,S(1)"));
  CHECK(blocks.c.is_local());

  // 3-D: two axes split the result. The third axis splits the inner dimension, so partial results
  // are reduced and scattered.
  ashlar::topology const cube{{"a", 4}, {"b", 4}, {"c", 4}};
  auto const three = plan_of(
      {{4096, 16384}, {16384, 4096}, p("S(0),B,S(1)"), p("B,S(1),S(0)"), p("S(0),S(1),S(0)")}, cube,
      m);
  CHECK(three.a.is_local());
  CHECK(three.b.is_local());
  CHECK(three.c.from == p("S(0),S(1),P"));
  REQUIRE(three.c.steps.size() == 1);
  CHECK(three.c.steps[0].kind == collective::reduce_scatter);
}

TEST_CASE("the plan is a constant expression, too") {
  constexpr auto plan = plan_matmul({64, 100000}, {ashlar::split(1)}, {100000, 64},
                                    {ashlar::split(0)}, false, false, {ashlar::broadcast()}, 4,
                                    {{"gpu", 4}}, ashlar::machines::workstation);
  static_assert(plan.c.steps.size() == 1 && plan.c.steps[0].kind == collective::all_reduce);
  CHECK(plan.seconds > 0);
}

}  // namespace ashlar_test
