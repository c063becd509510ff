// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests pins, by which a user fixes the placement of a tensor in a plan. Pins must be parsed. The
// search must find the cheapest plan that obeys all pins. Impossible pins must be rejected with a
// list of the possible placements.

#include <doctest/doctest.h>
#include <support/combinations.hpp>
#include <support/message_of.hpp>
#include <support/relative.hpp>

#include <ashlar/search/exhaustive.hpp>
#include <ashlar/search/pinned.hpp>
#include <ashlar/search/pipeline.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

using ashlar::parse_placement, ashlar::parse_topology;
using search::optimal_with_pins, search::parse_pin, search::pin;

std::vector<int> elements(search::problem const& net, std::string const& text) {
  return search::detail::elements_of(net, parse_pin(text));
}

TEST_CASE("pins are read") {
  auto const p = parse_pin("linear.weight.grad=S(0), *,P");
  CHECK(p.element == "linear");
  CHECK(p.tensor == "weight.grad");
  CHECK(p.wanted == parse_placement("S(0),B,P"));
  CHECK(p.is_free.size() == 3);
  CHECK((!p.is_free[0] && p.is_free[1] && !p.is_free[2]));
  CHECK(parse_pin("3..9/2.x=[S(0,1),S(0,0)]").wanted == parse_placement("S(0,1),S(0,0)"));
  CHECK(parse_pin("3..9/2.x=[S(0,1),S(0,0)]").element == "3..9/2");
  for (auto const* bad : {"", "x", "x=", "3=S(0)", ".x=S(0)", "3.=S(0)", "3x"})
    CHECK(has(message_of([&] { parse_pin(bad); }), "a pin is written ELEMENT.TENSOR=PLACEMENT"));
  CHECK(has(message_of([] { parse_pin("3.x=S(0),Q"); }), "S, B, P or O was expected"));
  CHECK(has(message_of([] { parse_pin("3.x=B,B,B,B,B,B,B"); }), "more axes"));
}

TEST_CASE("pins name elements by number, range, stride and pattern") {
  auto const net = block_net(2, {4, 6}, 8);
  CHECK(elements(net, "3.x=B") == std::vector<int>{3});
  CHECK(elements(net, "3..6.x=B") == std::vector<int>{3, 4, 5, 6});
  CHECK(elements(net, "3..15/7.x=B") == std::vector<int>{3, 10});
  CHECK(elements(net, "gelu.x=B") == std::vector<int>{4, 11});
  CHECK(elements(net, "l*r.x=B") == std::vector<int>{3, 5, 10, 12});
  CHECK(elements(net, "?elu.x=B") == std::vector<int>{4, 11});
  CHECK(int(elements(net, "*.x=B").size()) == net.size());
  auto const refused = [&](char const* text) { return message_of([&] { elements(net, text); }); };
  CHECK(has(refused("16.x=B"), "there is no element 16; they count from 0 to 15"));
  CHECK(has(refused("999999999999.x=B"), "elements are written"));
  CHECK(has(refused("9..3.x=B"), "elements are written"));
  CHECK(has(refused("3..9/0.x=B"), "elements are written"));
  CHECK(has(refused("gelo.x=B"), "The layers are: embedding, residual, layer_norm, linear, gelu"));
}

/// Returns whether the pattern matches the name, by trying all matches of each '*'.
bool fits_by_trial(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*')
    return fits_by_trial(pattern.substr(1), name) ||
           (!name.empty() && fits_by_trial(pattern, name.substr(1)));
  return !name.empty() && (pattern[0] == '?' || pattern[0] == name[0]) &&
         fits_by_trial(pattern.substr(1), name.substr(1));
}

std::vector<std::string> words(std::string const& letters, int longest) {
  std::vector<std::string> all{""};
  for (std::size_t first = 0; longest > 0; --longest) {
    auto const last = all.size();
    for (; first < last; ++first)
      for (char const c : letters) all.push_back(all[first] + c);
  }
  return all;
}

TEST_CASE("patterns match what brute force matches, and many '*' take no time") {
  using search::detail::fits_pattern;
  int wrong = 0, fitting = 0;
  for (auto const& [pattern, name] : all_combinations(words("ab*?", 5), words("ab", 5))) {
    fitting += fits_pattern(pattern, name) ? 1 : 0;
    wrong += fits_pattern(pattern, name) != fits_by_trial(pattern, name) ? 1 : 0;
  }
  CHECK(wrong == 0);
  CHECK(fitting > 1000);
  std::string many;
  for (int i = 0; i < 40; ++i) many += "*a";
  // Trying all ways to match this pattern would take exponential time.
  CHECK_FALSE(fits_pattern(many + "b", std::string(200, 'a')));
  CHECK(fits_pattern(many, std::string(200, 'a')));
}

