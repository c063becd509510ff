// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Converts placements to text and back. Messages, plan files, command-line options and tests use
// this form. It has one entry per mesh axis, separated by commas, for example S(0),B:
//
//   B                  broadcast
//   P  P(max)  P(min)  partial
//   O(1)               owned by the rank with coordinate 1 along the axis
//   S(0)               split of dim 0
//   S(0,1)             split of dim 0 with shard depth 1 (0 is outermost). Depths are printed only
//                      if the axes of some dim do not nest in the order of the mesh axes, and then
//                      only for dims that several axes split
//
// The input may contain spaces, and brackets around the list. The full form [S(0),B]@node=2,gpu=4
// also contains the mesh (mesh/text.hpp).

#include <cctype>
#include <ostream>
#include <string>
#include <string_view>

#include <ashlar/config.hpp>
#include <ashlar/placement/placement.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar {

ASHLAR_INLINE char const* to_string(reduction op);

/// Returns the entry of one axis. `with_depth` selects the form S(d,depth).
ASHLAR_INLINE std::string to_string(axis_placement const& a, bool with_depth = false);

/// Returns the text of a placement in brackets, such as "[S(0),B]".
ASHLAR_INLINE std::string to_string(placement const& p);

ASHLAR_INLINE std::ostream& operator<<(std::ostream& out, placement const& p);

/// Parses a placement such as "S(0),B", "[P, S(1)]" or "S(0,1),S(0,0)". If the text does not have
/// this form, throws ashlar::error with the text and the position of the mistake. If the text has
/// this form, but `check` refuses the placement, throws ashlar::error with the text and the result
/// of `check`.
ASHLAR_INLINE placement parse_placement(std::string_view text);

#if ASHLAR_DEFINES(TEXT)
ASHLAR_INLINE char const* to_string(reduction op) {
  return op == reduction::sum ? "sum" : op == reduction::max ? "max" : "min";
}

ASHLAR_INLINE std::string to_string(axis_placement const& a, bool with_depth) {
  if (a.is_broadcast()) return "B";
  if (a.is_owned()) return "O(" + std::to_string(a.owner) + ")";
  if (a.is_partial())
    return a.op == reduction::sum ? "P" : std::string("P(") + to_string(a.op) + ")";
  std::string text = "S(" + std::to_string(a.dim);
  if (with_depth) {
    text += ',';  // GCC 12 wrongly warns about "," + std::to_string(...) here
    text += std::to_string(a.depth);
  }
  return text + ")";
}

ASHLAR_INLINE std::string to_string(placement const& p) {
  std::string text = "[";
  bool const with_depth = !p.is_canonical();
  for (int a = 0; a < p.axes(); ++a) {
    if (a > 0) text += ',';
    text += to_string(p[a], with_depth && p.split_count(p[a].dim) > 1);
  }
  return text + "]";
}

ASHLAR_INLINE std::ostream& operator<<(std::ostream& out, placement const& p) {
  return out << to_string(p);
}

ASHLAR_INLINE placement parse_placement(std::string_view text) {
  auto fail = [&](std::size_t at, std::string const& what) {
    throw error("parse_placement", "\"" + std::string(text) + "\" at character " +
                                       std::to_string(at + 1) + ": " + what +
                                       ". Write one of S(d), B, P, P(max), P(min), O(k) per mesh "
                                       "axis, separated by commas.");
  };
  std::size_t i = 0;
  auto skip = [&] {
    while (i < text.size() && std::isspace(static_cast<unsigned char>(text[i]))) ++i;
  };
  auto take = [&](char c) {
    skip();
    if (i < text.size() && text[i] == c) return ++i, true;
    return false;
  };
  auto number = [&](char const* what, int most, char const* too_large) {
    skip();
    std::size_t const start = i;
    int value = 0;
    while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) && i - start < 4)
      value = 10 * value + (text[i++] - '0');
    if (i == start) fail(i, what);
    if (value > most) fail(start, too_large);
    return value;
  };
  auto dimension = [&] {
    return number("a dimension was expected", 100, "no tensor has so many dimensions");
  };
  placement p;
  bool const bracket = take('[');
  do {
    skip();
    if (p.axes() == max_axes) fail(i, "more axes than a mesh can have");
    if (take('B')) {
      p.axis.push_back(broadcast());
    } else if (take('P')) {
      auto op = reduction::sum;
      if (take('(')) {
        skip();
        auto const word = text.substr(i, 3);
        if (word == "max") op = reduction::max;
        else if (word == "min") op = reduction::min;
        else if (word != "sum") fail(i, "sum, max or min was expected");
        i += 3;
        if (!take(')')) fail(i, "')' was expected");
      }
      p.axis.push_back(partial(op));
    } else if (take('S')) {
      if (!take('(')) fail(i, "'(' was expected");
      int const dim = dimension();
      int const depth = take(',') ? dimension() : -1;
      if (!take(')')) fail(i, "')' was expected");
      p.axis.push_back(split(dim, depth));
    } else if (take('O')) {
      if (!take('(')) fail(i, "'(' was expected");
      p.axis.push_back(
          owned(number("a rank along the axis was expected", max_owners - 1, "owners end at 511")));
      if (!take(')')) fail(i, "')' was expected");
    } else {
      fail(i, "S, B, P or O was expected");
    }
  } while (take(','));
  if (bracket && !take(']')) fail(i, "']' was expected");
  skip();
  if (i != text.size()) fail(i, "unexpected text");
  p.resolve_order();
  if (char const* const wrong = check(p, 101, p.axes()))
    throw error("parse_placement", "\"" + std::string(text) + "\": " + wrong);
  return p;
}
#endif

}  // namespace ashlar
