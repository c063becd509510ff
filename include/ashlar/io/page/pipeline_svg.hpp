// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Draws the schedule of a pipeline as a time chart. Time runs to the right, and each part of the
// mesh is a row. Each pass of a micro-batch is a box with the number of the micro-batch, if there
// is room. Forward passes, backward passes, and passes that only make gradients of parameters have
// different colours. If a part has several stages, the boxes of all but its first stage have a
// darker border. If a part synchronizes gradients, its last box shows that. White space means that
// the part waits. A transfer is a thin line below the row of the part that sends. The line reaches
// from the begin of the transfer to its end. The transfers of skips (nn/skip.hpp) between stages
// are on a second line, in another colour. If there are too many parts, only the first ones and the
// last one are drawn. If there are too many micro-batches, the chart shows a step that has only the
// first ones.

#include <string>

#include <ashlar/io/page/mesh_svg.hpp>
#include <ashlar/io/page/time_chart.hpp>
#include <ashlar/search/pipeline_plan.hpp>
#include <ashlar/step/pipeline/replay.hpp>

namespace ashlar::io::page {

/// Returns the number of micro-batches in the schedule that the chart shows.
inline int drawn_micro_batches(search::pipeline_plan const& p) {
  int const rows = std::min(static_cast<int>(p.stages.size()), 32);
  return std::min(p.micro_batches(), std::clamp(400 / rows, 1, 20));
}

/// Returns the schedule with only the passes of the first `micro_batches` micro-batches.
inline pipelines::schedule of_first(pipelines::schedule s, int micro_batches) {
  s.micro_batches = micro_batches;
  for (auto& own : s.order)
    std::erase_if(own, [&](auto const& a) { return a.micro_batch >= micro_batches; });
  return s;
}

/// Returns what a transfer carries, such as "output of 3" for micro-batch 3.
inline std::string name_of(pipelines::transfer_time const& t,
                           pipelines::skip_transfers const& skips) {
  bool const forward = t.what.what == pipelines::pass::forward;
  auto const batch = std::to_string(t.what.micro_batch);
  if (t.skip < 0) return (forward ? "output of " : "gradient of ") + batch;
  auto const& skip = skips[static_cast<std::size_t>(t.skip)];
  return std::string(forward ? "input" : "gradient") + " of the skip from stage " +
         std::to_string(skip.from) + " to " + std::to_string(skip.to) + " of " + batch;
}

/// Returns the chart as one SVG element.
inline std::string pipeline_svg(search::pipeline_plan const& p) {
  double const step = p.skips.empty() ? 23 : 25;  // The lines of skips are below the other ones.
  int const drawn = drawn_micro_batches(p);
  auto const schedule = of_first(schedule_of(p), drawn);
  auto const costs = costs_of(p);
  auto const times = pipelines::replay(schedule, costs, p.skips);
  double const last = times.seconds;
  std::vector<double> synchronize;
  double all = last;
  for (int q = 0; q < schedule.positions; ++q) {
    synchronize.push_back(0);
    for (int c = 0; c < schedule.chunks; ++c)
      synchronize.back() += p.stages[static_cast<std::size_t>(schedule.stage_of(q, c))].synchronize;
    auto const& own = times.passes[static_cast<std::size_t>(q)];
    if (!own.empty()) all = std::max(all, own.back().end + synchronize.back());
  }
  time_chart const chart{80, all};
  std::string body;
  double y = chart.top;
  for (int const s : shown(schedule.positions, 32)) {
    if (s < 0) {
      body += chart.label(y - 1, "…");
      y += step;
      continue;
    }
    auto const at = static_cast<std::size_t>(s);
    body += chart.label(y, (schedule.chunks > 1 ? "part " : "stage ") + std::to_string(s));
    auto const& order = schedule.order[at];
    for (std::size_t k = 0; k < order.size(); ++k) {
      auto const& [begin, end] = times.passes[at][k];
      using pipelines::pass;
      auto const what = order[k].what;
      auto const number = std::to_string(order[k].micro_batch);
      std::string const kind = what == pass::forward           ? "fw"
                               : what == pass::weight_gradient ? "wt"
                                                               : "bw";
      std::string const name = what == pass::forward           ? "forward "
                               : what == pass::backward        ? "backward "
                               : what == pass::weight_gradient ? "gradients of parameters "
                                                               : "gradient of the input ";
      std::string const stage = schedule.chunks == 1
                                    ? std::string()
                                    : " of stage " +
                                          std::to_string(schedule.stage_of(s, order[k].chunk));
      body += chart.box(y, begin, end, kind + (order[k].chunk > 0 ? " c2" : ""), number,
                        name + number + stage + ", " + seconds_text(end - begin));
    }
    for (auto const& t : times.transfers) {
      if (t.position != s || t.end <= t.begin) continue;
      auto const below = number(y + chart.row + (t.skip < 0 ? 1.5 : 3.5));
      body += std::string("<line class='") + (t.skip < 0 ? "tr" : "tr sp") + "' x1='" +
              number(chart.x(t.begin)) + "' x2='" + number(chart.x(t.end)) + "' y1='" + below +
              "' y2='" + below + "'><title>" + name_of(t, p.skips) + " sent, " +
              seconds_text(t.end - t.begin) + "</title></line>";
    }
    double const ended = times.passes[at].empty() ? 0 : times.passes[at].back().end;
    if (synchronize[at] > 0)
      body += chart.box(y, ended, ended + synchronize[at], "sy", "",
                        "gradients synchronized, " + seconds_text(synchronize[at]));
    y += step;
  }
  return chart.svg(y, "the schedule of the stages", body);
}

}  // namespace ashlar::io::page
