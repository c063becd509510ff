// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the search of nets with branches, which are series-parallel nets: the dynamic program over
// tables of branches finds plans as cheap as a search that tries all plans.

#include <cstdlib>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/search/cut_text.hpp>
#include <ashlar/search/diff.hpp>
#include <ashlar/search/exhaustive.hpp>
#include <ashlar/search/optimal.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

/// Returns how many plans a search of all plans would try, at most.
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

TEST_CASE("random series-parallel nets: no plan is cheaper than that of the search") {
  random_cases draw(31, true);
  int nested = 0;
  for (int n = 0; n < cases();) {
    auto const net = draw.net();
    auto const t = draw.mesh();
    auto const m = draw.machine();
    int begins = 0;
    for (auto const& e : net.elements) begins += e.kind == search::element_kind::branch_begin;
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

}  // namespace
}  // namespace ashlar_test
