// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Writes the report of explain.hpp. Other reports (explain_pipeline.hpp, diff.hpp) use some of
// these functions.

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <ashlar/mesh/text.hpp>
#include <ashlar/search/breakdown.hpp>
#include <ashlar/search/cost.hpp>
#include <ashlar/search/costly_moves.hpp>
#include <ashlar/search/explanation.hpp>
#include <ashlar/search/outline.hpp>
#include <ashlar/search/overlap/overlap_breakdown.hpp>
#include <ashlar/search/recomputed.hpp>
#include <ashlar/search/text.hpp>

namespace ashlar::search {

namespace detail {

inline bool splits_along(layer_choice const& c, int a) {
  if (c.x[a].is_split() || c.y[a].is_split()) return true;
  for (auto const& p : c.parameters)
    if (p.use[a].is_split()) return true;
  return false;
}

inline std::int64_t longest_dim(layer_spec const& spec) {
  std::int64_t longest = 0;
  auto const look = [&](shape const& s) {
    for (auto const n : s.extent) longest = n > longest ? n : longest;
  };
  look(spec.x);
  look(spec.y);
  for (auto const& p : spec.parameters) look(p.extents);
  return longest;
}

}  // namespace detail

/// Returns notes on what is legal but probably not intended in a plan, such as an axis along which
/// nothing is split. Each note is one sentence. explain.hpp lists them.
template <int N>
std::vector<std::string> notes(basic_problem<N> const& net, basic_plan<N> const& chosen) {
  std::vector<std::string> out;
  topology const& t = chosen.mesh;
  std::int64_t longest = 0;
  for (int i = 0; i < net.size(); ++i) {
    auto const n = detail::longest_dim(net.spec(i));
    longest = n > longest ? n : longest;
  }
  for (int a = 0; a < t.axes(); ++a) {
    if (t.extent(a) == 1 || net.size() == 0) continue;
    std::string const axis = std::string(t.axis[a].name.view()) + "=" + std::to_string(t.extent(a));
    bool used = false;
    for (int i = 0; i < net.size(); ++i) used = used || detail::splits_along(chosen[i], a);
    if (!used)
      out.push_back("nothing is split along " + axis + ": its ranks all do the same work.");
    else if (longest < t.extent(a))
      out.push_back(axis + " is longer than every dim (the longest has " + std::to_string(longest) +
                    "): some of its ranks have nothing to do.");
  }
  double even = 0, busiest = 0;
  for (int i = 0; i < net.size(); ++i) {
    auto const& spec = net.spec(i);
    double const whole = spec.forward_flops + spec.backward_flops;
    even += whole / t.ranks();
    busiest += whole * work_fraction(spec, chosen[i], t);
  }
  if (even > 0 && busiest > 1.25 * even) {
    char text[128];
    std::snprintf(text, sizeof text, "the busiest rank does %.2f times the work of an even share.",
                  busiest / even);
    out.push_back(text);
  }
  return out;
}

namespace detail {

/// Returns a line of text per collective. Each line ends with `remark`.
inline std::string lines_text(std::vector<move_line> const& lines, std::string const& remark = {}) {
  std::string text;
  for (auto const& l : lines)
    text += "      " + padded(to_string(l.when), 12) + padded(l.what, 13) +
            padded(std::string(ashlar::to_string(l.kind)) + " along " + l.axes, 32) +
            right(bytes_text(l.bytes), 12) + right(seconds_text(l.seconds), 11) + remark + "\n";
  return text;
}

/// Returns a table with two lines: the categories of the time of a step, and the seconds of each.
inline std::string kinds_text(cost_breakdown const& c) {
  std::string text;
  for (char const* name : {"work", "activations", "gradients", "parameters"})
    text += right(name, 14);
  text += "\n";
  for (double s : {c.work, c.activations, c.gradients, c.parameters})
    text += right(seconds_or_dash(s), 14);
  return text + "\n";
}

/// Returns the line above a repeated block, which says how often the block occurs and which
/// elements its copies have.
inline std::string copies_text(fold const& f) {
  return std::to_string(f.times) + " x: elements " + std::to_string(f.first) + " to " +
         std::to_string(f.first + f.period - 1) + ", repeated up to " +
         std::to_string(f.end() - 1) + "\n";
}

/// Returns a table of the placements and moves of all layers, with a line per layer and per
/// collective.
template <int N>
std::string elements_text(basic_problem<N> const& net, basic_plan<N> const& chosen,
                          plan_breakdown const& parts, outline const& o) {
  std::size_t widest = 7;
  for (auto const& e : o.elements) widest = e.name.size() > widest ? e.name.size() : widest;
  std::string text = "  " + padded("element", widest + 3) + right("work", 10) + right("moves", 11) +
                     right("memory", 12) + "  placements\n";
  for (auto const& f : o.folds) {
    if (f.times > 1) text += copies_text(f);
    for (int i = f.first; i < f.first + f.period; ++i) {
      folded_element const e(o, f, i);
      auto const& cost = parts.elements[e.typical];
      text += right(std::to_string(i), 4) + (f.times > 1 ? "| " : "  ") +
              padded(e.own().name, widest) + right(seconds_or_dash(cost.work), 9) +
              right(seconds_or_dash(cost.communication()), 11) +
              right(bytes_text(double(cost.memory.sum())), 12) + "  " +
              wrapped(placement_pieces(net.spec(i), chosen[i]), widest + 40) + "\n";
      if (e.begins) text += lines_text(e.own().enter, "  (first)");
      text += lines_text(e.usual().enter, e.begins ? "  (others)" : "");
      text += lines_text(e.own().inside);
      text += lines_text(e.own().back, e.ends ? "  (others)" : "");
      if (e.ends) text += lines_text(e.end().back, "  (last)");
      text += lines_text(e.own().rest);
    }
  }
  return text;
}

/// Returns a list of the five collectives that take most of a step, or an empty text if the plan
/// has at most five. `seconds` is the time of the step. `when` is appended to the heading.
inline std::string costly_text(outline const& o, double seconds, char const* when = "") {
  constexpr std::size_t most = 5;
  auto const moves = costly_moves(o);
  if (moves.size() <= most) return {};
  std::string text = std::string("\n  the collectives that take most of the step") + when + "\n";
  for (std::size_t k = 0; k < most; ++k) {
    auto const& c = moves[k];
    text += right(percent_text(seconds > 0 ? c.seconds() / seconds : 0), 8) +
            right(seconds_text(c.seconds()), 11) + "  " +
            padded((c.times > 1 ? std::to_string(c.times) + " x " : std::string()) + c.layer +
                       ": " + c.each.what,
                   34) +
            ashlar::to_string(c.each.kind) + " along " + c.each.axes + ", " +
            bytes_text(c.each.bytes) + "\n";
  }
  return text;
}

/// Returns a table of hidden and exposed communication, with a line per element of `o`. All copies
/// of an element of a repeated block share one line.
inline std::string overlap_table(overlap_breakdown const& b, outline const& o) {
  std::size_t widest = 7;
  for (auto const& e : o.elements) widest = e.name.size() > widest ? e.name.size() : widest;
  std::string text = "\n  seconds beside computations (hidden) and waited for (exposed), of all "
                     "copies of an element\n  " +
                     padded("element", widest + 3) + right("work", 10) +
                     right("communication", 15) + right("hidden", 11) + right("exposed", 11) + "\n";
  for (auto const& line : overlap_lines(b, o.folds)) {
    if (line.of.times > 1 && line.element == line.of.first) text += copies_text(line.of);
    text += right(std::to_string(line.element), 4) + (line.of.times > 1 ? "| " : "  ") +
            padded(o.elements[static_cast<std::size_t>(line.element)].name, widest) +
            right(seconds_or_dash(line.time.work), 11) +
            right(seconds_or_dash(line.time.communication), 15) +
            right(seconds_or_dash(line.time.hidden()), 11) +
            right(seconds_or_dash(line.time.exposed), 11) + "\n";
  }
  return text;
}

/// Returns the first lines of a report about a step in which transfers overlap with computations.
inline std::string overlap_head(overlap_breakdown const& b, int micro_batches) {
  std::string text = seconds_text(b.seconds()) + " a step";
  if (micro_batches > 1)
    text += " of " + std::to_string(micro_batches) + " micro-batches, of which " +
            (b.turns > 1 ? std::to_string(b.turns) : "none") + " take turns";
  auto const& when = b.when;
  return text + "\n  of " + seconds_text(when.communication) + " of communication " +
         seconds_text(when.hidden()) + " is hidden beside computations and " +
         seconds_text(when.exposed) + " exposed\n  " + seconds_text(b.serial) +
         " if nothing overlaps; " + percent_text(b.seconds() > 0 ? when.exposed / b.seconds() : 0) +
         " of the step waits for communication\n";
}

template <int N>
explanation explain_here(basic_problem<N> net, basic_plan<N> const& chosen, machine const& m) {
  net.interleaved = chosen.interleaved;  // the search may have chosen the number
  auto const parts = breakdown(net, chosen, m);
  auto const& t = chosen.mesh;
  auto const& total = parts.total;
  std::optional<overlap_breakdown> together;
  if (net.overlap) together = overlap_of(net, chosen, m);
  std::string text = "plan for " + to_string(t) + " (" + std::to_string(t.ranks()) + " ranks): ";
  if (together) {
    text += overlap_head(*together, net.micro_batches);
  } else {
    text += seconds_text(total.seconds()) + " a step";
    if (net.micro_batches > 1)
      text += " of " + std::to_string(net.micro_batches) + " micro-batches";
    if (net.interleaved > 1)
      text += ", of which " + std::to_string(net.interleaved) + " take turns";
    text += ", " + percent_text(total.seconds() > 0 ? total.communication() / total.seconds() : 0) +
            " of it communication\n";
  }
  text += "  " + bytes_text(double(parts.memory())) + " of memory per rank; it receives " +
          bytes_text(total.received) + "\n";
  if (chosen.recomputed > 0) text += "  " + recomputed_text(net, chosen, m) + "\n";
  if (is_plain_step(chosen, 0))
    text += "  the first " + std::to_string(chosen.plain_steps) +
            " steps of a training send all gradients exactly; the figures are for later steps\n";
  if (chosen.gap > 0 && chosen.gap < 1)
    text += "  no permitted plan that fits is more than " + gap_text(chosen.gap) + " faster\n";
  text += kinds_text(total);
  for (auto const& note : notes(net, chosen)) text += "  note: " + note + "\n";
  auto const o = outline_of(net, chosen, parts, m);
  text += "\n" + elements_text(net, chosen, parts, o);
  if (together) text += overlap_table(*together, o);
  text += costly_text(o, total.seconds(), together ? ", if nothing overlaps" : "");
  return {text};
}

}  // namespace detail
}  // namespace ashlar::search
