// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests topologies: the numbering of ranks and of groups, and the text form of meshes.

#include <random>
#include <set>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/naive_placement.hpp>

#include <ashlar/mesh/text.hpp>

using namespace ashlar_test;
using ashlar::axis_list, ashlar::parse_topology, ashlar::topology;

namespace {

std::string topology_message(std::string const& text) {
  auto const message = message_of([&] { parse_topology(text); });
  CHECK(message.starts_with("parse_topology: "));
  return message;
}

}  // namespace

TEST_CASE("ranks are numbered row-major, last axis fastest") {
  topology const t{{"a", 2}, {"b", 3}, {"c", 4}};
  CHECK(t.ranks() == 24);
  int rank = 0;
  for (auto const& c : naive_mesh(t).all_coordinates()) {
    auto const library = t.coordinates_of(rank);
    for (std::size_t a = 0; a < 3; ++a) CHECK(library[a] == c[a]);
    CHECK(t.rank_of(library) == rank);
    ++rank;
  }
}

TEST_CASE("groups along any ordered list of axes partition the ranks, first axis slowest") {
  topology const t{{"a", 2}, {"b", 3}, {"c", 2}};
  for (axis_list const& list : {axis_list{}, axis_list{0}, axis_list{1}, axis_list{1, 0},
                                axis_list{0, 2}, axis_list{2, 0, 1}, axis_list{0, 1, 2}}) {
    int size = 1;
    for (auto a : list) size *= t.extent(a);
    CHECK(t.group_size(list) == size);
    for (int r = 0; r < t.ranks(); ++r) {
      auto const c = t.coordinates_of(r);
      std::set<int> members;
      for (int i = 0; i < size; ++i) {
        auto const m = t.member(c, list, i);
        members.insert(t.rank_of(m));
        CHECK(t.index_in_group(m, list) == i);
        for (int a = 0; a < t.axes(); ++a)
          if (!list.contains(static_cast<signed char>(a)))
            CHECK(m[static_cast<std::size_t>(a)] == c[static_cast<std::size_t>(a)]);
      }
      CHECK(static_cast<int>(members.size()) == size);
      CHECK(t.member(c, list, t.index_in_group(c, list)) == c);
    }
  }
  // The first axis of the list varies slowest among the members of a group.
  CHECK(t.member({}, {2, 0}, 1) == ashlar::coordinates{1, 0, 0});
  CHECK(t.member({}, {0, 2}, 1) == ashlar::coordinates{0, 0, 1});
}

TEST_CASE("an axis named node, host or rack is between nodes, every other inside") {
  topology const t{{"rack", 2}, {"node", 3}, {"gpu", 4}, {"lane", 5}};
  CHECK(t.ranks_per_node() == 20);
  CHECK(ashlar::default_tier("host") == ashlar::link_tier::inter_node);
  CHECK(ashlar::default_tier("nodes") == ashlar::link_tier::intra_node);
}

TEST_CASE("topologies refuse empty axes, equal names and invalid names") {
  CHECK_THROWS_AS((topology{{"a", 0}}), std::invalid_argument);
  CHECK_THROWS_AS((topology{{"a", 2}, {"a", 2}}), std::invalid_argument);
  CHECK_THROWS_AS(ashlar::axis_name(""), std::invalid_argument);
  CHECK_THROWS_AS(ashlar::axis_name("seventeen_letters"), std::invalid_argument);
  CHECK_THROWS_AS((topology{{"data-parallel", 4}}), std::invalid_argument);
}

TEST_CASE("meshes survive a round trip through text") {
  for (char const* text : {"node=2,gpu=4", "gpu=1", "node=2:intra,gpu=8:inter", "a=1,b=2,c=3,d=4",
                           "sixteen_letters_=7", "a=1,b=1,c=1,d=1,e=1,f=1", "x=999999"})
    CHECK(ashlar::to_string(parse_topology(text)) == text);
  CHECK(parse_topology("node=2,gpu=4") == topology{{"node", 2}, {"gpu", 4}});
  CHECK(parse_topology("gpu=2:inter").axis[0].tier == ashlar::link_tier::inter_node);
  CHECK(ashlar::to_string(parse_topology("node=2:inter,gpu=04:intra")) == "node=2,gpu=4");
}

TEST_CASE("the full form names placement and mesh, and axes have their names") {
  topology const t{{"node", 2}, {"gpu", 4}};
  CHECK(ashlar::to_string(placement{ashlar::split(0), ashlar::broadcast()}, t) ==
        "[S(0),B]@node=2,gpu=4");
  CHECK(ashlar::to_string(axis_list{1, 0}, t) == "gpu+node");
}

TEST_CASE("a malformed mesh gives an error that quotes it") {
  struct {
    char const* text;
    char const* reason;
  } const cases[] = {
      {"", "lacks its name or '='"},
      {"node", "lacks its name or '='"},
      {"=2", "lacks its name or '='"},
      {"node=2,", "lacks its name or '='"},
      {",node=2", "lacks its name or '='"},
      {"node=2,,gpu=2", "lacks its name or '='"},
      {"node=", "not a number from 1 to 999999"},
      {"node=0", "not a number from 1 to 999999"},
      {"node=-2", "not a number from 1 to 999999"},
      {"node=two", "not a number from 1 to 999999"},
      {"node=2x4", "not a number from 1 to 999999"},
      {"node= 2", "not a number from 1 to 999999"},
      {"node=1000000", "not a number from 1 to 999999"},
      {"node=99999999999999999999", "not a number from 1 to 999999"},
      {"no de=2", "may contain only letters, digits and '_'"},
      {"node=2, gpu=4", "may contain only letters, digits and '_'"},
      {"seventeen_letters=2", "longer than 16 characters"},
      {"a=2,a=2", "two axes have the same name"},
      {"a=1,b=1,c=1,d=1,e=1,f=1,g=1", "more than 6 axes"},
      {"gpu=8:", "':inter' or ':intra'"},
      {"gpu=8:fast", "':inter' or ':intra'"},
      {"gpu=8:inter:", "':inter' or ':intra'"},
      {"a=99999,b=99999", "too many ranks"},
  };
  for (auto const& c : cases) {
    auto const what = topology_message(c.text);
    CHECK_MESSAGE(what.find("\"" + std::string(c.text) + "\"") != std::string::npos, what);
    CHECK_MESSAGE(what.find(c.reason) != std::string::npos, std::string(c.text), ": ", what);
  }
}

TEST_CASE("random text is an error or a mesh that survives a round trip") {
  std::mt19937 random(9);
  std::string const letters = "node=gpu=1234,,:interab_ -=0";
  int accepted = 0;
  for (int trial = 0; trial < 300000; ++trial) {
    std::string text;
    if (trial % 2) {
      for (int n = uniform(random, 0, 12); n > 0; --n)
        text += letters[static_cast<std::size_t>(
            uniform(random, 0, static_cast<int>(letters.size()) - 1))];
    } else {
      text = "node=2,gpu=8:inter,c=3";
      text[static_cast<std::size_t>(uniform(random, 0, static_cast<int>(text.size()) - 1))] =
          static_cast<char>(uniform(random, 1, 255));
    }
    try {
      auto const t = parse_topology(text);
      ++accepted;
      REQUIRE(parse_topology(ashlar::to_string(t)) == t);
      REQUIRE(t.ranks() >= 1);
    } catch (ashlar::error const& e) {
      REQUIRE(std::string(e.what()).find(text) != std::string::npos);
    }
  }
  CHECK(accepted > 1000);
}
