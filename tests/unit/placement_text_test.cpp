// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the text form of placements. Every valid placement survives a round trip, and malformed
// text gives an error that quotes the text. Random text is either parsed or gives such an error.

#include <random>
#include <set>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/naive_placement.hpp>

#include <ashlar/placement/text.hpp>

using namespace ashlar_test;
using ashlar::broadcast, ashlar::parse_placement, ashlar::partial, ashlar::split;

namespace {

std::string placement_message(std::string const& text) {
  auto const message = message_of([&] { parse_placement(text); });
  CHECK(message.starts_with("parse_placement: "));
  return message;
}

}  // namespace

TEST_CASE("every valid placement of up to three dims on up to three axes survives a round trip") {
  for (int rank : {0, 1, 2, 3})
    for (int axes : {1, 2, 3})
      for (auto const& p :
           all_placements(rank, axes, {reduction::sum, reduction::max, reduction::min}, {3, 511}))
        REQUIRE(parse_placement(ashlar::to_string(p)) == p);
}

TEST_CASE("no two placements have one text") {
  std::set<std::string> texts;
  auto const all = all_placements(2, 3, {reduction::sum, reduction::max, reduction::min}, {0, 12});
  for (auto const& p : all) texts.insert(ashlar::to_string(p));
  CHECK(texts.size() == all.size());
}

TEST_CASE("placements print as people write them") {
  CHECK(ashlar::to_string(placement{split(0), broadcast()}) == "[S(0),B]");
  CHECK(ashlar::to_string(placement{split(1), split(1)}) == "[S(1),S(1)]");
  CHECK(ashlar::to_string(placement{split(1, 1), split(1, 0)}) == "[S(1,1),S(1,0)]");
  CHECK(ashlar::to_string(placement{split(1, 1), split(0), split(1, 0)}) == "[S(1,1),S(0),S(1,0)]");
  CHECK(ashlar::to_string(placement{partial(), partial()}) == "[P,P]");
  CHECK(ashlar::to_string(placement{partial(reduction::max)}) == "[P(max)]");
  CHECK(ashlar::to_string(placement{partial(reduction::min)}) == "[P(min)]");
  CHECK(ashlar::to_string(placement{ashlar::owned(12), broadcast()}) == "[O(12),B]");
}

TEST_CASE("brackets, spaces and written-out defaults are read") {
  placement const p{split(0), broadcast()};
  for (char const* text : {"S(0),B", "[S(0),B]", " [ S ( 0 ) , B ] ", "S(0,0),B", "\tS(0),\nB "})
    CHECK(parse_placement(text) == p);
  CHECK(parse_placement("P(sum)") == parse_placement("P"));
  CHECK(parse_placement("S(0,1),S(0,0)") == placement{split(0, 1), split(0, 0)});
}

TEST_CASE("malformed text gives an error that quotes it and says where it is wrong") {
  struct {
    char const* text;
    char const* reason;
  } const cases[] = {
      {"", "S, B, P or O was expected"},
      {"[]", "S, B, P or O was expected"},
      {"S(0),", "S, B, P or O was expected"},
      {",B", "S, B, P or O was expected"},
      {"R", "S, B, P or O was expected"},
      {"s(0)", "S, B, P or O was expected"},
      {"S", "'(' was expected"},
      {"S0", "'(' was expected"},
      {"S()", "a dimension was expected"},
      {"S(-1)", "a dimension was expected"},
      {"S(0,)", "a dimension was expected"},
      {"S(0", "')' was expected"},
      {"S(0,1,2)", "')' was expected"},
      {"S(1000)", "no tensor has so many dimensions"},
      {"S(101)", "no tensor has so many dimensions"},
      {"P(avg)", "sum, max or min was expected"},
      {"P(ma", "sum, max or min was expected"},
      {"P(max", "')' was expected"},
      {"O", "'(' was expected"},
      {"O(B)", "a rank along the axis was expected"},
      {"O(512)", "owners end at 511"},
      {"O(3", "')' was expected"},
      {"P(maximum)", "')' was expected"},
      {"[B", "']' was expected"},
      {"B]", "unexpected text"},
      {"B B", "unexpected text"},
      {"[S(0),B]@node=2", "unexpected text"},
      {"B,B,B,B,B,B,B", "more axes than a mesh can have"},
  };
  for (auto const& c : cases) {
    auto const what = placement_message(c.text);
    CHECK_MESSAGE(what.find("\"" + std::string(c.text) + "\"") != std::string::npos, what);
    CHECK_MESSAGE(what.find(c.reason) != std::string::npos, std::string(c.text), ": ", what);
    CHECK_MESSAGE(what.find("at character ") != std::string::npos, what);
    CHECK(what.find("Write one of") != std::string::npos);
  }
  CHECK(placement_message("B,X").find("at character 3") != std::string::npos);
  // The whole placement is wrong, not one character.
  CHECK(placement_message("P,P(max)") ==
        "parse_placement: \"P,P(max)\": two kinds of reduction in one placement. Reduce one of "
        "them first.");
}

