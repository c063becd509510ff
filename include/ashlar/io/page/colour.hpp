// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Chooses a colour for each rank of a mesh, so that the colour of a shard shows its owner:
//
//   hue         the position along the axes between nodes, or along axis 0 if there are none
//   lightness   the position along the other axes
//   grey        the shard is replicated along all axes that determine the hue
//
// The owner of a shard has one coordinate per axis, or `everyone` for an axis along which the shard
// is replicated. The position along several axes is the row-major index of the coordinates along
// these axes. Axes along which the shard is replicated are left out.

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include <ashlar/mesh/topology.hpp>

namespace ashlar::io::page {

/// The value in place of a coordinate if all ranks along the axis have a copy.
inline constexpr int everyone = -1;

/// The owner of a shard: a coordinate or `everyone` for each axis.
using owner = std::array<int, max_axes>;

/// Returns whether the coordinate along axis `a` affects the hue of a rank's colour.
constexpr bool gives_hue(topology const& t, int a) {
  bool any = false;
  for (auto const& axis : t.axis)
    any = any || (axis.tier == link_tier::inter_node && axis.extent > 1);
  return any ? t.axis[a].tier == link_tier::inter_node : a == 0;
}

/// Returns the colour of an owner as "#rrggbb".
inline std::string colour(topology const& t, owner const& who) {
  double index[2]{}, count[2]{1, 1};
  bool fixed[2]{};
  for (int a = 0; a < t.axes(); ++a) {
    int const at = who[static_cast<std::size_t>(a)], kind = gives_hue(t, a) ? 0 : 1;
    if (at == everyone || t.extent(a) == 1) continue;
    index[kind] = index[kind] * t.extent(a) + at;
    count[kind] *= t.extent(a);
    fixed[kind] = true;
  }
  double const hue = 360 * index[0] / count[0] + 205;
  double const light = fixed[1] ? 0.80 - 0.42 * index[1] / std::max(1.0, count[1] - 1) : 0.60;
  double const saturation = fixed[0] ? 0.62 : 0.06;
  // Converts HSL to RGB by the formula of the CSS specification.
  auto const channel = [&](double n) {
    double k = n + hue / 30;
    while (k >= 12) k -= 12;
    double const a = saturation * std::min(light, 1 - light);
    double const value = light - a * std::max(-1.0, std::min({k - 3, 9 - k, 1.0}));
    return static_cast<unsigned>(value * 255 + 0.5);
  };
  char text[16];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", channel(0), channel(8), channel(4));
  return text;
}

/// Returns whether "#rrggbb" is so dark that text on it must be light.
inline bool is_dark(std::string const& colour) {
  unsigned const rgb = static_cast<unsigned>(std::stoul(colour.substr(1), nullptr, 16));
  return 299 * (rgb >> 16) + 587 * (rgb >> 8 & 255u) + 114 * (rgb & 255u) < 115'000;
}

}  // namespace ashlar::io::page
