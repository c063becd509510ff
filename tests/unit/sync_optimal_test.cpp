// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares the strategies that sync::optimal chooses with all assignments of strategies, on random
// problems, meshes, machines and memory limits. The seconds and the memory of an assignment are
// those of the whole plan, and are computed without any code of sync::optimal. With overlap, the
// seconds are those of the timeline.

#include <limits>

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/search/baselines.hpp>
#include <ashlar/sync/named.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

namespace sync = ashlar::sync;

/// Tries all assignments of strategies to the parameters of a plan.
class all_assignments {
 public:
  all_assignments(search::problem const& net, search::plan const& plan, ashlar::machine const& m)
      : net_(net), now_(plan), prices_(plan.mesh, m) {
    for (int i = 0; i < net.size(); ++i)
      for (int k = 0; k < plan[i].parameters.size(); ++k) {
        auto const& spec = net.spec(i).parameters[k];
        if (spec.tie == search::tie_role::later) continue;
        parameters_.push_back(
            {i, k, sync::strategies(plan[i].parameters[k], spec.extents, plan.mesh)});
        count_ *= double(parameters_.back().strategies.size());
      }
  }
  double count() const { return count_; }

  /// Calls f(seconds, memory) for each assignment.
  template <class F>
  void for_each_cost(F f) {
    for_each([&](search::plan const& p) {
      f(total_cost(net_, p, prices_).seconds(), memory_per_rank(net_, p));
    });
  }

  /// Calls f(plan) for each assignment.
  template <class F>
  void for_each(F f, std::size_t next = 0) {
    if (next == parameters_.size()) return f(now_);
    auto const& p = parameters_[next];
    for (auto const& s : p.strategies) {
      set(p.element, p.index, s);
      for (auto const& t : net_.ties)
        if (t.first == p.element && t.first_index == p.index) set(t.later, t.later_index, s);
      for_each(f, next + 1);
    }
  }

 private:
  struct parameter {
    int element, index;
    std::vector<search::parameter_choice> strategies;
  };

  void set(int element, int index, search::parameter_choice const& s) {
    auto& p = now_.choices[static_cast<std::size_t>(element)].parameters[index];
    p.store = s.store;
    p.update = s.update;
  }

  search::problem const& net_;
  search::plan now_;
  search::planned_moves prices_;
  std::vector<parameter> parameters_;
  double count_ = 1;
};

/// Ties the first two parameters of equal extents that are in different elements, if any.
void tie_some(search::problem& net) {
  for (int j = 0; j < net.size(); ++j)
    for (int i = 0; i < j; ++i)
      for (int a = 0; a < net.spec(i).parameters.size(); ++a)
        for (int b = 0; b < net.spec(j).parameters.size(); ++b)
          if (net.spec(i).parameters[a].extents == net.spec(j).parameters[b].extents)
            return net.add_tie({i, a, j, b});
}

struct drawn {
  search::problem net;
  search::plan plan;
  ashlar::machine machine;
};

/// Draws a problem and a plan. If `recomputes` is true, a third of the problems have segments, and
/// their plans recompute all of these.
drawn draw(random_cases& random, bool recomputes = false) {
  drawn it{random.net(), {}, random.machine()};
  if (random.below(3) == 0) tie_some(it.net);
  if (random.below(3) == 0 && recomputes) {
    add_segments(it.net, random);
    it.net.recomputed = it.net.segments;
  }
  auto const mesh = random.mesh();
  it.plan = random.below(2) ? search::data_parallel(it.net, mesh, it.machine)
                            : search::optimal(it.net, mesh, it.machine);
  return it;
}

/// Numbers of compared problems.
struct compared_problems {
  int all = 0, limited = 0, tied = 0, recomputing = 0;
};

/// Compares the optima of random problems with the best of all assignments of strategies. Does so
/// with and without memory limits.
compared_problems compare_optima(unsigned seed, int rounds, bool recomputes) {
  random_cases random(seed);
  compared_problems compared;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    auto it = draw(random, recomputes);
    all_assignments all(it.net, it.plan, it.machine);
    if (all.count() < 2 || all.count() > 1000) continue;
    ++compared.all;
    compared.tied += !it.net.ties.empty();
    compared.recomputing += it.plan.recomputed > 0;
    struct cost {
      double seconds;
      std::int64_t memory;
    };
    std::vector<cost> costs;
    auto least = std::numeric_limits<std::int64_t>::max();
    all.for_each_cost([&](double seconds, std::int64_t memory) {
      costs.push_back({seconds, memory});
      least = std::min(least, memory);
    });
    auto const fastest = [&](std::int64_t limit) {
      double best = std::numeric_limits<double>::infinity();
      for (auto const& c : costs)
        if (limit == 0 || c.memory <= limit) best = std::min(best, c.seconds);
      return best;
    };
    auto m = it.machine;
    auto const free = sync::optimal(it.net, it.plan, m);
    CHECK(close(free.chosen.seconds, fastest(0)));
    CHECK(free.gap == 0);
    // The memory limits lie between the least memory of any assignment and the memory of the
    // fastest one.
    for (int part = 0; part < 3; ++part) {
      m.memory = least + (free.chosen.memory - least) * part / 3;
      if (m.memory >= free.chosen.memory) continue;
      ++compared.limited;
      auto const best = sync::optimal(it.net, it.plan, m);
      CHECK(close(best.chosen.seconds, fastest(m.memory)));
      CHECK(best.chosen.memory <= m.memory);
      CHECK(best.gap == 0);
    }
    m.memory = least - 1;
    if (m.memory > 0)
      CHECK(has(message_of([&] { sync::optimal(it.net, it.plan, m); }),
                "sync::optimal: no strategies that fit in memory were found: the limit is " +
                    std::to_string(least - 1) + " bytes on a rank"));
  }
  return compared;
}

}  // namespace

