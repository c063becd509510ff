// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the search space of a layer: every combination of signature rows, shard orders and storage
// placements occurs once, and all are legal.

#include <algorithm>

#include <doctest/doctest.h>

#include <ashlar/mesh/text.hpp>
#include <ashlar/nn/group_norm.hpp>
#include <ashlar/search/legal.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

using ashlar::parse_placement, ashlar::parse_topology, ashlar::to_string;
using search::layer_choices;

/// Returns whether on every mesh axis the placements of a choice, without the order of shards, are
/// those of one row in the layer's table.
bool matches_rows(search::layer_choice const& c, search::layer_spec const& spec) {
  for (int a = 0; a < c.x.axes(); ++a) {
    bool const found = std::any_of(spec.rows.begin(), spec.rows.end(), [&](auto const& r) {
      bool same = same_role(r.x, c.x[a]) && same_role(r.y, c.y[a]) && same_role(r.dy, c.dy[a]) &&
                  same_role(r.dx, c.dx[a]);
      for (int k = 0; k < c.parameters.size(); ++k)
        same = same && same_role(r.use[k], c.parameters[k].use[a]) &&
               same_role(r.grad[k], c.parameters[k].grad[a]);
      return same;
    });
    if (!found) return false;
  }
  return true;
}

TEST_CASE("gelu on one axis: its rows, one choice each") {
  auto const choices = layer_choices(gelu_spec({6, 4}), parse_topology("a=2"));
  CHECK(choices.size() == 4);  // the choices are S(0), S(1), and B with the gradient B or P
}

TEST_CASE("no choice cuts a block that a rank must have whole") {
  for (char const* const mesh : {"a=2", "a=4", "a=2,b=2", "a=2,b=3"}) {
    auto const t = parse_topology(mesh);
    auto const spec = ashlar::nn::group_norm(12, 6).spec({4, 12, 2, 2});
    auto without = spec;  // the same signature rows, but no blocks that must stay whole
    without.blocks = {};
    std::vector<search::layer_choice> expected;
    for (auto const& c : layer_choices(without, t)) {
      int ranks = 1;
      for (int a = 0; a < t.axes(); ++a)
        if (c.x[a].is_split_of(1)) ranks *= t.extent(a);
      CHECK(search::is_legal(c, spec, t) == (6 % ranks == 0));
      if (6 % ranks == 0) expected.push_back(c);
    }
    CHECK(layer_choices(spec, t) == expected);
  }
  auto const count = [](std::int64_t groups, char const* mesh) {
    int split = 0;
    for (auto const& c : layer_choices(ashlar::nn::group_norm(12, groups).spec({4, 12, 2, 2}),
                                       parse_topology(mesh)))
      split += c.x[0].is_split_of(1);
    return split;
  };
  CHECK(count(6, "a=2") == 1);
  CHECK(count(6, "a=4") == 0);
  CHECK(count(4, "a=4") == 1);
  CHECK(count(12, "a=5") == 1);  // a block that consists of one channel is never cut
  CHECK(count(1, "a=2") == 0);
}

TEST_CASE("axes that split one dim nest in every order, the same for all tensors") {
  auto const spec = gelu_spec({6, 4});
  auto const choices = layer_choices(spec, parse_topology("a=2,b=3"));
  CHECK(choices.size() == 4 * 4 + 2);
  int reversed = 0;
  for (auto const& c : choices) {
    if (!c.x.is_canonical()) {
      ++reversed;
      CHECK(c.y == c.x);
      CHECK(c.dx == c.x);
      CHECK(c.dy == c.x);
    }
  }
  CHECK(reversed == 2);
  CHECK(layer_choices(spec, parse_topology("a=2,b=3,c=2")).size() ==
        // The first term counts the choices in canonical order. In addition, for each of the two
        // dimensions, one of three pairs of axes may split it in reverse order, with one of three
        // rows on the third axis. Or all three axes split it, in one of five other orders.
        4 * 4 * 4 + 2 * (3 * 3 * 1) + 2 * 5);
}

TEST_CASE("choices are distinct, valid, and made of rows") {
  for (char const* mesh : {"a=2", "a=2,b=2", "a=3,b=1,c=2"}) {
    auto const t = parse_topology(mesh);
    shape const x{4, 5, 6};
    for (auto const& spec : {linear_spec(x, 8), layer_norm_spec(x), attention_spec(x, 2),
                             embedding_spec({4, 5}, 7, 6), dropout_spec(x)}) {
      CAPTURE(mesh);
      CAPTURE(spec.name.text);
      auto const choices = layer_choices(spec, t);
      CHECK(!choices.empty());
      for (std::size_t i = 0; i < choices.size(); ++i) {
        auto const& c = choices[i];
        CHECK(search::detail::is_valid(c, spec, t));
        CHECK(matches_rows(c, spec));
        for (int k = 0; k < c.parameters.size(); ++k) CHECK(!c.parameters[k].store.has_partial());
        for (std::size_t j = 0; j < i; ++j) CHECK(!(choices[j] == c));
      }
    }
  }
}

TEST_CASE("sharded storage splits dim 0 innermost if the parameter is broadcast") {
  auto const spec = linear_spec({6, 4}, 8);
  auto const choices = layer_choices(spec, parse_topology("a=2,b=2"));
  auto const find = [&](char const* use, char const* grad, char const* store) {
    return std::any_of(choices.begin(), choices.end(), [&](auto const& c) {
      auto const& w = c.parameters[0];
      return w.use == parse_placement(use) && w.grad == parse_placement(grad) &&
             w.store == parse_placement(store);
    });
  };
  CHECK(find("B,B", "P,P", "B,B"));
  CHECK(find("B,B", "P,P", "S(0),S(0)"));
  CHECK(find("B,S(1)", "P,S(1)", "S(0),S(1)"));
  CHECK(find("B,S(0)", "P,S(0)", "S(0,1),S(0,0)"));  // the replicated axis becomes innermost
  CHECK(find("S(0),S(1)", "S(0),S(1)", "S(0),S(1)"));
  CHECK(!find("S(0),B", "S(0),P", "S(0,1),S(0,0)"));
  // A choice also states where parameters are stored. If both axes split the weight and the bias,
  // all storage options are the same placements. Only one choice may then exist.
  for (auto const& c : choices) {
    int same = 0;
    for (auto const& other : choices)
      same += other.x == c.x && other.y == c.y && other.dy == c.dy && other.dx == c.dx;
    auto const& w = c.parameters[0];
    auto const& bias = c.parameters[1];
    bool const whole_somewhere = w.use.split_count(0) + w.use.split_count(1) < 2 ||
                                 bias.use.split_count(0) < 2;
    if (!whole_somewhere) CHECK(same == 1);
  }
}

TEST_CASE("an axis of extent 1 takes the broadcast row, or any row if requested") {
  auto const spec = gelu_spec({6, 4});
  auto const t = parse_topology("a=1,b=2");
  for (auto const& c : layer_choices(spec, t)) CHECK(c.x[0].is_broadcast());
  CHECK(layer_choices(spec, t).size() == 4);
  CHECK(layer_choices(spec, t, search::trivial_axes::all_rows).size() == 18);
}

TEST_CASE("rows that split dims a tensor lacks are skipped") {
  auto spec = gelu_spec({6, 4});
  spec.rows.push_back({ashlar::split(2, 0),
                       ashlar::split(2, 0),
                       ashlar::split(2, 0),
                       ashlar::split(2, 0),
                       {},
                       {},
                       {}});
  CHECK(layer_choices(spec, parse_topology("a=2")).size() == 4);
}

}  // namespace
}  // namespace ashlar_test
