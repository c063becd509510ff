// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Converts a mesh to text such as "node=2,gpu=4", and back. Also converts a placement on a mesh to
// text such as "[S(0),B]@node=2,gpu=4". An axis whose link tier is not the default of its name has
// a suffix, ":inter" or ":intra", as in "gpu=8:inter" and "node=2:intra".

#include <ostream>
#include <string>
#include <string_view>

#include <ashlar/config.hpp>
#include <ashlar/mesh/topology.hpp>
#include <ashlar/placement/text.hpp>

namespace ashlar {

ASHLAR_INLINE std::string to_string(topology const& t);

ASHLAR_INLINE std::ostream& operator<<(std::ostream& out, topology const& t);

ASHLAR_INLINE std::string to_string(placement const& p, topology const& t);

/// Returns the names of the axes in `list`, for example "node+gpu".
ASHLAR_INLINE std::string to_string(axis_list const& list, topology const& t);

/// Parses a mesh such as "node=2,gpu=4". Throws ashlar::error if the text is not valid.
ASHLAR_INLINE topology parse_topology(std::string_view text);

#if ASHLAR_DEFINES(TEXT)
ASHLAR_INLINE std::string to_string(topology const& t) {
  std::string text;
  for (auto const& a : t.axis) {
    if (!text.empty()) text += ',';
    text += a.name.view();
    text += '=';
    text += std::to_string(a.extent);
    if (a.tier != default_tier(a.name.view()))
      text += a.tier == link_tier::inter_node ? ":inter" : ":intra";
  }
  return text;
}

ASHLAR_INLINE std::ostream& operator<<(std::ostream& out, topology const& t) {
  return out << to_string(t);
}

ASHLAR_INLINE std::string to_string(placement const& p, topology const& t) {
  return to_string(p) + "@" + to_string(t);
}

ASHLAR_INLINE std::string to_string(axis_list const& list, topology const& t) {
  std::string text;
  for (auto const a : list) {
    if (!text.empty()) text += '+';
    text += t.axis[a].name.view();
  }
  return text;
}

ASHLAR_INLINE topology parse_topology(std::string_view text) {
  auto fail = [&](std::string const& what) {
    throw error("parse_topology", "\"" + std::string(text) + "\": " + what +
                                      ". Write a mesh as name=extent pairs, such as node=2,gpu=4.");
  };
  topology t;
  std::string_view rest = text;
  while (true) {
    auto const comma = rest.find(',');
    auto item = rest.substr(0, comma);
    auto const equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0) fail("an axis lacks its name or '='");
    auto const name = item.substr(0, equals);
    auto number = item.substr(equals + 1);
    auto const colon = number.find(':');
    auto const tier = colon == std::string_view::npos ? "" : number.substr(colon + 1);
    number = number.substr(0, colon);
    for (char c : name)
      if (!axis_name::permits(c)) fail("an axis name may contain only letters, digits and '_'");
    if (name.size() > sizeof(axis_name::text)) fail("an axis name is longer than 16 characters");
    if (number.empty() || number.size() > 6) fail("an extent is not a number from 1 to 999999");
    int extent = 0;
    for (char c : number) {
      if (c < '0' || c > '9') fail("an extent is not a number from 1 to 999999");
      extent = 10 * extent + (c - '0');
    }
    if (extent < 1) fail("an extent is not a number from 1 to 999999");
    if (t.axes() == max_axes) fail("more than " + std::to_string(max_axes) + " axes");
    mesh_axis axis(axis_name(name), extent);
    if (tier == "inter") axis.tier = link_tier::inter_node;
    else if (tier == "intra") axis.tier = link_tier::intra_node;
    else if (colon != std::string_view::npos) fail("a tier must be ':inter' or ':intra'");
    for (auto const& other : t.axis)
      if (other.name == axis.name) fail("two axes have the same name");
    if (axis.extent > max_ranks / t.ranks()) fail("too many ranks");
    t.axis.push_back(axis);
    if (comma == std::string_view::npos) break;
    rest = rest.substr(comma + 1);
  }
  return t;
}
#endif

}  // namespace ashlar
