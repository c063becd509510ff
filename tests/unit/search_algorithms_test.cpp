// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests every search algorithm through the common interface. Each algorithm must
// - find the optimum of small networks,
// - report a lower bound that is not above the cost of its plan,
// - give the same result for the same seed,
// - stop when it is cancelled, and
// - report the true cost of its plan.

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/relative.hpp>

#include <ashlar/mesh/text.hpp>
#include <ashlar/search/algorithms.hpp>
#include <ashlar/search/appraise.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/best_topology.hpp>

#include "search_combinations.hpp"
#include "search_nets.hpp"

namespace ashlar_test {
namespace {

using ashlar::parse_topology;
using doctest::Approx;
using search::ending;

/// Checks that the costs in a result agree with its plan and with its lower bound.
void check_claims(search::problem const& net, search::search_result const& r,
                  ashlar::machine const& m) {
  REQUIRE(r.plan.size() == net.size());
  CHECK(r.plan.seconds == relative(total_cost(net, r.plan, m).seconds()));
  CHECK(r.plan.memory == memory_per_rank(net, r.plan));
  if (m.memory > 0) CHECK(r.plan.memory <= m.memory);
  CHECK(r.plan.problem_hash == hash(net));
  CHECK(r.lower_bound <= r.plan.seconds);
  CHECK(r.lower_bound >= 0);
  CHECK(r.gap >= 0);
  CHECK(r.gap == Approx(1 - r.lower_bound / r.plan.seconds));
  CHECK(r.plan.gap == r.gap);
  for (int i = 0; i < net.size(); ++i) {
    auto const legal = search::layer_choices(net.spec(i), r.plan.mesh);
    CHECK(std::find(legal.begin(), legal.end(), r.plan[i]) != legal.end());
    if (net[i].kind == search::element_kind::residual_end)
      CHECK(r.plan[i] == r.plan[net[i].partner]);
  }
}

/// Runs any algorithm. The default coldness (inverse temperature) of Metropolis-Hastings was chosen
/// for large networks, so these tiny networks get a far lower one.
search::search_result run(search::algorithm const& a, search::problem const& net,
                          ashlar::topology const& t, ashlar::machine const& m,
                          search::options const& o) {
  if (std::string(a.name) == "metropolis_hastings")
    return metropolis_hastings(net, t, m, o, {.coldness = 3});
  return a.run(net, t, m, o);
}

TEST_CASE("every algorithm finds the optimum of small nets, and certifies it") {
  random_cases draw(11);
  for (int done = 0; done < 60;) {
    auto const t = draw.mesh();
    auto const m = draw.machine();
    auto const net = draw.net();
    if (combinations(net, t) > 1500) continue;
    ++done;
    auto const best = optimal(net, t, m);
    for (auto const& a : search::algorithms())
      for (bool const whole : {false, true}) {
        CAPTURE(done);
        CAPTURE(a.name);
        auto const r = run(a, net, t, m, {.seed = 5, .evaluations = 200'000, .whole_space = whole});
        check_claims(net, r, m);
        CHECK(r.plan.seconds == relative(best.seconds));
        CHECK(r.gap <= 1e-9);
        CHECK(r.how == ending::finished);
        CHECK(r.evaluations >= 1);
      }
  }
}

TEST_CASE("every algorithm obeys a memory limit, with the dual's bound, so a gap may remain") {
  random_cases draw(12);
  int limited = 0, certified = 0;
  for (int done = 0; done < 60;) {
    auto const t = draw.mesh();
    auto m = draw.machine();
    auto const net = draw.net();
    if (combinations(net, t) > 800) continue;
    ++done;
    auto const fastest = optimal(net, t, m);
    m.memory = fastest.memory - 1 - fastest.memory / 50;
    if (m.memory < 1) continue;
    double best = 0;
    try {
      best = optimal(net, t, m).seconds;
    } catch (ashlar::error const&) {
      for (auto const& a : search::algorithms())
        CHECK(has(message_of([&] { a.run(net, t, m, {.evaluations = 10}); }), "least possible"));
      continue;
    }
    ++limited;
    for (auto const& a : search::algorithms()) {
      CAPTURE(done);
      CAPTURE(a.name);
      auto const r = run(a, net, t, m, {.seed = 5, .evaluations = 50'000});
      check_claims(net, r, m);
      CHECK(r.plan.seconds == relative(best));
      CHECK(r.lower_bound <= best * (1 + 1e-9));
      if (!a.endless) CHECK(r.gap <= 1e-9);
      certified += a.endless && r.how == ending::finished;
    }
  }
  CHECK(limited > 15);
  CHECK(certified > 0);
}

TEST_CASE("random search excludes plans over the limit, and reports if it drew no other") {
  auto const net = block_net(2, {8, 64}, 64);
  auto const t = parse_topology("node=2,gpu=2");
  auto m = ashlar::machines::gpu_cluster;
  search::chain_model<-1> model(net, t, m, search::any_choice{}, search::pruning::keep_all);
  ashlar::scratch<int> lean(static_cast<std::size_t>(net.size()));
  m.memory = search::detail::least_memory(model, lean).bytes;
  CHECK(has(message_of([&] { random_search(net, t, m, {.seed = 1, .evaluations = 50}); }),
            "no plan that fits"));
  auto small = m;
  small.memory = m.memory - 1;
  CHECK(has(message_of([&] { random_search(net, t, small, {.seed = 1, .evaluations = 50}); }),
            "search::random_search: "));
  // Random and exhaustive search may evaluate plans that do not fit in memory. The other algorithms
  // start at a plan that fits, and visit only such plans.
  for (auto const& a : search::algorithms()) {
    if (std::string(a.name) == "random_search" || std::string(a.name) == "exhaustive") continue;
    CAPTURE(a.name);
    check_claims(net, a.run(net, t, m, {.seed = 1, .evaluations = 2'000}), m);
  }
}

TEST_CASE("equal seeds and evaluations give equal results; progress never decreases") {
  auto const net = block_net(3, {8, 64}, 64);
  auto const t = parse_topology("node=2,gpu=4");
  auto m = ashlar::machines::gpu_cluster;
  for (std::int64_t const memory : {std::int64_t{0}, optimal(net, t, m).memory * 9 / 10}) {
    m.memory = memory;
    for (auto const& a : search::algorithms()) {
      CAPTURE(a.name);
      CAPTURE(memory);
      // The reports of new best plans are the same in both runs. The other reports depend on the
      // clock.
      std::vector<search::progress> first, second;
      search::progress last;
      auto const keep_in = [&](std::vector<search::progress>& list) {
        return [&](search::progress const& p) {
          if (p.best > 0 && (list.empty() || list.back().best != p.best)) list.push_back(p);
          last = p;
        };
      };
      // Exhaustive search evaluates many plans before the first one that fits in memory.
      bool const all = std::string(a.name) == "exhaustive";
      search::options o{.seed = 7, .evaluations = all ? 3'000'000 : 20'000};
      o.on_progress = keep_in(first);
      auto const one = a.run(net, t, m, o);
      o.on_progress = keep_in(second);
      auto const two = a.run(net, t, m, o);
      CHECK(fingerprint(one.plan) == fingerprint(two.plan));
      CHECK(one.plan.seconds == two.plan.seconds);
      CHECK(one.lower_bound == two.lower_bound);
      CHECK(one.evaluations == two.evaluations);
      CHECK(one.how == two.how);
      check_claims(net, one, m);
      REQUIRE(first.size() == second.size());
      REQUIRE(!first.empty());
      for (std::size_t i = 0; i < first.size(); ++i) {
        CHECK(std::string(first[i].algorithm) == a.name);
        CHECK(first[i].best == second[i].best);
        CHECK(first[i].evaluations == second[i].evaluations);
        if (first[i].best > 0) CHECK(first[i].lower_bound <= first[i].best * (1 + 1e-9));
        if (i == 0) continue;
        CHECK(first[i].seconds >= first[i - 1].seconds);
        CHECK(first[i].evaluations >= first[i - 1].evaluations);
        if (first[i - 1].best > 0) CHECK(first[i].best <= first[i - 1].best);
      }
      CHECK(last.best == two.plan.seconds);
      CHECK(last.lower_bound == two.lower_bound);
      CHECK(last.evaluations == two.evaluations);
    }
    auto const other = [&](std::uint64_t seed) {
      return random_search(net, t, m, {.seed = seed, .evaluations = 2'000}).plan.seconds;
    };
    CHECK(other(1) != other(2));
  }
}

TEST_CASE("a cancelled search returns its best so far, or says that it has none") {
  auto const net = block_net(3, {8, 64}, 64);
  auto const t = parse_topology("node=2,gpu=4");
  auto m = ashlar::machines::gpu_cluster;
  m.memory = optimal(net, t, m).memory * 8 / 10;
  for (auto const& a : search::algorithms()) {
    CAPTURE(a.name);
    std::stop_source stop;
    search::options o{.seed = 3};
    o.cancel = stop.get_token();
    double best = 0;
    std::int64_t told = 0;
    o.on_progress = [&](search::progress const& p) {
      best = p.best;
      if (p.best > 0 && told == 0) {
        stop.request_stop();
        told = p.evaluations;
      }
    };
    auto const r = a.run(net, t, m, o);
    CHECK(r.how == ending::cancelled);
    CHECK(r.evaluations == told);  // no evaluation after the cancellation
    CHECK(r.plan.seconds == best);
    check_claims(net, r, m);
    // This run is cancelled before it finds its first plan.
    CHECK(has(message_of([&] { a.run(net, t, m, o); }), "cancelled"));
  }
}

TEST_CASE("budgets end a search; a walk without one is refused") {
  auto const net = block_net(3, {8, 64}, 64);
  auto const t = parse_topology("node=2,gpu=4");
  auto const m = ashlar::machines::gpu_cluster;
  for (auto const& a : search::algorithms()) {
    CAPTURE(a.name);
    if (!a.endless) continue;
    auto const few = a.run(net, t, m, {.evaluations = 10});
    CHECK(few.evaluations == 10);
    CHECK(few.how == ending::out_of_budget);
    CHECK(few.gap > 0);
    check_claims(net, few, m);
    auto const brief = a.run(net, t, m, {.seconds = 1e-9});
    CHECK(brief.how == ending::out_of_budget);
    CHECK(has(message_of([&] { a.run(net, t, m, {}); }), "Give it a budget"));
  }
  // The search trusts a lower bound that the caller gives, and ends when a plan reaches this bound.
  double const known = optimal(net, t, m).seconds;
  auto const r = coordinate_descent(net, t, m, {.evaluations = 300'000, .lower_bound = known});
  CHECK(r.how == ending::finished);
  CHECK(r.plan.seconds == relative(known));
}

TEST_CASE("a changed choice costs what the complete plan says, also in memory") {
  random_cases draw(13);
  int changes = 0;
  for (int round = 0; round < 60; ++round) {
    auto const t = draw.mesh();
    auto const m = draw.machine();
    auto const net = draw.net();
    search::chain_model<-1> model(net, t, m, search::any_choice{}, search::pruning::keep_all);
    auto const memory_of_plan = [&](search::assignment<-1> const& it) {
      return make_plan(model, it.path()).memory;
    };
    search::counted_memory<-1> const counted(model);
    search::assignment<-1> now(model, std::int64_t{1} << 60);
    for (int step = 0; step < 25; ++step, ++changes) {
      int const v = draw.below(now.variables()), k = draw.below(now.choices(v));
      double const expected = now.weight_with(v, k);
      search::assignment<-1> then = now;
      then.choose(v, k);
      auto const whole = search::detail::cost_of_path(model, counted, then.path());
      CHECK(expected == relative(whole.weight));
      CHECK(then.weight() == relative(whole.weight));
      CHECK(search::chain_memory<-1>(model).of(then.path()) == memory_of_plan(then));
      CHECK(whole.counted <= memory_of_plan(then));
      for (std::int64_t const slack : {0, -1}) {
        search::assignment<-1> limited(model, memory_of_plan(then) + slack);
        for (int u = 0; u < now.variables(); ++u) limited.set(u, now.choice(u));
        limited.settle();
        CHECK(limited.fits_with(v, k) == (slack == 0));
        limited.choose(v, k);
        CHECK(limited.fits() == (slack == 0));
      }
      now.choose(v, k);
      CHECK(now.weight() == then.weight());
    }
  }
  CHECK(changes == 1500);
}

TEST_CASE("a filter narrows every algorithm in the same way") {
  auto const net = mlp(3, 12, 6);
  auto const t = parse_topology("a=2,b=2");
  auto const m = ashlar::machines::workstation;
  auto const odd = [](int i, search::layer_choice const& c) {
    return i % 2 == 0 || !c.x[0].is_split();
  };
  double const best = optimal(net, t, m, odd).seconds;
  CHECK(best >= optimal(net, t, m).seconds);
  for (auto const& a : search::algorithms()) {
    CAPTURE(a.name);
    auto const r = run(a, net, t, m, {.evaluations = 300'000, .permits = odd});
    check_claims(net, r, m);
    CHECK(r.plan.seconds == relative(best));
    for (int i = 0; i < net.size(); ++i) CHECK(odd(i, r.plan[i]));
    CHECK(has(message_of([&] {
                a.run(net, t, m,
                      {.evaluations = 10, .permits = [](int i, auto const&) { return i != 1; }});
              }),
              "layer 1 (gelu)"));
  }
}

TEST_CASE("another plan is appraised with its gap, and refused if it does not fit the net") {
  auto const net = block_net(2, {8, 64}, 64);
  auto const t = parse_topology("node=2,gpu=2");
  auto m = ashlar::machines::gpu_cluster;
  auto const best = optimal(net, t, m), data = data_parallel(net, t, m);
  auto const good = appraise(net, best, m), poor = appraise(net, data, m);
  check_claims(net, good, m);
  check_claims(net, poor, m);
  CHECK(good.gap <= 1e-9);
  CHECK(poor.lower_bound == relative(best.seconds));
  CHECK(poor.gap == Approx(1 - best.seconds / data.seconds));
  CHECK(fingerprint(poor.plan) == fingerprint(data));
  auto wrong = data;
  wrong.choices[2].y = wrong.choices[2].dy;
  wrong.choices[2].y.axis[0] = ashlar::partial();
  CHECK(has(message_of([&] { appraise(net, wrong, m); }),
            "element 2 (layer_norm) has a placement that"));
  wrong = data;
  REQUIRE(net[1].kind == search::element_kind::residual_begin);
  for (auto const& c : search::layer_choices(net.spec(1), t))
    if (!(c == data[1])) wrong.choices[1] = c;
  CHECK(has(message_of([&] { appraise(net, wrong, m); }), "begins its residual"));
  wrong.choices.pop_back();
  CHECK(has(message_of([&] { appraise(net, wrong, m); }), "Give a plan of this net"));
  m.memory = data.memory - 1;
  CHECK(has(message_of([&] { appraise(net, data, m); }), "more than the"));
  check_claims(net, appraise(net, optimal(net, t, m), m), m);
}

TEST_CASE("a plan that is faster than the bound of the listed choices has no bound") {
  auto const net = block_net(2, {8, 64}, 64);
  auto const t = parse_topology("node=2,gpu=2");
  auto m = ashlar::machines::gpu_cluster;
  m.inter.beta *= 1000;
  auto const exact = data_parallel(net, t, m);
  auto encoded = exact;
  for (auto& c : encoded.choices)
    for (auto& p : c.parameters)
      if (p.grad.has_partial()) p.wire.kind = ashlar::wire_kind::bf16;
  search::options only;
  only.permits = [&](int i, search::layer_choice const& c) { return c == exact[i]; };
  CHECK(appraise(net, exact, m, only).gap == 0);
  auto const r = appraise(net, encoded, m, only);
  CHECK(r.plan.seconds < exact.seconds);
  CHECK(r.gap == 1);
  CHECK(r.lower_bound == 0);
  CHECK(exact.gap == 1);
  CHECK(megatron(net, t, m).gap == 1);
}

TEST_CASE("algorithms that list all choices of a layer refuse meshes of more than four axes") {
  auto const net = mlp(3, 64, 32);
  auto const five = parse_topology("a=2,b=2,c=2,d=2,e=2");
  auto const m = ashlar::machines::gpu_cluster;
  auto const best = optimal(net, five, m);
  char const* const said = "this search supports at most 4 axes";
  for (auto const& a : search::algorithms()) {
    CAPTURE(a.name);
    if (std::string(a.name) == "exact") continue;
    CHECK(has(message_of([&] { a.run(net, five, m, {.evaluations = 10}); }), said));
  }
  CHECK(has(message_of([&] { appraise(net, best, m); }), said));
  CHECK(appraise(net, best, m, {.lower_bound = best.seconds}).gap == 0);
}

TEST_CASE("a net without layers is refused; an unknown name lists the known") {
  for (auto const& a : search::algorithms()) {
    CHECK(has(message_of([&] { a.run({}, parse_topology("a=2"), {}, {.evaluations = 10}); }),
              "the chain has no layers"));
    CHECK((search::algorithm_named(a.name).run == a.run));
  }
  auto const text = message_of([] { search::algorithm_named("simplex"); });
  CHECK(has(text, "\"simplex\""));
  CHECK(has(text, "exact, exhaustive, random_search, metropolis_hastings, coordinate_descent"));
}

}  // namespace
}  // namespace ashlar_test
