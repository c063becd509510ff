// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the seconds of micro-batches that take turns: while one of them communicates, another one
// computes (turn_times.hpp). Also tests the search that minimizes these seconds (turn_search.hpp).
// The seconds are compared with equation 5 of the HiDup paper (duplex_seconds.hpp) and with
// simulations of the processor and the links. The search is compared with an exhaustive search.

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/search/overlap/turn_search.hpp>
#include <ashlar/step/duplex_seconds.hpp>

#include "turn_chains.hpp"

namespace ashlar_test {
namespace {

/// Stages of a chain. Stage i computes for work[i] seconds. move[i] comes before stage i, and
/// move[0] has no steps. The last late[i] seconds of work[i] run while the next move is under way.
struct stages {
  std::vector<double> work, late;
  std::vector<search::turn_move> move;
};

stages any_stages(std::mt19937& draw, int most, int links) {
  std::uniform_real_distribution<double> seconds(0.01, 1);
  stages s;
  int const n = 1 + static_cast<int>(draw() % static_cast<unsigned>(most));
  double const scale = draw() % 3 ? 1 : 3;
  for (int i = 0; i < n; ++i) {
    s.work.push_back(seconds(draw));
    s.move.push_back(i == 0 ? search::turn_move{} : any_move(draw, links, scale));
    s.late.push_back(0);
  }
  return s;
}

/// Simulates the work and the moves of `turns` micro-batches, stage by stage. Returns the seconds.
double simulated(stages const& s, int turns) {
  double processor = 0, link[2]{};
  std::vector<double> arrival(static_cast<std::size_t>(turns), 0);
  for (std::size_t i = 0; i < s.work.size(); ++i)
    for (auto& own : arrival) {
      processor = std::max(processor, own) + s.work[i] - s.late[i];
      if (i + 1 < s.work.size()) {
        own = processor;
        for (auto const& step : s.move[i + 1].steps)
          own = link[step.link] = std::max(link[step.link], own) + step.seconds;
      }
      processor += s.late[i];
    }
  return processor;
}

/// The seconds of one choice of an element: the work of its two passes, and for each link the
/// gathers of its weights and the synchronization of their gradients.
struct choice_costs {
  double forward, backward;
  std::array<double, 2> gathers, synchronize;
};

void add_element(search::turn_chain& chain, std::vector<choice_costs> const& choices) {
  search::turn_costs own;
  for (auto const& c : choices) {
    own.forward.push_back(c.forward);
    own.backward.push_back(c.backward);
    own.beside.push_back(0);
    own.after_weights.push_back(0);
    own.inside.push_back(0);
    own.gathers.push_back(c.gathers);
    own.again.push_back({});
    own.synchronize.push_back(c.synchronize);
  }
  chain.elements.push_back({static_cast<int>(chain.costs.size()), -1});
  chain.costs.push_back(own);
}

/// Computes with turn_times the seconds that simulated() returns. The chain is cut inside stage
/// `cut` into a forward part and a backward part. `share` is the fraction of the work of stage
/// `cut` that is in the forward part.
double by_turn_times(stages const& s, int turns, std::size_t cut, double share) {
  search::turn_times forward, backward;
  for (std::size_t i = 0; i < cut; ++i) {
    forward.work(s.work[i]);
    forward.move(s.move[i + 1], turns, false);
  }
  forward.work(share * s.work[cut]);
  for (std::size_t i = s.work.size() - 1; i > cut; --i) {
    backward.work(s.work[i], s.late[i]);
    backward.move(s.move[i], turns, true);
  }
  backward.work((1 - share) * s.work[cut], s.late[cut]);
  return joined(forward, backward, turns);
}

/// Simulates a step of a chain with one choice per element and one group of micro-batches. Links
/// carry steps of moves in the order in which the moves begin. Weights are gathered at the
/// beginning of the step if `early` is true, otherwise just before their use. Gradients are
/// synchronized when the last micro-batch has computed them.
class simulated_step {
 public:
  simulated_step(search::turn_chain const& chain, bool early)
      : chain_(chain), arrival_(static_cast<std::size_t>(chain.turns), 0),
        gathered_(static_cast<std::size_t>(chain.size()), 0) {
    for (int i = 0; early && i < chain.size(); ++i) gather(i);
    std::vector<int> forward{0}, backward{chain.size()};
    for (int i = 1; i < chain.size(); ++i)
      if (chain.behind(i - 1).forward[0] != 0) forward.push_back(i);
    for (int i = chain.size() - 1; i > 0; --i)
      if (chain.behind(i - 1).backward[0] != 0) backward.push_back(i);
    forward.push_back(chain.size()), backward.push_back(0);
    for (std::size_t s = 0; s + 2 < forward.size(); ++s)
      for (int b = 0; b < chain.turns; ++b) run_forward(b, forward[s], forward[s + 1], early);
    for (int b = 0; b < chain.turns; ++b) {
      run_forward(b, forward[forward.size() - 2], chain.size(), early);
      run_backward(b, backward[0], backward[1]);
    }
    for (std::size_t s = 1; s + 1 < backward.size(); ++s)
      for (int b = 0; b < chain.turns; ++b) run_backward(b, backward[s], backward[s + 1]);
  }

