// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Describes one named axis of a mesh: its extent and its link tier. The tier tells whether ranks
// that differ only along this axis are in the same node or in different nodes. By default, an axis
// named "node", "host" or "rack" has the tier inter_node, and an axis of any other name has
// intra_node.

#include <stdexcept>
#include <string_view>

namespace ashlar {

enum class link_tier : signed char { intra_node, inter_node };

struct axis_name {
  char text[16]{};
  int length = 0;

  constexpr axis_name() = default;
  constexpr axis_name(char const* name) : axis_name(std::string_view(name)) {}
  constexpr axis_name(std::string_view name) {
    if (name.empty() || name.size() > sizeof text)
      throw std::invalid_argument("axis_name: a mesh axis needs a name of 1 to 16 characters");
    for (char c : name) {
      if (!permits(c))
        throw std::invalid_argument(
            "axis_name: the name of a mesh axis may contain only letters, digits and '_'");
      text[length++] = c;
    }
  }

  /// Returns whether names may contain the character. The text form of a mesh uses some of the
  /// other characters as separators.
  static constexpr bool permits(char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  }

  constexpr std::string_view view() const { return {text, static_cast<std::size_t>(length)}; }
  friend constexpr bool operator==(axis_name const& a, axis_name const& b) {
    return a.view() == b.view();
  }
};

constexpr link_tier default_tier(std::string_view name) {
  return name == "node" || name == "host" || name == "rack" ? link_tier::inter_node
                                                            : link_tier::intra_node;
}

struct mesh_axis {
  axis_name name;
  int extent = 1;
  link_tier tier = link_tier::intra_node;

  constexpr mesh_axis() = default;
  constexpr mesh_axis(axis_name n, int e) : name(n), extent(e), tier(default_tier(n.view())) {}
  constexpr mesh_axis(axis_name n, int e, link_tier t) : name(n), extent(e), tier(t) {}

  friend constexpr bool operator==(mesh_axis const&, mesh_axis const&) = default;
};

}  // namespace ashlar
