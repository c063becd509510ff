// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Draws the mesh as a grid of ranks in their colours (colour.hpp). A row of the grid has the ranks
// that differ only in their coordinate along the last axis. The rows are in the order of the rank
// numbers. If there are three or more axes, wider gaps divide the rows into groups. The ranks of a
// group differ only in their coordinates along the last two axes. If there are too many rows or
// columns, only the first ones and the last one are drawn.

#include <string>
#include <vector>

#include <ashlar/io/page/shards_svg.hpp>
#include <ashlar/io/page/style.hpp>
#include <ashlar/mesh/text.hpp>

namespace ashlar::io::page {

/// Returns which of the positions 0, ..., n - 1 are drawn, as a list of at most `most` entries. An
/// entry of -1 stands for all positions that are left out.
inline std::vector<int> shown(int n, int most) {
  std::vector<int> list;
  for (int i = 0; i < n; ++i) {
    if (n > most && i == most - 2) {
      list.push_back(-1);
      i = n - 2;
    } else {
      list.push_back(i);
    }
  }
  return list;
}

/// Returns the grid as one SVG element.
inline std::string mesh_svg(topology const& t) {
  int const last = t.axes() - 1;
  int const columns = t.extent(last), rows = t.ranks() / columns;
  int const turn = last > 0 ? t.extent(last - 1) : 1;
  auto const across = shown(columns, 18), down = shown(rows, 18);
  constexpr int cell = 34, step = 37;
  std::string body;
  int y = 24;
  for (std::size_t i = 0; i < down.size(); ++i) {
    int const r = down[i];
    if (r >= 0 && i > 0 && last > 1 && r % turn == 0) y += 8;
    for (std::size_t k = 0; k < across.size(); ++k) {
      int const x = 150 + static_cast<int>(k) * step;
      if (r < 0 || across[k] < 0) {
        if (k == 0 || r >= 0)
          body += "<text class='m' x='" + number(x + cell / 2) + "' y='" + number(y + 21) +
                  "'>…</text>";
        continue;
      }
      int const rank = r * columns + across[k];
      coordinates const c = t.coordinates_of(rank);
      owner who{};
      for (int a = 0; a < t.axes(); ++a)
        who[static_cast<std::size_t>(a)] = c[static_cast<std::size_t>(a)];
      std::string const fill = colour(t, who);
      body += "<rect class='f' rx='3' x='" + number(x) + "' y='" + number(y) + "' width='" +
              number(cell) + "' height='" + number(cell) + "' style='fill:" + fill +
              "'/><text class='" + (is_dark(fill) ? "m l" : "m") + "' x='" + number(x + cell / 2) +
              "' y='" + number(y + 21) + "'>" + std::to_string(rank) + "</text>";
    }
    if (r >= 0 && last > 0) {
      std::string name;
      coordinates const c = t.coordinates_of(r * columns);
      for (int a = 0; a < last; ++a)
        name += std::string(name.empty() ? "" : ", ") +
                escaped(std::string(t.axis[a].name.view())) + " " +
                std::to_string(c[static_cast<std::size_t>(a)]);
      body += "<text class='r' x='140' y='" + number(y + 21) + "'>" + name + "</text>";
    }
    y += r < 0 ? 30 : step;
  }
  for (std::size_t k = 0; k < across.size(); ++k)
    if (across[k] >= 0 && (across.size() < 10 || k == 0))
      body += "<text class='m' x='" + number(150 + static_cast<int>(k) * step + cell / 2) +
              "' y='16'>" + escaped(std::string(t.axis[last].name.view())) + " " +
              std::to_string(across[k]) + "</text>";
  return "<svg width='" + number(150 + double(across.size()) * step) + "' height='" + number(y) +
         "' role='img'><title>the mesh " + escaped(to_string(t)) + "</title>" + body + "</svg>";
}

}  // namespace ashlar::io::page
