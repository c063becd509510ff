// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Draws the predicted timeline of a training step on one rank as a time chart, with a row for each
// resource. The first row shows the computations of the rank. The other rows show its transfers:
// one row for those inside a node, and one for those between nodes. White space means that the rank
// waits or that the links are idle. Colours distinguish the forward pass, the backward pass and the
// synchronization of gradients. If micro-batches take turns (step/turns.hpp), each box has the
// number of its micro-batch, and the boxes of odd numbers have a darker border.

#include <string>

#include <ashlar/io/page/time_chart.hpp>
#include <ashlar/search/outline.hpp>
#include <ashlar/search/overlap/overlap_breakdown.hpp>
#include <ashlar/step/text.hpp>
#include <ashlar/step/timeline.hpp>

namespace ashlar::io::page {

/// Programs with more actions than this are not drawn, because the boxes of the chart would be too
/// narrow to see.
inline constexpr std::size_t most_drawn_actions = 6000;

/// Returns the CSS classes (style.hpp) of the box of a computation or a transfer. They are the
/// colour and, if `second` is true, a darker border. If micro-batches take turns, this border marks
/// every second micro-batch.
inline std::string box_kind(step::action_kind kind, bool second) {
  bool const forward = kind == step::action_kind::forward || kind == step::action_kind::recompute;
  return std::string(forward                                      ? "fw"
                     : kind == step::action_kind::weight_gradient ? "wt"
                                                                  : "bw") +
         (second ? " c2" : "");
}
inline std::string box_kind(step::phase when, bool second) {
  return std::string(!step::repeats(when)            ? "sy"
                     : when == step::phase::backward ? "bw"
                                                     : "fw") +
         (second ? " c2" : "");
}

/// Returns a text that says what a transfer moves. A bucket is several moves in one transfer: its
/// text names the first move and says how many others there are.
template <int N>
std::string moved_text(step::basic_problem<N> const& net, step::program const& p, int number) {
  auto const& move = p.moves[static_cast<std::size_t>(number)];
  auto const& path = p.path_of(move);
  int others = 0;
  for (auto const& m : p.moves) others += move.bucket >= 0 && m.bucket == move.bucket;
  return std::to_string(move.element) + " " + net.spec(move.element).name.text + " " +
         step::name_of(move, net.spec(move.element)) +
         (others > 1 ? " and " + std::to_string(others - 1) + " more" : std::string()) + " " +
         to_string(path.from) + " → " + to_string(path.to);
}

/// Returns the chart of a program with the timeline `when`, as one SVG element.
template <int N>
std::string program_svg(step::basic_problem<N> const& net, step::program const& p,
                        step::timeline const& when) {
  time_chart const chart{110, when.seconds};
  std::string body;
  bool const turns = p.interleaved > 1 && p.micro_batches > 1;
  auto const box = [&](double y, double begin, double end, std::string const& kind, int micro_batch,
                       std::string const& title) {
    if (end <= begin) return;
    auto const batch = std::to_string(micro_batch);
    body += chart.box(y, begin, end, kind, turns ? batch : "",
                      escaped(title) + (turns ? ", micro-batch " + batch : "") + ", " +
                          seconds_text(end - begin));
  };
  auto const is_second = [&](int micro_batch) { return turns && micro_batch % 2 == 1; };
  double y = chart.top;
  body += chart.label(y, "work");
  for (std::size_t i = 0; i < p.actions.size(); ++i) {
    auto const& a = p.actions[i];
    if (!computes(a.kind) || a.kind == step::action_kind::update) continue;
    box(y, when.actions[i].start, when.actions[i].end, box_kind(a.kind, is_second(a.micro_batch)),
        a.micro_batch,
        std::to_string(a.element) + " " + net.spec(a.element).name.text + " " + to_string(a.kind));
  }
  for (auto const tier : {link_tier::intra_node, link_tier::inter_node}) {
    if (when.busy[static_cast<int>(tier)] == 0) continue;
    y += 23;
    body += chart.label(y, tier == link_tier::intra_node ? "inside a node" : "between nodes");
    for (auto const& t : when.transfers) {
      if (t.tier != tier) continue;
      auto const& move = p.moves[static_cast<std::size_t>(t.move)];
      bool const is_of_batch = step::repeats(move.phase);
      box(y, t.start, t.end, box_kind(move.phase, is_of_batch && is_second(move.micro_batch)),
          move.micro_batch, moved_text(net, p, t.move));
    }
  }
  return chart.svg(y + 23, "a step in time", body);
}

/// Returns the section of the page about a training step: the seconds of the step with and without
/// overlap of transfers and computations, and the chart. If a step has several micro-batches, the
/// section shows a step with only one of them, or with only as many as take turns. If the program
/// is too long, only the seconds are shown, and only if the problem asks for overlap.
template <int N>
std::string program_section(step::basic_problem<N> const& net, step::basic_plan<N> const& chosen,
                            machine const& m) {
  auto one = net;
  one.interleaved = chosen.interleaved;
  one.micro_batches = std::min(net.micro_batches, chosen.interleaved);
  // A program has at least four actions per element and micro-batch. If these are already too many
  // to draw, the program is built only if the problem asks for overlap, to show its seconds.
  bool const too_long = std::size_t(4 * one.size()) * std::size_t(one.micro_batches) >
                        most_drawn_actions;
  if (too_long && !net.overlap) return "";
  auto const step = search::overlap_of(one, chosen, m);
  bool const is_drawn = step.made.actions.size() <= most_drawn_actions;
  if (!is_drawn && !net.overlap) return "";
  std::string const part = net.micro_batches == one.micro_batches ? "The whole step: "
                           : one.micro_batches == 1
                               ? "One of the step's micro-batches: "
                               : std::to_string(one.micro_batches) +
                                     " of the step's micro-batches, which take turns: ";
  return "<h2>A step in time</h2>\n<div class='card'><p class='note'>" + part +
         seconds_text(step.serial) + " with one action after the other, " +
         seconds_text(step.seconds()) + " with transfers beside computations.</p>" +
         (is_drawn ? program_svg(one, step.made, step.when) + "<p class='dim'>" + passes_key +
                         "; white: waiting, or an idle link.</p>"
                   : std::string("<p class='dim'>The step has too many actions to draw.</p>")) +
         "</div>\n";
}

/// Returns the table of hidden communication, which runs beside computations, and of exposed
/// communication, for which the processor waits. It has a row for each element, or for all copies
/// of an element of a repeated block.
inline std::string overlap_section(search::overlap_breakdown const& b, search::outline const& o) {
  using search::detail::seconds_or_dash;
  std::string text = "<h2>What overlaps</h2>\n<div class='card'><table class='front'><tr><th>"
                     "elements<th>name<th>work<th>communication<th>hidden<th>exposed</tr>";
  for (auto const& line : search::overlap_lines(b, o.folds)) {
    auto const& f = line.of;
    text += "<tr><td>" + std::to_string(line.element) +
            (f.times > 1 ? " and " + std::to_string(f.times - 1) + " copies" : std::string()) +
            "<td>" + escaped(o.elements[static_cast<std::size_t>(line.element)].name);
    for (double const s :
         {line.time.work, line.time.communication, line.time.hidden(), line.time.exposed})
      text += "<td>" + seconds_or_dash(s);
    text += "</tr>";
  }
  return text + "</table><p class='dim'>Hidden communication runs beside computations; for exposed "
                "communication the processor waits. Copies in repeated blocks are added up.</p>"
                "</div>\n";
}

}  // namespace ashlar::io::page
