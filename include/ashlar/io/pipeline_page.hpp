// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Writes a plan in pipeline stages as one self-contained HTML page. The page shows
//
//   the schedule        as a time chart, with transfers
//   the stages          as a table with seconds and bytes, and a table of the skips (nn/skip.hpp)
//                       that begin and end in different stages
//   the mesh            of one part
//   the layers          as plan_page.hpp draws them

#include <ashlar/io/page/pipeline_svg.hpp>
#include <ashlar/io/plan_page.hpp>
#include <ashlar/search/explain_pipeline.hpp>

namespace ashlar::io {
namespace page {

/// Returns a bar that shows the seconds of a step, and the key to its colours. The parts of the bar
/// are work, communication and the bubble, in which a stage waits for other stages.
inline std::string step_bar(search::pipeline_plan const& p) {
  double const moves = p.chosen.communication_seconds;
  struct part {
    char const *kind, *name;
    double seconds;
  } const parts[] = {{"wk", "work", p.seconds() - moves - p.bubble},
                     {"ac", "communication", moves},
                     {"id", "bubble: waiting for other parts", p.bubble}};
  std::string bar, key;
  for (auto const& it : parts) {
    if (it.seconds > 0)
      bar += std::string("<i class='") + it.kind +
             "' style='width:" + number(100 * it.seconds / p.seconds()) + "%'></i>";
    key += std::string("<span><i class='") + it.kind + "'></i>" + it.name + " " +
           search::detail::seconds_or_dash(it.seconds) + "</span>";
  }
  return tag("div class='bar'", bar) + tag("div class='key'", key);
}

/// Returns the table of the stages. Consecutive stages that differ only in memory share one row.
inline std::string stages_table(search::pipeline_plan const& p) {
  using search::detail::range_text, search::detail::seconds_or_dash;
  std::string text = "<table class='front'><tr><th>stages<th>elements<th>micro-batches in flight"
                     "<th>segments recomputed<th>a micro-batch<th>forward<th>work<th>sends"
                     "<th>gradients<th>memory</tr>";
  for (auto const& g : search::detail::stage_groups(p)) {
    auto const& s = p.stages[static_cast<std::size_t>(g.first)];
    int const last = p.stages[static_cast<std::size_t>(g.end) - 1].last - 1;
    text += "<tr><td>" + range_text(g.first, g.end - 1) + "<td>" + range_text(s.first, last) +
            "<td>" + std::to_string(p.in_flight(g.first)) + "<td>" +
            (s.recomputed > 0 ? std::to_string(s.recomputed) : "-");
    for (double part : {s.seconds, s.forward, s.work, s.sending, s.synchronize})
      text += "<td>" + seconds_or_dash(part);
    text += "<td>" + bytes_text(double(g.memory)) + "</tr>";
  }
  return text + "</table>";
}

/// Returns the table of the skips (nn/skip.hpp) that begin and end in different stages, or an empty
/// text if there are none.
template <int N>
std::string skips_table(search::basic_problem<N> const& net, search::pipeline_plan const& p) {
  auto const lines = search::detail::skip_lines(net, p);
  if (lines.empty()) return {};
  std::string text = "<table class='front'><tr><th>skips<th>stages<th>sends<th>sends back</tr>";
  for (auto const& it : lines)
    text += "<tr><td>" + it.elements + "<td>" + it.stages + "<td>" + it.sends + "<td>" +
            it.sends_back + "</tr>";
  return text + "</table>";
}

}  // namespace page

/// Returns the HTML text of the page of `p`, which must be a pipeline of `net` with costs for
/// machine `m`.
template <int N>
std::string pipeline_page_text(search::basic_problem<N> const& net, search::pipeline_plan const& p,
                               machine const& m) {
  using namespace page;
  topology const whole = whole_mesh(p);
  int const drawn = drawn_micro_batches(p), stages = static_cast<int>(p.stages.size());
  std::string text =
      page_head("pipeline for " + to_string(whole)) + "\n<h1>Pipeline for " +
      escaped(to_string(whole)) + "</h1><p class='sub'>" + std::to_string(net.size()) +
      " elements; input " + to_string(p.chosen.input) + " in each of " +
      std::to_string(p.micro_batches()) +
      " micro-batches; all figures are predictions for the busiest rank</p>\n<div class='tiles'>" +
      tile(seconds_text(p.seconds()), "a step") +
      tile(search::detail::percent_text(p.seconds() > 0 ? p.bubble / p.seconds() : 0),
           "of the step is bubble") +
      tile(std::to_string(stages),
           (p.parts() < stages ? "stages on " + std::to_string(p.parts()) + " parts of "
                               : std::string("stages of ")) +
               std::to_string(p.chosen.mesh.ranks()) + " ranks each") +
      tile(std::to_string(p.micro_batches()), "micro-batches") +
      tile(seconds_text(p.exposed), "longer through transfers between stages") +
      tile(bytes_text(double(p.chosen.memory)), "memory per rank of the fullest stage") +
      "</div>\n<div class='card'>" + step_bar(p) + "</div>\n";
  if (p.chosen.recomputed > 0)
    text += "<p class='note'>" + escaped(search::recomputed_text(net, p, m)) + ".</p>\n";
  if (p.lower_bound > 0 && p.chosen.gap > 0 && p.chosen.gap < 1)
    text += "<p class='note'>No plan of the searched stages and micro-batches is more than " +
            search::detail::gap_text(p.chosen.gap) + " faster.</p>\n";
  for (auto const& note : search::notes(net, p.chosen))
    text += "<p class='note'>Note: " + escaped(note) + "</p>\n";
  text +=
      "<h2>The schedule</h2>\n<div class='card'>" + pipeline_svg(p) + "<p class='dim'>" +
      escaped(search::schedule_text(schedule_of(p))) + ": " + passes_key +
      "; numbers: micro-batches; lines below a row: what it sends" +
      (p.skips.empty() ? "" : ", in a second line that of skips") + "; white: waiting." +
      (drawn < p.micro_batches() ? " The drawing shows a step of " + std::to_string(drawn) +
                                       " micro-batches; the pattern continues up to " +
                                       std::to_string(p.micro_batches()) + "."
                                 : std::string()) +
      "</p></div>\n<h2>The stages</h2>\n<div class='card'>" + stages_table(p) +
      skips_table(net, p) +
      "<p class='dim'>Seconds are of one micro-batch, gradients of a step; recomputation is part "
      "of the backward pass. Stages that differ only in what they keep share one row, which shows "
      "the largest value.</p></div>\n<h2>The mesh of one part</h2>\n<div class='card two'>" +
      mesh_svg(p.chosen.mesh) + legend(p.chosen.mesh) + "</div>\n";
  return text + layers_section(chain_of(net, p), p.chosen, breakdown(net, p, m), m) +
         "</body></html>\n";
}

/// Writes the page to a file. Throws ashlar::error if the file cannot be written.
template <int N>
void save_pipeline_page(std::string const& path, search::basic_problem<N> const& net,
                        search::pipeline_plan const& p, machine const& m) {
  write_whole(path, pipeline_page_text(net, p, m), "save_pipeline_page");
}

}  // namespace ashlar::io