TEST_CASE("random text is an error or a placement that survives a round trip") {
  std::mt19937 random(5);
  std::string const letters = "SBPB(()),,[]0123max min sum\t@-=x";
  int accepted = 0;
  for (int trial = 0; trial < 300000; ++trial) {
    std::string text;
    for (int n = uniform(random, 0, 12); n > 0; --n)
      text += letters[static_cast<std::size_t>(
          uniform(random, 0, static_cast<int>(letters.size()) - 1))];
    try {
      auto const p = parse_placement(text);
      ++accepted;
      if (ashlar::check(p, ashlar::max_rank, p.axes()) == nullptr)
        REQUIRE(parse_placement(ashlar::to_string(p)) == p);
    } catch (ashlar::error const& e) {
      REQUIRE(std::string(e.what()).find(text) != std::string::npos);
    }
  }
  CHECK(accepted > 1000);
}

TEST_CASE("mutations of right text are errors or placements that survive a round trip") {
  std::mt19937 random(6);
  auto const all = all_placements(2, 3, {reduction::sum, reduction::max});
  for (int trial = 0; trial < 100000; ++trial) {
    auto text = ashlar::to_string(
        all[static_cast<std::size_t>(uniform(random, 0, static_cast<int>(all.size()) - 1))]);
    auto const at = static_cast<std::size_t>(uniform(random, 0, static_cast<int>(text.size()) - 1));
    if (uniform(random, 0, 1)) text.erase(at, 1);
    else text[at] = static_cast<char>(uniform(random, 0, 255));
    try {
      auto const p = parse_placement(text);
      if (ashlar::check(p, ashlar::max_rank, p.axes()) == nullptr)
        REQUIRE(parse_placement(ashlar::to_string(p)) == p);
    } catch (ashlar::error const&) {
    }
  }
}

TEST_CASE("check names what is wrong with a placement") {
  using ashlar::check;
  CHECK(check({split(0), broadcast()}, 2, 2) == nullptr);
  auto says = [](char const* reason, char const* part) {
    return reason != nullptr && std::string(reason).find(part) != std::string::npos;
  };
  CHECK(says(check({split(0)}, 2, 2), "wrong number of axes"));
  CHECK(says(check({split(2), broadcast()}, 2, 2), "dimension the tensor does not have"));
  CHECK(says(check({split(0), broadcast()}, 0, 2), "dimension the tensor does not have"));
  CHECK(says(check({split(0, 1), broadcast()}, 2, 2), "without gaps"));
  CHECK(says(check({split(0, 0), split(0, 0)}, 2, 2), "two axes have the same shard depth"));
  CHECK(says(check({split(0, 0), split(0, 2)}, 2, 2), "without gaps"));
  CHECK(says(check({partial(), partial(reduction::max)}, 2, 2), "two kinds of reduction"));
}

TEST_CASE("splits and roles keep the order of shards in its normal form") {
  placement const p{split(0), broadcast(), split(0)};
  CHECK(p.axes_of(0) == ashlar::axis_list{0, 2});
  CHECK(placement{split(0, 1), split(0, 0)}.axes_of(0) == ashlar::axis_list{1, 0});
  CHECK(p.axes_of(1).empty());
  CHECK(p.split_count(0) == 2);
  auto const q = p.with_split(1, 0);
  CHECK(q.axes_of(0) == ashlar::axis_list{0, 2, 1});
  CHECK_FALSE(q.is_canonical());
  CHECK(q.with(1, broadcast()) == p);
  CHECK(p.is_canonical());
  CHECK_FALSE(p.has_partial());
  CHECK(placement{broadcast(), partial(reduction::min)}.op() == reduction::min);
}