  double seconds() const { return std::max({processor_, link_[0], link_[1]}); }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  double carry(search::turn_move const& m) {
    double end = processor_;
    for (auto const& s : m.steps) end = link_[s.link] = std::max(link_[s.link], end) + s.seconds;
    return end;
  }
  double carry(std::array<double, search::turn_links> const& seconds) {
    double end = processor_;
    for (int on = 0; on < search::turn_links; ++on)
      if (double const each = seconds[at(on)]; each > 0)
        end = link_[on] = std::max(link_[on], end) + each;
    return end;
  }
  void gather(int i) { gathered_[at(i)] = carry(chain_.at(i).gathers[0]); }

  void run_forward(int b, int from, int to, bool early) {
    processor_ = std::max(processor_, arrival_[at(b)]);
    for (int i = from; i < to; ++i) {
      auto const& own = chain_.at(i);
      if (!early && b == 0) gather(i);
      processor_ = std::max(processor_, gathered_[at(i)]) + own.forward[0];
      if (own.inside[0] != 0) processor_ = std::max(processor_, carry(chain_.move(own.inside[0])));
    }
    if (to < chain_.size()) arrival_[at(b)] = carry(chain_.move(chain_.behind(to - 1).forward[0]));
  }
  void run_backward(int b, int from, int to) {
    processor_ = std::max(processor_, arrival_[at(b)]);
    // An element without work in the backward pass returns its dy as its dx. If the stage begins
    // with such elements, the gradient that moves was made by the first element with work.
    int maker = to;
    while (maker + 1 < from && chain_.at(maker).backward[0] == 0) ++maker;
    for (int i = from - 1; i >= to; --i) {
      auto const& own = chain_.at(i);
      if (b == 0) carry(own.again[0]);
      bool const moves = i == maker && to > 0;
      double const later = moves ? own.beside[0] : own.after_weights[0];
      processor_ += own.backward[0] - later;
      if (moves) arrival_[at(b)] = carry(chain_.move(chain_.behind(to - 1).backward[0]));
      if (moves) processor_ += later;
      if (b + 1 == chain_.turns) carry(own.synchronize[0]);
      if (!moves) processor_ += later;
    }
  }

