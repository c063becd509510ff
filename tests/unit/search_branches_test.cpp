// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// thorough: ASHLAR_BRANCHES=200 1

// Tests the search of nets with branches, which are series-parallel nets. The dynamic program over
// tables of branches must find plans as cheap as those of a search that tries all plans. With a
// memory limit, the search must find such plans too, even if it may recompute segments.

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/search/cut_text.hpp>
#include <ashlar/search/diff.hpp>
#include <ashlar/search/exhaustive.hpp>
#include <ashlar/search/optimal.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

/// Returns an upper bound of the number of plans that a search of all plans would try.
double plans_of(search::problem const& net, ashlar::topology const& t) {
  double n = 1;
  for (int i = 0; i < net.size(); ++i)
    if (net[i].kind != search::element_kind::residual_end &&
        net[i].kind != search::element_kind::branch_turn)
      n *= static_cast<double>(search::layer_choices(net.spec(i), t).size());
  return n;
}

/// Returns the number of random nets to compare: ASHLAR_BRANCHES, by default 20.
int cases() {
  char const* const text = std::getenv("ASHLAR_BRANCHES");
  return text == nullptr ? 20 : std::atoi(text);
}

int branches_of(search::problem const& net) {
  int begins = 0;
  for (auto const& e : net.elements) begins += e.kind == search::element_kind::branch_begin;
  return begins;
}

/// Returns the seconds of the fastest plan within the memory of the machine, by trying all plans
/// with each number of recomputed segments.
double least_seconds(search::problem net, ashlar::topology const& t, ashlar::machine const& m) {
  double least = 1e300;
  for (net.recomputed = 0; net.recomputed <= net.segments; ++net.recomputed) {
    try {
      least = std::min(least, search::exhaustive(net, t, m).seconds);
    } catch (ashlar::error const& none) {
      CHECK(none.operation() == "search::exhaustive");
    }
  }
  return least;
}

TEST_CASE("random series-parallel nets: no plan is cheaper than that of the search") {
  random_cases draw(31, true);
  int nested = 0;
  for (int n = 0; n < cases();) {
    auto const net = draw.net();
    auto const t = draw.mesh();
    auto const m = draw.machine();
    int const begins = branches_of(net);
    if (begins == 0 || plans_of(net, t) > 1e5) continue;
    ++n;
    CAPTURE(n);
    nested += begins > 1;
    auto const found = search::optimal(net, t, m);
    auto const all = search::exhaustive(net, t, m);
    CHECK(close(found.seconds, all.seconds));
    CHECK(close(found.seconds, total_cost(net, found, m).seconds()));
    CHECK(found.memory == memory_per_rank(net, found));
    for (int i = 0; i < net.size(); ++i) CHECK(broken_joint(net, found, i) == -1);
    std::vector<int> const whole{0, net.size()};
    CHECK(parse_cut(net, cut_text(net, whole)) == whole);
    CHECK(diff(net, found, all, m).elements.size() == static_cast<std::size_t>(net.size()));
  }
  CHECK(nested > cases() / 8);
}

TEST_CASE("random series-parallel nets within a memory limit: no plan that fits is cheaper") {
  random_cases draw(33, true);
  int limited = 0, recomputed = 0, nested = 0;
  for (int n = 0; n < cases();) {
    auto net = draw.net();
    auto const t = draw.mesh();
    auto m = draw.machine();
    int const begins = branches_of(net);
    if (begins == 0 || plans_of(net, t) > 3e4) continue;
    if (n % 2 == 0) add_segments(net, draw);
    auto const fastest = search::optimal(net, t, m);
    search::detail::no_watch alone;
    search::detail::recomputation_search all(net, t, m, search::any_choice{}, alone);
    int again = 0;
    auto const least = all.least(again);
    CHECK(least.complete);
    REQUIRE(least.bytes <= fastest.memory);
    if (least.bytes == fastest.memory) continue;
    ++n;
    CAPTURE(n);
    nested += begins > 1;
    for (int const part : {0, 1 + draw.below(98)}) {
      m.memory = std::max<std::int64_t>(1,
                                        least.bytes + (fastest.memory - least.bytes) * part / 100);
      auto const best = search::optimal(net, t, m);
      CHECK(best.gap == 0);
      CHECK(best.memory <= m.memory);
      CHECK(best.memory == memory_per_rank(net, best));
      CHECK(close(best.seconds, total_cost(net, best, m).seconds()));
      CHECK(close(best.seconds, least_seconds(net, t, m)));
      for (int i = 0; i < net.size(); ++i) CHECK(broken_joint(net, best, i) == -1);
      limited += m.memory < fastest.memory;
      recomputed += best.recomputed > 0;
    }
    if (least.bytes < 2) continue;
    m.memory = least.bytes - 1;
    CHECK(least_seconds(net, t, m) == 1e300);
    CHECK(has(message_of([&] { search::optimal(net, t, m); }), "the least possible is"));
  }
  CHECK(limited > cases());
  CHECK(recomputed > cases() / 8);
  CHECK(nested > 0);
}

}  // namespace
}  // namespace ashlar_test
