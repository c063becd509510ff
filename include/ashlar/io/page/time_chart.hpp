// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The common parts of time charts: time runs to the right, and each resource has a row of boxes.
// program_svg.hpp draws the step of one rank as such a chart, and pipeline_svg.hpp the schedule of
// a pipeline.

#include <string>

#include <ashlar/io/page/shards_svg.hpp>
#include <ashlar/io/page/style.hpp>
#include <ashlar/plan/text.hpp>

namespace ashlar::io::page {

/// The key to the colours of the boxes.
inline constexpr char const* passes_key =
    "<span class='fk'></span> forward, <span class='bk'></span> backward, <span class='gk'></span> "
    "gradients of parameters alone, <span class='sk'></span> gradients synchronized";

/// Positions and texts of a chart whose full width stands for `seconds`.
struct time_chart {
  static constexpr double top = 6, width = 1000, row = 20;
  double left = 80, seconds = 0;

  double x(double second) const { return left + (seconds > 0 ? second / seconds : 0) * width; }

  static std::string text(double at, double up, char const* kind, std::string const& what) {
    return "<text class='" + std::string(kind) + "' x='" + number(at) + "' y='" + number(up) +
           "'>" + what + "</text>";
  }
  /// Returns the text that names the row at height `y`.
  std::string label(double y, std::string const& what) const {
    return text(left - 8, y + 14, "r", what);
  }
  /// Returns a box of a row, with `inside` if there is room for it. `kind` are classes of the style
  /// sheet, and `title` is the tooltip, as escaped HTML text.
  std::string box(double y, double begin, double end, std::string const& kind,
                  std::string const& inside, std::string const& title) const {
    std::string body = "<rect class='" + kind + "' x='" + number(x(begin)) + "' y='" + number(y) +
                       "' width='" + number(x(end) - x(begin)) + "' height='" + number(row) +
                       "'><title>" + title + "</title></rect>";
    if (!inside.empty() && x(end) - x(begin) > 2 + 6.5 * double(inside.size()))
      body += text((x(begin) + x(end)) / 2, y + 14, "m", inside);
    return body;
  }
  /// Returns the chart as one SVG element, with its time axis below the rows, which end at `y`.
  std::string svg(double y, char const* title, std::string const& body) const {
    return "<svg width='" + number(left + width + 4) + "' height='" + number(y + 16) +
           "' role='img'><title>" + title + "</title>" + body + text(left, y + 10, "", "0") +
           text(left + width, y + 10, "r", seconds_text(seconds)) + "</svg>";
  }
};

}  // namespace ashlar::io::page
