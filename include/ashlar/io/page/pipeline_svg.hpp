// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Draws the 1F1B schedule of a pipeline as a time chart. Time runs to the right, and each stage is
// a row. Each forward or backward pass of a micro-batch is a box with the number of the
// micro-batch, if there is room. Forward and backward passes have different colours. White space
// means that the stage waits. If there are too many stages, only the first ones and the last one
// are drawn. If there are too many micro-batches, the chart shows the schedule of a step with fewer
// micro-batches.

#include <string>

#include <ashlar/io/page/mesh_svg.hpp>
#include <ashlar/plan/text.hpp>
#include <ashlar/search/pipeline_plan.hpp>
#include <ashlar/step/pipeline/replay.hpp>
#include <ashlar/step/pipeline/warm_up.hpp>

namespace ashlar::io::page {

/// Returns the number of micro-batches in the schedule that the chart shows.
inline int drawn_micro_batches(search::pipeline_plan const& p) {
  int const rows = std::min(static_cast<int>(p.stages.size()), 32);
  return std::min(p.micro_batches(), std::clamp(400 / rows, 1, 20));
}

/// Returns the chart as one SVG element.
inline std::string pipeline_svg(search::pipeline_plan const& p) {
  constexpr double left = 80, top = 6, width = 1000, row = 20, step = 23;
  int const drawn = drawn_micro_batches(p);
  auto const schedule = pipelines::one_f_one_b(static_cast<int>(p.stages.size()), drawn);
  pipelines::pipeline_costs costs;
  for (auto const& s : p.stages) costs.push_back({s.forward, s.seconds - s.forward, 0, 0, 0});
  auto const times = pipelines::replay(schedule, costs);
  double const last = times.seconds;
  double synchronize = 0;
  for (auto const& s : p.stages) synchronize = std::max(synchronize, s.synchronize);
  double const all = last + synchronize;
  auto const x = [&](double seconds) { return left + (all > 0 ? seconds / all : 0) * width; };
  auto const text = [](double at, double up, char const* kind, std::string const& what) {
    return "<text class='" + std::string(kind) + "' x='" + number(at) + "' y='" + number(up) +
           "'>" + what + "</text>";
  };
  auto const box = [&](double y, double begin, double end, char const* kind,
                       std::string const& inside, std::string const& title) {
    std::string body = "<rect class='" + std::string(kind) + "' x='" + number(x(begin)) + "' y='" +
                       number(y) + "' width='" + number(x(end) - x(begin)) + "' height='" +
                       number(row) + "'><title>" + title + "</title></rect>";
    if (x(end) - x(begin) > 2 + 6.5 * double(inside.size()))
      body += text((x(begin) + x(end)) / 2, y + 14, "m", inside);
    return body;
  };
  std::string body;
  double y = top;
  for (int const s : shown(static_cast<int>(p.stages.size()), 32)) {
    if (s < 0) {
      body += text(left - 8, y + 13, "r", "…");
      y += step;
      continue;
    }
    body += text(left - 8, y + 14, "r", "stage " + std::to_string(s));
    auto const& order = schedule.order[static_cast<std::size_t>(s)];
    for (std::size_t k = 0; k < order.size(); ++k) {
      auto const& [begin, end] = times.passes[static_cast<std::size_t>(s)][k];
      bool const forward = order[k].what == pipelines::pass::forward;
      auto const number = std::to_string(order[k].micro_batch);
      body += box(y, begin, end, forward ? "fw" : "bw", number,
                  (forward ? "forward " : "backward ") + number + ", " + seconds_text(end - begin));
    }
    double const own = p.stages[static_cast<std::size_t>(s)].synchronize;
    if (own > 0)
      body += box(y, last, last + own, "sy", "", "gradients synchronized, " + seconds_text(own));
    y += step;
  }
  body += text(left, y + 10, "", "0") + text(left + width, y + 10, "r", seconds_text(all));
  return "<svg width='" + number(left + width + 4) + "' height='" + number(y + 16) +
         "' role='img'><title>the schedule of the stages</title>" + body + "</svg>";
}

}  // namespace ashlar::io::page
