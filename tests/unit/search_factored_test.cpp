// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the search over factored meshes, in which one or more axes replace each axis of a given
// mesh. The product of their extents is the extent of the replaced axis. The search must try every
// factorization once. Its plan must cost as much as the best plan on any of these meshes. The test
// finds that plan by dynamic programming over all choices, or, with a memory limit, by exhaustive
// search.

#include <doctest/doctest.h>
#include <support/relative.hpp>

#include <ashlar/mesh/text.hpp>
#include <ashlar/search/exhaustive.hpp>
#include <ashlar/search/factored.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

using ashlar::parse_topology;

std::string meshes(char const* mesh, int most) {
  std::string text;
  for (auto const& t : search::factored_meshes(parse_topology(mesh), most))
    text += (text.empty() ? "" : " ") + to_string(t);
  return text;
}

TEST_CASE("each axis is factored in all ways, in ascending order, within the number of axes") {
  CHECK(meshes("gpu=8", 1) == "gpu=8");
  CHECK(meshes("gpu=8", 2) == "gpu=8 gpu=2,gpu1=4");
  CHECK(meshes("gpu=8", 4) == "gpu=8 gpu=2,gpu1=4 gpu=2,gpu1=2,gpu2=2");
  CHECK(meshes("a=12", 3) == "a=12 a=2,a1=6 a=2,a1=2,a2=3 a=3,a1=4");
  CHECK(meshes("a=7,b=1", 4) == "a=7,b=1");
  CHECK(meshes("a=4,a1=4", 3) == "a=4,a1=4 a=4,a1=2,a11=2 a=2,a1=2,a11=4");
  CHECK(meshes("a=2,b=2,c=4", 2) == "a=2,b=2,c=4");
  for (auto const& t : search::factored_meshes(parse_topology("node=4,gpu=4"), 4)) {
    CHECK(t.ranks() == 16);
    CHECK(t.ranks_per_node() == 4);
  }
}

double least_of_all(search::problem const& net, ashlar::topology const& t, ashlar::machine const& m,
                    int most) {
  double least = 1e300;
  for (auto const& mesh : search::factored_meshes(t, most)) {
    search::chain_model<-1> model(net, mesh, m, search::any_choice{}, search::pruning::by_time);
    least = std::min(least, make_plan(model, search::chain_solver<-1>(model).path()).seconds);
  }
  return least;
}

TEST_CASE("the plan is the cheapest of all factorisations") {
  random_cases draw(21);
  char const* const all[] = {"node=2,gpu=4", "node=4,gpu=3", "gpu=12", "node=4,gpu=4", "gpu=8"};
  int finer = 0;
  for (int done = 0; done < 60; ++done) {
    auto const t = parse_topology(all[draw.below(5)]);
    auto const m = draw.machine();
    auto const net = draw.net();
    CAPTURE(to_string(t));
    auto const plan = search::optimal_factored(net, t, m);
    CHECK(plan.seconds == relative(least_of_all(net, t, m, 3)));
    CHECK(plan.seconds == relative(total_cost(net, plan, m).seconds()));
    CHECK(plan.mesh.ranks() == t.ranks());
    CHECK(plan.gap == 0);
    finer += plan.mesh.axes() > t.axes();
  }
  CHECK(finer > 5);
}

TEST_CASE("the plan is that of enumeration on each mesh, also below a memory limit") {
  random_cases draw(22);
  auto const t = parse_topology("node=2,gpu=4");
  int limited = 0;
  for (int done = 0; done < 40;) {
    auto m = draw.machine();
    auto const net = draw.net();
    double combinations = 1;
    for (int i = 0; i < net.size(); ++i)
      combinations *= static_cast<double>(
          search::layer_choices(net.spec(i), search::factored_meshes(t, 3)[1]).size());
    if (combinations > 2e5) continue;
    ++done;
    auto const fastest = search::optimal_factored(net, t, m);
    for (int part : {10, 8, 6, 4}) {
      m.memory = fastest.memory * part / 10;
      if (m.memory == 0) continue;
      double least = 1e300;
      for (auto const& mesh : search::factored_meshes(t, 3)) try {
          least = std::min(least, exhaustive(net, mesh, m).seconds);
        } catch (ashlar::error const&) {
        }
      if (least == 1e300) {
        CHECK_THROWS_AS(search::optimal_factored(net, t, m), ashlar::error);
        continue;
      }
      auto const plan = search::optimal_factored(net, t, m);
      CHECK(plan.memory <= m.memory);
      CHECK(plan.seconds == relative(least));
      limited += part < 10;
    }
  }
  CHECK(limited > 20);
}

}  // namespace
}  // namespace ashlar_test