TEST_CASE("the plan obeys its pins and is the cheapest that does") {
  random_cases draw(31);
  int tried = 0;
  for (int k = 0; k < 200 && tried < 40; ++k) {
    auto const net = draw.net();
    auto const t = draw.mesh();
    if (t.axes() > 2 || net.size() > 4) continue;
    auto const m = draw.machine();
    int const i = draw.below(net.size());
    auto const all = layer_choices(net.spec(i), t);
    auto const& c = all[std::size_t(draw.below(int(all.size())))];
    std::string const front = std::to_string(i) + ".";
    std::vector<pin> const pins{parse_pin(front + "x=" + to_string(c.x)),
                                parse_pin(front + "dy=" + to_string(c.dy))};
    auto const found = optimal_with_pins(net, t, m, pins);
    CHECK(found.plan[i].x == c.x);
    CHECK(found.plan[i].dy == c.dy);
    CHECK(found.seconds() >= -1e-12 * found.without.seconds);
    int const asked = net[i].kind == search::element_kind::residual_end ? net[i].partner : i;
    auto const best = exhaustive(net, t, m, [&](int e, search::layer_choice const& other) {
      return e != asked || (other.x == c.x && other.dy == c.dy);
    });
    CHECK(found.plan.seconds == relative(best.seconds));
    ++tried;
  }
  CHECK(tried == 40);
}

TEST_CASE(
    "a pin that the optimum already obeys costs nothing; the cost of any other pin is reported") {
  auto const net = block_net(3, {8, 64}, 64);
  auto const t = parse_topology("node=2,gpu=2");
  auto const m = ashlar::machines::gpu_cluster;
  auto const best = optimal(net, t, m);
  auto const same = optimal_with_pins(net, t, m, {parse_pin("3.x=" + to_string(best[3].x))});
  CHECK(same.sentence() == "your pin costs nothing");
  auto const whole = optimal_with_pins(
      net, t, m, {parse_pin("linear.x=S(0),S(1)"), parse_pin("linear.weight=B,B")});
  for (int i : {3, 5, 10, 12, 17, 19}) {
    CHECK(whole.plan[i].x == parse_placement("S(0),S(1)"));
    CHECK(whole.plan[i].parameters[0].use == parse_placement("B,B"));
  }
  CHECK(whole.seconds() > 0);
  CHECK(whole.sentence().find("your pins cost ") == 0);
  CHECK(has(whole.sentence(), " a step ("));
  auto const free = optimal_with_pins(net, t, m, {parse_pin("gelu.x=S(0),*")});
  for (int i : {4, 11, 18}) CHECK(free.plan[i].x[0].is_split_of(0));
  // A pin of a residual may name either of its ends.
  auto const ends = optimal_with_pins(net, t, m, {parse_pin("7.y=S(0),S(1)")});
  CHECK(ends.plan[1].y == parse_placement("S(0),S(1)"));
  CHECK(ends.plan[7].y == parse_placement("S(0),S(1)"));
}

TEST_CASE("the error for impossible pins lists the nearest choices") {
  auto const net = block_net(1, {4, 6}, 8);
  auto const t = parse_topology("node=2,gpu=2");
  auto const m = ashlar::machines::gpu_cluster;
  auto const refused = [&](std::vector<pin> const& pins) {
    return message_of([&] { optimal_with_pins(net, t, m, pins); });
  };
  // The gelu (element 4) does not accept partial inputs. The layer norm does not accept split
  // features.
  auto const addends = refused({parse_pin("4.x=S(0),P")});
  CHECK(has(addends, "\"4.x=S(0),P\": no choice of element 4 (gelu) satisfies this on "
                     "node=2,gpu=2. The nearest are x=[S(0),"));
  CHECK(!has(addends, "P]"));
  CHECK(has(refused({parse_pin("layer_norm.x=S(2),B")}), "element 2 (layer_norm)"));
  // Each pin is possible alone, but both together are not: rows of the weight correspond to columns
  // of x.
  auto const both = refused({parse_pin("3.x=S(0),S(2)"), parse_pin("3.weight=B,S(1)")});
  CHECK(has(both, "3.x=S(0),S(2) and 3.weight=B,S(1)"));
  CHECK(has(both, "x=[S(0),S(2)] with weight=[B,S(0)]"));
  CHECK(has(refused({parse_pin("3.x=S(0)")}), "it has 1 axes, the mesh node=2,gpu=2 has 2"));
  CHECK(has(refused({parse_pin("3.waits=B,B")}), "none of these layers has a tensor \"waits\""));
  CHECK(
      has(refused({parse_pin("gelu.weight=B,B")}), "none of these layers has a tensor \"weight\""));
}

