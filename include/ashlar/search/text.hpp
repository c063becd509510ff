// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Helps to lay out the text of reports: pads columns with spaces, breaks lines after at most 100
// columns, and formats numbers.

#include <string>
#include <vector>

#include <ashlar/plan/text.hpp>

namespace ashlar::search::detail {

inline std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

inline std::string right(std::string const& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

inline std::string seconds_or_dash(double s) { return s == 0 ? "-" : seconds_text(s); }

inline std::string percent_text(double share, int digits = 1) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %%", digits, 100 * share);
  return text;
}

/// Returns the gap of a plan in percent. It is rounded up, so that the text is a bound, too.
inline std::string gap_text(double gap) {
  double const exact = 1e5 * gap;
  auto const whole = static_cast<double>(static_cast<long>(exact));
  return percent_text((whole < exact ? whole + 1 : whole) / 1e5, 3);
}

/// Joins pieces with "; " into lines of at most 100 columns. The first line starts at column
/// `column`, and the other lines are indented to that column. A piece that is too long for one line
/// is broken at a space.
inline std::string wrapped(std::vector<std::string> const& pieces, std::size_t column) {
  std::string text;
  std::size_t at = column;
  auto const new_line = [&](std::size_t indent) {
    (text += '\n').append(indent, ' ');
    at = indent;
  };
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    std::string piece = pieces[i];
    if (i > 0 && at + 2 + piece.size() <= 100) {
      text += "; ";
      at += 2;
    } else if (i > 0) {
      new_line(column);
    }
    while (at + piece.size() > 100) {
      auto const space = piece.rfind(' ', 100 - at);
      if (space == std::string::npos || space == 0) break;
      text += piece.substr(0, space);
      piece.erase(0, space + 1);
      new_line(column + 2);
    }
    text += piece;
    at += piece.size();
  }
  return text;
}

}  // namespace ashlar::search::detail
