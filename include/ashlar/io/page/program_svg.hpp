// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Draws the predicted timeline of a training step on one rank as a time chart. Time runs to the
// right. The first row shows the computations of the rank. The other rows show the transfers of the
// rank: one row for transfers inside a node, and one for transfers between nodes. White space means
// that the rank waits or that the links are idle.

#include <string>

#include <ashlar/io/page/mesh_svg.hpp>
#include <ashlar/plan/text.hpp>
#include <ashlar/step/build.hpp>
#include <ashlar/step/overlapped.hpp>
#include <ashlar/step/text.hpp>

namespace ashlar::io::page {

/// Programs with more actions than this are not drawn, because the boxes of the chart would be too
/// narrow to see.
inline constexpr std::size_t most_drawn_actions = 6000;

/// Returns the chart of a program on machine `m`, as one SVG element.
template <int N>
std::string program_svg(step::basic_problem<N> const& net, step::program const& p,
                        machine const& m) {
  constexpr double left = 110, top = 6, width = 1000, row = 20, step_down = 23;
  auto const when = step::timeline_of(p, m);
  auto const x = [&](double s) { return left + (when.seconds > 0 ? s / when.seconds : 0) * width; };
  std::string body;
  auto const label = [&](int r, std::string const& what) {
    body += "<text class='r' x='" + number(left - 8) + "' y='" + number(top + r * step_down + 14) +
            "'>" + what + "</text>";
  };
  auto const box = [&](int r, double begin, double end, char const* kind,
                       std::string const& title) {
    if (end > begin)
      body += "<rect class='" + std::string(kind) + "' x='" + number(x(begin)) + "' y='" +
              number(top + r * step_down) + "' width='" + number(x(end) - x(begin)) + "' height='" +
              number(row) + "'><title>" + escaped(title) + ", " + seconds_text(end - begin) +
              "</title></rect>";
  };
  auto const element = [&](int i) { return std::to_string(i) + " " + net.spec(i).name.text; };
  label(0, "work");
  for (std::size_t i = 0; i < p.actions.size(); ++i) {
    auto const& a = p.actions[i];
    if (!computes(a.kind) || a.kind == step::action_kind::update) continue;
    bool const forward = a.kind == step::action_kind::forward ||
                         a.kind == step::action_kind::recompute;
    box(0, when.actions[i].start, when.actions[i].end, forward ? "fw" : "bw",
        element(a.element) + " " + to_string(a.kind));
  }
  int rows = 1;
  for (auto const tier : {link_tier::intra_node, link_tier::inter_node}) {
    if (when.busy[static_cast<int>(tier)] == 0) continue;
    label(rows, tier == link_tier::intra_node ? "inside a node" : "between nodes");
    for (std::size_t k = 0; k < p.moves.size(); ++k) {
      auto const& path = p.path_of(p.moves[k]);
      bool mine = false;
      for (auto const& s : path.steps)
        mine = mine || (communicates(s.kind) && step::tier_of(s, p.mesh) == tier);
      if (mine)
        box(rows, when.moves[k].arrival - when.moves[k].busy, when.moves[k].arrival, "sy",
            element(p.moves[k].element) + " " +
                step::name_of(p.moves[k], net.spec(p.moves[k].element)) + " " +
                to_string(path.from) + " → " + to_string(path.to));
    }
    ++rows;
  }
  double const bottom = top + rows * step_down;
  body += "<text x='" + number(left) + "' y='" + number(bottom + 10) +
          "'>0</text><text class='r' x='" + number(left + width) + "' y='" + number(bottom + 10) +
          "'>" + seconds_text(when.seconds) + "</text>";
  return "<svg width='" + number(left + width + 4) + "' height='" + number(bottom + 16) +
         "' role='img'><title>a step in time</title>" + body + "</svg>";
}

/// Returns the section of the page about a training step: the seconds of the step with and without
/// overlap of transfers and computations, and the chart. If a step has several micro-batches, the
/// section shows a step with only one micro-batch. Returns an empty text if the program is too long
/// to draw.
template <int N>
std::string program_section(step::basic_problem<N> const& net, step::basic_plan<N> const& chosen,
                            machine const& m) {
  auto one = net;
  one.micro_batches = 1;
  auto const serial = step::build(one, chosen, m);
  if (serial.actions.size() > most_drawn_actions) return "";
  auto const result = step::overlapped(serial, m);
  return "<h2>A step in time</h2>\n<div class='card'><p class='note'>" +
         std::string(net.micro_batches > 1 ? "One of the step's micro-batches: "
                                           : "The whole step: ") +
         seconds_text(result.serial) + " with one action after the other, " +
         seconds_text(result.seconds) + " with transfers beside computations.</p>" +
         program_svg(one, result.made, m) + "</div>\n";
}

}  // namespace ashlar::io::page
