// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Draws a time-memory front as a chart and as a table. A front is a list of plans in which each
// plan is slower than the one before, but needs less memory. In the chart, memory increases to the
// right, beginning at the plan with the least memory. The seconds of a step increase upwards,
// beginning at the fastest plan. A dashed line marks the machine's memory.

#include <string>

#include <ashlar/io/page/shards_svg.hpp>
#include <ashlar/io/page/time_chart.hpp>
#include <ashlar/search/pareto.hpp>

namespace ashlar::io::page {

/// Returns the chart as one SVG element. The front must have at least two plans.
template <int N>
std::string front_svg(search::basic_memory_front<N> const& front) {
  constexpr double left = 70, top = 10, width = 420, height = 200;
  double const least = double(front.plans.back().memory), most = double(front.plans[0].memory);
  double const low = front.plans[0].seconds, high = front.plans.back().seconds;
  auto const x = [&](double memory) {
    return left + (most > least ? (memory - least) / (most - least) : 0.5) * width;
  };
  auto const y = [&](double s) {
    return top + height - (high > low ? (s - low) / (high - low) : 0.5) * height;
  };
  std::string points, line;
  for (auto const& p : front.plans) {
    std::string const at = number(x(double(p.memory))), up = number(y(p.seconds));
    line += at + "," + up + " ";
    points += "<circle cx='" + at + "' cy='" + up + "' r='4' fill='" +
              (p.gap > 0 ? "#fff" : "#2f6fb0") + "' stroke='#2f6fb0'><title>" +
              bytes_text(double(p.memory)) + ", " + seconds_text(p.seconds) + "</title></circle>";
  }
  std::string limit;
  if (double(front.memory) > least && double(front.memory) < most) {
    std::string const at = number(x(double(front.memory)));
    limit = "<line x1='" + at + "' x2='" + at + "' y1='" + number(top) + "' y2='" +
            number(top + height) + "' stroke='#c0392b' stroke-dasharray='4 3'/><text x='" +
            number(x(double(front.memory)) + 4) + "' y='" + number(top + 11) +
            "'>the machine's memory</text>";
  }
  return "<svg width='520' height='250' role='img'><title>time against memory</title><path d='M" +
         number(left) + " " + number(top - 4) + "V" + number(top + height + 8) + "H" +
         number(left + width + 8) + "' class='f'/>" + limit +
         "<polyline fill='none' "
         "stroke='#9db8d3' points='" +
         line + "'/>" + points + time_chart::text(left - 6, top + 4, "r", seconds_text(high)) +
         time_chart::text(left - 6, top + height + 4, "r", seconds_text(low)) +
         time_chart::text(left, top + height + 24, "m", bytes_text(least)) +
         time_chart::text(left + width, top + height + 24, "m", bytes_text(most)) + "</svg>";
}

/// Returns the table as one HTML element, with a row for each plan and these columns:
///
/// - the bytes per rank
/// - the seconds of a step
/// - the slowdown relative to the fastest plan
/// - whether the plan is proved to be optimal
template <int N>
std::string front_table(search::basic_memory_front<N> const& front) {
  std::string text = "<table class='front'><tr><th>memory per rank<th>a step<th>slower by"
                     "<th>certified</tr>";
  for (auto const& p : front.plans)
    text += "<tr><td>" + bytes_text(double(p.memory)) + "<td>" + seconds_text(p.seconds) + "<td>" +
            (&p == &front.plans[0]
                 ? "-"
                 : search::detail::percent_text(p.seconds / front.plans[0].seconds - 1)) +
            "<td>" + (p.gap > 0 ? "within " + search::detail::gap_text(p.gap) : "optimal") +
            "</tr>";
  return text + "</table>";
}

}  // namespace ashlar::io::page
