// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the HTML page of a plan. The page needs no other file, is well formed, and shows every
// element, collective and total of the plan. Colors distinguish only the owners of shards.

#include <set>

#include <doctest/doctest.h>
#include <support/decimal_comma.hpp>
#include <support/message_of.hpp>

#include <ashlar/io/plan_page.hpp>
#include <ashlar/search/baselines.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

using ashlar::parse_placement, ashlar::parse_topology;
using ashlar::io::plan_page_text;
namespace page = ashlar::io::page;

TEST_CASE("a page needs no other files and closes all its tags") {
  auto const m = ashlar::machines::gpu_cluster;
  auto const net = block_net(3, {8, 64}, 64);
  auto const t = parse_topology("node=2,gpu=4");
  auto const plan = tensor_parallel(net, t, m);
  auto const text = plan_page_text(
      net, plan, m, memory_front(net, t, m, {.limits = 3, .permits = {}, .on_progress = {}}));
  for (auto const* outside : {"http", "<script", "<link", "<img", "@import"})
    CHECK(occurrences(text, outside) == 0);
  CHECK(occurrences(text, "url(") == occurrences(text, "url(#hatch)"));
  for (auto const* name : {"div", "svg", "table", "h1", "h2", "h3", "title", "code", "p", "span"}) {
    std::string const n = name;
    CAPTURE(n);
    CHECK(occurrences(text, "<" + n + ">") + occurrences(text, "<" + n + " ") ==
          occurrences(text, "</" + n + ">"));
  }
  CHECK(has(text, "3 &times;"));
  CHECK(has(text, "Time against memory"));
  CHECK(has(text, ashlar::seconds_text(total_cost(net, plan, m).seconds())));
  CHECK(has(text, ashlar::bytes_text(double(memory_per_rank(net, plan)))));
  for (auto const* layer : {"embedding", "layer_norm", "linear", "gelu", "+ residual", "dropout"})
    CHECK(has(text, layer));
  auto const outline = outline_of(net, plan, breakdown(net, plan, m), m);
  for (auto const& l : outline.elements[3].rest)
    CHECK(has(text, std::string(to_string(l.kind)) + " along <b>" + l.axes));
  CHECK(text.size() < 400'000);
}

TEST_CASE("names are escaped") {
  auto const m = ashlar::machines::gpu_cluster;
  search::problem net;
  auto spec = gelu_spec({4, 6});
  spec.name = "<b>&'\"";
  net.add(spec);
  auto const text = plan_page_text(net, optimal(net, parse_topology("gpu=2"), m), m);
  CHECK(!has(text, "<b>&'"));
  CHECK(has(text, "&lt;b&gt;&amp;&#39;&quot;"));
}

TEST_CASE("every rank has its own colour, a copy on every node is grey") {
  auto const t = parse_topology("node=4,gpu=8");
  std::set<std::string> colours;
  for (int r = 0; r < t.ranks(); ++r) {
    auto const c = t.coordinates_of(r);
    page::owner who{};
    for (int a = 0; a < 2; ++a) who[std::size_t(a)] = c[std::size_t(a)];
    colours.insert(page::colour(t, who));
  }
  CHECK(colours.size() == 32);
  auto const spread = [](std::string const& c) {
    int most = 0, least = 255;
    for (std::size_t i : {1u, 3u, 5u}) {
      int const v = std::stoi(c.substr(i, 2), nullptr, 16);
      most = std::max(most, v), least = std::min(least, v);
    }
    return most - least;
  };
  CHECK(spread(page::colour(t, {page::everyone, 3})) < 25);
  CHECK(spread(page::colour(t, {1, page::everyone})) > 60);
}

TEST_CASE("a tensor is cut as it is split, in the order of its shards") {
  auto const t = parse_topology("node=2,gpu=3");
  auto const rects = [&](char const* lies, shape const& s) {
    // Subtracts the frame of the drawing, which is a rectangle too.
    return occurrences(page::shards_svg(s, parse_placement(lies), t, "x"), "<rect") - 1;
  };
  CHECK(rects("B,B", {8, 8}) == 1);
  CHECK(rects("S(0),B", {8, 8}) == 2);
  CHECK(rects("S(0),S(1)", {8, 8}) == 6);
  CHECK(rects("S(0),S(0)", {8, 8}) == 6);
  CHECK(rects("S(1),P", {8, 8}) == 3);  // two shards, and the hatching that marks a partial tensor
  CHECK(rects("S(2),S(0)", {8, 8, 8}) == 6);
  CHECK(rects("B,B", {}) == 1);
  page::drawn_dim const plain(t, parse_placement("S(0),S(0)"), 0);
  page::drawn_dim const turned(t, parse_placement("S(0,1),S(0,0)"), 0);
  page::owner who{};
  plain.own(1, who);
  CHECK((who[0] == 0 && who[1] == 1));
  turned.own(1, who);
  CHECK((who[0] == 1 && who[1] == 0));
  // Only 12 of the 40 shards are drawn, evenly spaced. The last one drawn is shard 36.
  auto const wide = parse_topology("gpu=40");
  page::drawn_dim const many(wide, parse_placement("S(0)"), 0);
  CHECK(many.count() == page::drawn_dim::most);
  many.own(11, who);
  CHECK(who[0] == 36);
}

TEST_CASE("drawings have a decimal point, also in locales that write a comma") {
  decimal_comma const locale;
  CHECK(page::number(7.6666667) == "7.667");
}

TEST_CASE("large meshes are drawn in part") {
  auto const text = page::mesh_svg(parse_topology("node=128,gpu=8"));
  CHECK(has(text, "…"));
  CHECK(has(text, ">1023<"));
  CHECK(occurrences(text, "<rect") < 200);
  CHECK(occurrences(page::mesh_svg(parse_topology("gpu=4")), "<rect") == 4);
  CHECK(occurrences(page::mesh_svg(parse_topology("node=2,board=2,gpu=2")), "<rect") == 8);
}

}  // namespace
}  // namespace ashlar_test
