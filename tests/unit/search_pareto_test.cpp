// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the front of plans in time and memory. The front must begin with the fastest plan and end
// with the plan of least memory. No plan may dominate another. If the memory of a plan on the front
// is given to the search as the limit, the search must find a plan of the same cost.

#include <sstream>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/relative.hpp>

#include <ashlar/search/exhaustive.hpp>
#include <ashlar/search/pareto.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

using ashlar::parse_topology;
using search::memory_front;

TEST_CASE("the front of small nets holds against enumeration") {
  random_cases draw(77);
  int tried = 0;
  std::size_t longest = 0;
  for (int k = 0; k < 200 && tried < 25; ++k) {
    auto const net = draw.net();
    auto const t = draw.mesh();
    if (t.axes() > 2 || net.size() > 3) continue;
    auto m = draw.machine();
    auto const front = memory_front(net, t, m, {.limits = 6});
    longest = std::max(longest, front.plans.size());
    auto const fastest = exhaustive(net, t, m);
    CHECK(front.plans.front().seconds == relative(fastest.seconds));
    for (std::size_t i = 0; i < front.plans.size(); ++i) {
      auto const& p = front.plans[i];
      m.memory = p.memory;
      CHECK(p.seconds == relative(exhaustive(net, t, m).seconds));
      CHECK(p.gap == 0);
      if (i == 0) continue;
      CHECK(p.memory < front.plans[i - 1].memory);
      CHECK(p.seconds > front.plans[i - 1].seconds);
    }
    m.memory = front.plans.back().memory - 1;
    CHECK(has(message_of([&] { optimal(net, t, m); }), "the least possible is"));
    ++tried;
  }
  CHECK(tried == 25);
  CHECK(longest > 2);
}

TEST_CASE("a front tells its progress, obeys its filter, and prints") {
  auto const net = block_net(2, {8, 32}, 64);
  auto const t = parse_topology("node=2,gpu=2");
  auto m = ashlar::machines::gpu_cluster;
  int last = 0;
  auto const front = memory_front(
      net, t, m, {.limits = 5, .permits = {}, .on_progress = [&](int done, int of) {
                    CHECK(done == (last == 0 ? 2 : last + 1));
                    CHECK(of == 5);
                    last = done;
                  }});
  CHECK(last == 5);
  CHECK(front.plans.size() > 1);
  std::ostringstream out;
  out << front;
  std::string const text = out.str();
  CHECK(has(text, "optimal"));
  CHECK(has(text, "*"));
  auto stars = std::count(text.begin(), text.end(), '*');
  CHECK(stars >= 1);
  CHECK(stars <= std::ptrdiff_t(front.plans.size()));
  auto const one = memory_front(net, t, m,
                                {.limits = 2,
                                 .permits =
                                     [](int, search::layer_choice const& c) {
                                       return c.x == ashlar::placement::all_broadcast(2);
                                     },
                                 .on_progress = {}});
  for (auto const& p : one.plans)
    for (auto const& c : p.choices) CHECK(c.x == ashlar::placement::all_broadcast(2));
  CHECK(has(
      message_of([&] { memory_front(net, t, m, {.limits = 1, .permits = {}, .on_progress = {}}); }),
      "2 limits or more"));
}

TEST_CASE("a front of a tied net or on five axes is refused") {
  auto const m = ashlar::machines::gpu_cluster;
  search::problem net;
  net.add(linear_spec({8, 8}, 8));
  net.add(linear_spec({8, 8}, 8));
  auto const five = parse_topology("a=2,b=2,c=2,d=2,e=2");
  CHECK(has(message_of([&] { memory_front(net, five, m); }),
            "search::memory_front: a front supports at most 4 axes. Merge axes of one tier."));
  net.add_tie({0, 0, 1, 0});
  CHECK(has(message_of([&] { memory_front(net, parse_topology("gpu=2"), m); }),
            "search::memory_front: a front does not choose where a tied parameter is stored."));
}

TEST_CASE("the text of a gap is never below the gap") {
  CHECK(search::detail::gap_text(0.010971) == "1.098 %");
  CHECK(search::detail::gap_text(0.5) == "50.000 %");
  CHECK(search::detail::gap_text(1e-9) == "0.001 %");
}

TEST_CASE("the error for a limit that is too low names the least possible and the layer that needs "
          "most") {
  search::problem net;
  net.add(linear_spec({8, 64}, 16));
  net.add(linear_spec({8, 16}, 4096));
  net.add(linear_spec({8, 4096}, 8));
  auto m = ashlar::machines::gpu_cluster;
  m.memory = 1000;
  auto const text = message_of([&] { optimal(net, parse_topology("gpu=2"), m); });
  CHECK(has(text, "no plan fits in 1000 B (1000 bytes) per rank; the least possible is"));
  CHECK(has(text, "where element 1 (linear) needs most"));
}

}  // namespace
}  // namespace ashlar_test