TEST_CASE("the optimum is that of all assignments, with and without a memory limit") {
  auto const compared = compare_optima(7, 700, false);
  CHECK(compared.all > 250);
  CHECK(compared.limited > 60);
  CHECK(compared.tied > 5);
}

TEST_CASE("the optimum of a plan that recomputes segments is that of all assignments, too") {
  CHECK(compare_optima(8, 200, true).recomputing > 5);
}

TEST_CASE("a search with few labels has a gap, in which the optimum lies") {
  random_cases random(11);
  int with_gap = 0;
  for (int round = 0; round < 100; ++round) {
    auto it = draw(random);
    auto m = it.machine;
    auto const free = sync::optimal(it.net, it.plan, m);
    m.memory = free.chosen.memory * 3 / 4;
    if (m.memory == 0) continue;
    sync::optimum exact, rough;
    try {
      exact = sync::optimal(it.net, it.plan, m, {.effort = 4'000'000});
      rough = sync::optimal(it.net, it.plan, m, {.effort = 1});
    } catch (ashlar::error const&) {
      continue;
    }
    with_gap += rough.gap > 0;
    CHECK(rough.chosen.memory <= m.memory);
    CHECK(rough.bound <= exact.chosen.seconds * (1 + 1e-9));
    CHECK(exact.bound <= rough.chosen.seconds * (1 + 1e-9));
  }
  CHECK(with_gap > 0);
}

TEST_CASE("with overlap the optimum is within the gap, and no builder is faster") {
  random_cases random(5);
  int compared = 0, optimal = 0;
  for (int round = 0; round < 400 && compared < 35; ++round) {
    CAPTURE(round);
    auto it = draw(random);
    it.net.overlap = true;
    it.net.recomputed = it.plan.recomputed;
    all_assignments all(it.net, it.plan, it.machine);
    if (all.count() < 2 || all.count() > 150) continue;
    ++compared;
    auto const seconds = [&](search::plan const& p) {
      return overlap_of(it.net, p, it.machine).seconds();
    };
    double least = std::numeric_limits<double>::infinity();
    all.for_each([&](search::plan const& p) { least = std::min(least, seconds(p)); });
    auto const best = sync::optimal(it.net, it.plan, it.machine);
    CHECK(close(best.chosen.seconds, seconds(best.chosen)));
    CHECK(best.chosen.seconds >= least * (1 - 1e-9));
    CHECK(best.bound <= least * (1 + 1e-9));
    CHECK(close(best.bound, best.chosen.seconds * (1 - best.gap)));
    for (auto const name : sync::names())
      CHECK(best.chosen.seconds <=
            seconds(sync::named(name, it.net, it.plan, it.machine)) * (1 + 1e-9));
    optimal += close(best.chosen.seconds, least);
  }
  CHECK(compared == 35);
  CHECK(optimal * 10 >= compared * 9);
}

TEST_CASE("a net with a branch has an optimum, unless a memory limit demands other strategies") {
  search::problem net;
  auto const product = [](search::problem& p) {
    p.add(linear_spec({8, 16}, 16));
    return shape{8, 16};
  };
  add_branch(net, {8, 16}, joined_by::sum, product, product);
  auto m = ashlar::machines::workstation;
  auto const plan = search::data_parallel(net, ashlar::topology{{"gpu", 4}}, m);
  auto const best = sync::optimal(net, plan, m);
  CHECK(best.gap == 0);
  for (auto const name : sync::names())
    CHECK(best.chosen.seconds <= sync::named(name, net, plan, m).seconds * (1 + 1e-9));
  m.memory = best.chosen.memory;
  CHECK(sync::optimal(net, plan, m).chosen.choices == best.chosen.choices);
  --m.memory;
  CHECK(has(message_of([&] { sync::optimal(net, plan, m); }),
            "sync::optimal: the net has a branch, and synchronizations of nets with branches are "
            "not searched below a memory limit."));
}

TEST_CASE("a parameter without dims is updated by all ranks, and others keep their strategies") {
  auto spec = linear_spec({8, 16}, 16);
  spec.parameters[1].extents = {};
  search::problem net;
  net.add(spec);
  auto m = ashlar::machines::workstation;
  for (auto const& mesh :
       {ashlar::topology{{"gpu", 4}}, ashlar::topology{{"node", 2}, {"gpu", 2}}}) {
    auto const plan = search::data_parallel(net, mesh, m);
    auto const as_used = [&](search::plan const& made) {
      auto const& p = made[0].parameters[1];
      return p.store == sync::stored_as_used(p) && !p.is_updated_apart();
    };
    CHECK(sync::strategies(plan[0].parameters[1], {}, mesh).size() == 1);
    for (auto const name : sync::names()) CHECK(as_used(sync::named(name, net, plan, m)));
    for (auto const among : {sync::dealing::balanced, sync::dealing::one_rank}) {
      auto const owned = sync::owners{.among = among}(net, plan, m);
      CHECK(as_used(owned));
      CHECK(owned[0].parameters[0].update.has_owned());
      CHECK(sync::balance_of(net, owned).most == 16 * 16);
    }
    for (bool const overlap : {false, true}) {
      auto searched = net;
      searched.overlap = overlap;
      CHECK(as_used(sync::optimal(searched, plan, m).chosen));
    }
  }
}

TEST_CASE("a plan of another net is refused") {
  random_cases random(1);
  auto it = draw(random);
  it.net.element_size = 8;
  CHECK(has(message_of([&] { sync::optimal(it.net, it.plan, it.machine); }),
            "sync::optimal: the plan is of another net. Give the problem for which it was made."));
}

}  // namespace ashlar_test