  search::turn_chain const& chain_;
  double processor_ = 0, link_[search::turn_links]{};
  std::vector<double> arrival_;   ///< per micro-batch: when its last move has ended
  std::vector<double> gathered_;  ///< per element: when its weights are complete
};

/// Returns the bound that the search finds if each element has only the given choice.
double bound_of(search::turn_chain const& chain, std::vector<int> const& choices) {
  auto const one = with_choices(chain, choices);
  return search::turn_search(one).run()[0].bound;
}

double least_of_all(search::turn_chain const& chain) {
  double least = std::numeric_limits<double>::infinity();
  for_each_choices(chain, [&](std::vector<int> const& choices) {
    least = std::min(least, bound_of(chain, choices));
  });
  return least;
}

}  // namespace

TEST_CASE("the seconds of two micro-batches on one link are those of HiDup") {
  std::mt19937 draw(1);
  for (int n = 0; n < 10000; ++n) {
    auto const s = any_stages(draw, 12, 1);
    std::vector<search::duplex_stage> list;
    for (std::size_t i = 0; i < s.work.size(); ++i) list.push_back({s.move[i].on(0), s.work[i]});
    CHECK(by_turn_times(s, 2, draw() % s.work.size(), 0.5) ==
          doctest::Approx(search::duplex_seconds(list)).epsilon(1e-12));
  }
}

TEST_CASE("the seconds of a pass cut anywhere are those of a simulation") {
  std::mt19937 draw(2);
  std::uniform_real_distribution<double> share(0, 1);
  for (int n = 0; n < 3000; ++n) {
    auto s = any_stages(draw, 8, 1 + n % 2);
    int const turns = 1 + n % 5;
    auto const cut = draw() % s.work.size();
    double const before = share(draw);
    // In the backward part, some work runs while the next move is under way.
    for (std::size_t i = cut; i + 1 < s.work.size(); ++i)
      if (draw() % 2) s.late[i] = share(draw) * (i == cut ? 1 - before : 1) * s.work[i];
    double const seconds = by_turn_times(s, turns, cut, before);
    CHECK(seconds == doctest::Approx(simulated(s, turns)).epsilon(1e-12));
    double work = 0, link[2]{};
    for (std::size_t i = 0; i < s.work.size(); ++i) {
      work += s.work[i];
      for (int on = 0; on < 2; ++on) link[on] += s.move[i].on(on);
    }
    CHECK(seconds >= turns * std::max({work, link[0], link[1]}) * (1 - 1e-12));
    CHECK(seconds <= turns * (work + link[0] + link[1]) * (1 + 1e-12));
  }
}

TEST_CASE("no simulated step with gathers and synchronizations is faster than its bound") {
  std::mt19937 draw(4);
  for (int n = 0; n < 4000; ++n) {
    auto chain = any_chain(draw, 1 + n % 4);
    chain.groups = 1, chain.per_step = 1;
    std::vector<int> choices;
    for (int i = 0; i < chain.size(); ++i) {
      int const partner = chain.elements[static_cast<std::size_t>(i)].partner;
      choices.push_back(partner >= 0 && partner < i
                            ? choices[static_cast<std::size_t>(partner)]
                            : static_cast<int>(draw() % static_cast<unsigned>(chain.choices(i))));
    }
    auto const one = with_choices(chain, choices);
    double const bound = search::turn_search(one).run()[0].bound;
    for (bool const early : {false, true})
      CHECK(bound <= simulated_step(one, early).seconds() * (1 + 1e-12));
  }
}

TEST_CASE("weights move once a step if micro-batches run one at a time") {
  search::turn_chain chain;
  chain.turns = 1, chain.groups = 2, chain.per_step = 2;
  add_element(chain, {{1, 1, {}, {100, 0}}});
  add_element(chain, {{1, 1, {}, {}}});
  chain.moves.push_back({{{0, 1}}});
  chain.boundaries.push_back({{1}, {1}});
  chain.boundary_after = {0};
  // The synchronization takes 100 s and runs once. All else takes 12 s: four moves of 1 s each, and
  // 8 s of work.
  double const bound = search::turn_search(chain).run()[0].bound;
  CHECK(bound >= 100);
  CHECK(bound <= 112);
}

TEST_CASE("a choice that is earlier in one pass may be needed for the moves of the other pass") {
  search::turn_chain chain;
  chain.turns = 1, chain.groups = 1, chain.per_step = 1;
  add_element(chain, {{20, 10, {}, {}}, {10, 20, {}, {}}});
  add_element(chain, {{0, 0, {}, {}}});
  add_element(chain, {{0, 0, {}, {0, 100}}, {0, 0, {200, 0}, {}}});
  chain.moves.push_back({{{0, 1}, {1, 1}}});
  chain.boundaries = {{{1, 1}, {1, 1}}, {{0, 0}, {0, 0}}};
  chain.boundary_after = {0, 1};
  CHECK(search::turn_search(chain).run()[0].bound ==
        doctest::Approx(least_of_all(chain)).epsilon(1e-12));
}

TEST_CASE("work behind an element without work may run beside the move before this element") {
  search::turn_chain chain;
  chain.turns = 1, chain.groups = 1, chain.per_step = 1;
  add_element(chain, {{1, 1, {}, {}}});
  add_element(chain, {{1, 1, {}, {}}, {1, 1, {}, {}}});
  add_element(chain, {{1, 0, {}, {}}});
  add_element(chain, {{1, 3, {}, {}}});
  chain.costs.back().beside = chain.costs.back().after_weights = {2};
  chain.moves.push_back({{{0, 2}}});
  chain.boundaries = {{{0, 0}, {1, 0}}, {{0, 0}, {0, 1}}, {{0}, {0}}};
  chain.boundary_after = {0, 1, 2};
  CHECK(bound_of(chain, {0, 0, 0, 0}) == 11);
  CHECK(bound_of(chain, {0, 1, 0, 0}) == 9);
  CHECK(search::turn_search(chain).run()[0].bound == 9);
  auto const found = search::turn_search(chain, {.limit = 9 * (1 + 1e-9)}).run();
  REQUIRE(!found.empty());
  CHECK(found[0].bound == 9);
  // In the backward pass, the move still runs beside 2 s of the work of element 3, even if elements
  // 1 and 0, which follow the move, have little work.
  chain.costs[0].backward = {0.25}, chain.costs[1].backward = {0, 0};
  CHECK(bound_of(chain, {0, 1, 0, 0}) == 7.25);
}

TEST_CASE("the search over micro-batches that take turns equals exhaustive search") {
  std::mt19937 draw(3);
  for (int n = 0; n < 600; ++n) {
    auto const chain = any_chain(draw, 1 + n % 4);
    double const least = least_of_all(chain);
    search::turn_search all(chain);
    auto const found = all.run();
    REQUIRE(!found.empty());
    CHECK(found[0].bound == doctest::Approx(least).epsilon(1e-12));
    CHECK(bound_of(chain, found[0].choices) == doctest::Approx(least).epsilon(1e-12));
    CHECK(all.lost() > 1e100);
    // A limit just above the least value must keep this value. A limit just below it must leave
    // nothing.
    CHECK(search::turn_search(chain, {.limit = least * (1 + 1e-9)}).run()[0].bound ==
          doctest::Approx(least).epsilon(1e-12));
    CHECK(search::turn_search(chain, {.limit = least * (1 - 1e-9)}).run().empty());
    // A search with a tolerance may find a bound that is larger by at most this tolerance.
    auto const near = search::turn_search(chain, {.tolerance = 0.05 * least}).run();
    REQUIRE(!near.empty());
    CHECK(near[0].bound <= least * (1.05 + 1e-12));
    // A search that keeps too few labels reports, in lost(), the least bound of the dropped labels.
    search::turn_search few(chain, {.labels = 1});
    auto const some = few.run();
    REQUIRE(!some.empty());
    CHECK(some[0].bound >= least * (1 - 1e-12));
    CHECK(std::min(few.lost(), some[0].bound) <= least * (1 + 1e-12));
  }
}

}  // namespace ashlar_test