TEST_CASE("pins hold in every stage of a pipeline, wherever the net is cut, and below a limit") {
  auto const t = parse_topology("node=2:inter,gpu=2");
  auto m = ashlar::machines::gpu_cluster;
  auto const net_of = [](int batches) {
    auto net = block_net(4, {4, 16}, 16);
    net.micro_batches = batches;
    for (int b = 0; b < 4; ++b)
      for (int i = 1 + 7 * b; i < 8 + 7 * b; ++i) net[i].segment = b;
    net.segments = 4;
    return net;
  };
  auto const net = net_of(4);
  std::vector<pin> const pins{parse_pin("linear.x=*,S(0)"), parse_pin("10.weight=*,B"),
                              parse_pin("22.y=*,S(0)")};
  auto const obeys = [&](search::pipeline_plan const& p) {
    search::pinned_choices<search::dynamic_size> const filter(net, p.chosen.mesh, pins);
    for (int i = 0; i < net.size(); ++i)
      if (!filter(i, p.chosen[i])) return false;
    return p.chosen[10].x[1].is_split_of(0) && p.chosen[22].y[1].is_split_of(0) &&
           p.chosen[28].y[1].is_split_of(0);
  };
  int free_ones = 0, limited = 0;
  for (bool const any_cuts : {false, true}) {
    m.memory = 0;
    search::pipeline_options how{{2}, {4}, {"searched"}};
    how.any_cuts = any_cuts;
    auto const free = search::pipeline(net_of, t, m, how);
    free_ones += obeys(free);
    how.pins = pins;
    auto const found = search::pipeline(net_of, t, m, how);
    CHECK(obeys(found));
    CHECK(found.stages.size() == 2);
    CHECK(found.seconds() >= free.seconds() * (1 - 1e-12));
    CHECK(found.lower_bound >= free.lower_bound * (1 - 1e-12));
    CHECK(found.lower_bound <= found.seconds());
    // Without a memory limit, the placements are the best ones under the pins on a part's mesh. The
    // search finds them for a chain with 5 micro-batches, because a step of 4 micro-batches in 2
    // stages lasts about as long as the passes of 4 + 2 - 1 micro-batches.
    auto chain = net;
    chain.micro_batches = 5;
    auto const whole = optimal_with_pins(chain, found.chosen.mesh, m, pins).plan;
    for (int i = 0; i < net.size(); ++i) CHECK(found.chosen[i] == whole[i]);
    // Below a limit, each stage is searched alone, and this search numbers the elements from 0.
    for (double const share : {0.9, 0.7, 0.5}) {
      m.memory = static_cast<std::int64_t>(share * double(found.chosen.memory));
      try {
        auto const small = search::pipeline(net_of, t, m, how);
        CHECK(obeys(small));
        CHECK(small.chosen.memory <= m.memory);
        ++limited;
      } catch (ashlar::error const&) {
      }
    }
  }
  CHECK(free_ones == 0);
  CHECK(limited > 0);
}

TEST_CASE(
    "pins that no stage can obey are refused in pipelines, and layouts without a filter, too") {
  auto const t = parse_topology("node=2:inter,gpu=2");
  auto const m = ashlar::machines::gpu_cluster;
  auto const net_of = [](int) { return block_net(2, {4, 6}, 8); };
  search::pipeline_options how{{2}, {1}};
  auto const refused = [&](char const* text) {
    how.pins = {parse_pin(text)};
    return message_of([&] { search::pipeline(net_of, t, m, how); });
  };
  CHECK(has(refused("gelu.x=S(0),P"), "no choice of element 4 (gelu) satisfies this on node=1"));
  CHECK(has(refused("gelo.x=B,B"), "no layer has this name."));
  CHECK(has(refused("gelu.x=B"), "it has 1 axes, the mesh node=1"));
  CHECK(message_of([&] {
          search::pipeline(net_of, t, m, how,
                           [](auto const& net, auto const& mesh, auto const& machine) {
                             return search::optimal(net, mesh, machine);
                           });
        }) ==
        "search::pipeline: this layout function does not obey pins. Give it a filter as a fourth "
        "argument, or leave out options.pins.");
}

TEST_CASE("axes of extent 1 are not compared") {
  auto const net = block_net(1, {4, 6}, 8);
  auto const found = optimal_with_pins(net, parse_topology("node=1,gpu=2"),
                                       ashlar::machines::gpu_cluster, {parse_pin("4.x=S(0),S(0)")});
  CHECK(found.plan[4].x[1].is_split_of(0));
}

}  // namespace
}  // namespace ashlar_test
