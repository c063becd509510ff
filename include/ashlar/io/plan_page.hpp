// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A plan as one HTML page that needs nothing else: what explain says, drawn. The mesh with a colour
// per rank; every layer with its tensors cut into shards in their owners' colours; the collectives
// between and in the layers with their bytes and seconds; where a step's time goes; repeated blocks
// once. Given a time-memory front of more than one plan, that too.

#include <string>

#include <ashlar/io/page/front_svg.hpp>
#include <ashlar/io/page/mesh_svg.hpp>
#include <ashlar/io/page/style.hpp>
#include <ashlar/search/explain.hpp>
#include <ashlar/support/whole_file.hpp>

namespace ashlar::io {
namespace page {

inline std::string tag(std::string const& name, std::string const& text) {
  return "<" + name + ">" + text + "</" + name.substr(0, name.find(' ')) + ">";
}

/// The four kinds of seconds side by side, each as long as its part of `whole`.
inline std::string kinds_bar(search::cost_breakdown const& c, double whole) {
  std::string text;
  auto const part = [&](char const* kind, double s) {
    if (s > 0 && whole > 0)
      text += std::string("<i class='") + kind + "' style='width:" + number(100 * s / whole) +
              "%'></i>";
  };
  part("wk", c.work);
  part("ac", c.activations);
  part("gr", c.gradients);
  part("pa", c.parameters);
  return tag("div class='bar'", text);
}

inline std::string kinds_key(search::cost_breakdown const& c) {
  std::string text;
  auto const part = [&](char const* kind, char const* name, double s) {
    text += std::string("<span><i class='") + kind + "'></i>" + name + " " +
            search::detail::seconds_or_dash(s) + "</span>";
  };
  part("wk", "work", c.work);
  part("ac", "moving activations", c.activations);
  part("gr", "moving gradients", c.gradients);
  part("pa", "gathering parameters, reducing their gradients", c.parameters);
  return tag("div class='key'", text);
}

/// A tensor's box with its name, extents and placement.
inline std::string box(std::string const& name, shape const& s, placement const& p,
                       topology const& t) {
  std::string const lies = to_string(p);
  return "<div class='box'>" + escaped(name) +
         shards_svg(s, p, t, escaped(name + " " + to_string(s) + " " + lies)) + "<code>" +
         escaped(lies) + "</code><code>" + to_string(s) + "</code></div>";
}

/// `way`: an arrow for what crosses a boundary, or nothing.
inline std::string moves_table(std::vector<search::move_line> const& lines, char const* kind,
                               char const* way, std::string const& remark = {}) {
  if (lines.empty()) return {};
  std::string text;
  for (auto const& l : lines)
    text += std::string("<tr><td class='w'>") + way + "<td class='p'><span class='dot " + kind +
            "'></span>" + search::to_string(l.when) + "<td class='q'>" + escaped(l.what) +
            "<td class='c'>" + ashlar::to_string(l.kind) + " along <b>" + escaped(l.axes) +
            "</b><td class='n'>" + bytes_text(l.bytes) + "<td class='n'>" +
            seconds_text(l.seconds) + "<td>" + remark + "</tr>";
  return tag("table class='moves'", text);
}

/// The row of one element.
inline std::string element_row(int i, std::string const& name, search::layer_spec const& spec,
                               search::layer_choice const& c, topology const& t,
                               search::cost_breakdown const& cost, double longest) {
  std::string boxes = box("x", spec.x, c.x, t) + "<span class='arrow'>&rarr;</span>" +
                      box("y", spec.y, c.y, t);
  std::string parameters, gradients;
  for (int k = 0; k < c.parameters.size(); ++k) {
    auto const& p = c.parameters[k];
    auto const& s = spec.parameters[k];
    parameters += box(s.name.text, s.extents, p.store, t);
    if (!(p.use == p.store)) parameters += box("as used", s.extents, p.use, t);
    if (!(p.grad == p.store)) parameters += box("its gradient", s.extents, p.grad, t);
  }
  if (!(c.dx == c.x && c.dy == c.y))
    gradients = "<div class='boxes'>" + box("dx", spec.x, c.dx, t) +
                "<span class='arrow'>&larr;</span>" + box("dy", spec.y, c.dy, t) + "</div>";
  return "<div class='e'><div><h3>" + escaped(name) + "</h3><span class='dim'>element " +
         std::to_string(i) + "</span></div><div><div class='boxes'>" + boxes + "</div>" +
         gradients + "</div><div class='boxes'>" + parameters + "</div><div class='num'>" +
         kinds_bar(cost, longest) + "<b>" + search::detail::seconds_or_dash(cost.seconds()) +
         "</b> a step<br><span class='dim'>" + search::detail::seconds_or_dash(cost.work) +
         " work, " + search::detail::seconds_or_dash(cost.communication()) + " moves<br>keeps " +
         bytes_text(double(cost.memory.kept)) + ", needs " +
         bytes_text(double(cost.memory.gathered)) + " while it runs</span></div></div>\n";
}

/// "grey", "hatched": what a reader must know.
inline std::string legend(topology const& t) {
  owner one{}, all{};
  all.fill(everyone);
  auto const swatch = [](std::string const& fill, char const* more) {
    return "<svg width='26' height='14' style='vertical-align:-2px'><rect x='1' y='1' width='24' "
           "height='12' class='f' style='fill:" +
           fill + "'/>" + more + "</svg> ";
  };
  std::string hue;
  for (int a = 0; a < t.axes(); ++a)
    if (gives_hue(t, a)) hue += (hue.empty() ? "" : ", ") + std::string(t.axis[a].name.view());
  return "<p class='dim'>" + swatch(colour(t, one), "") +
         "a shard has the colour of the rank that holds it: the hue says which " + escaped(hue) +
         ", the shade the position along the other axes.<br>" + swatch(colour(t, all), "") +
         "grey: every " + escaped(hue) +
         " holds a copy; one shade: all positions along the "
         "other axes do.<br>" +
         swatch(colour(t, all), "<rect x='1' y='1' width='24' height='12' fill='url(#hatch)'/>") +
         "hatched: addends, the value is their sum.<br>Of a tensor the dims that are split are "
         "drawn; of long rows of shards, " +
         std::to_string(drawn_dim::most) + ".</p>";
}

}  // namespace page

/// The page of a plan, as text. Expects a plan of this problem.
template <int N>
std::string plan_page_text(search::basic_problem<N> const& net, search::basic_plan<N> const& chosen,
                           machine const& m, search::basic_memory_front<N> const& front = {}) {
  using namespace page;
  using search::detail::percent_text;
  auto const parts = breakdown(net, chosen, m);
  auto const outline = outline_of(net, chosen, parts, m);
  auto const& t = chosen.mesh;
  auto const& total = parts.total;
  double longest = 0;
  for (auto const& e : parts.elements) longest = std::max(longest, e.seconds());
  auto const tile = [](std::string const& value, std::string const& what) {
    return "<div class='card tile'><b>" + value + "</b><span>" + what + "</span></div>";
  };
  std::string text =
      "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
      "content='width=device-width'><title>plan for " +
      escaped(to_string(t)) + "</title><style>" + style + "</style></head><body>" + hatch +
      "\n<h1>Plan for " + escaped(to_string(t)) + "</h1><p class='sub'>" +
      std::to_string(net.size()) + " elements; input " + to_string(chosen.input) +
      (net.micro_batches > 1 ? " in each of " + std::to_string(net.micro_batches) + " micro-batches"
                             : std::string()) +
      "; all figures are predictions for one training step on the busiest rank</p>\n"
      "<div class='tiles'>" +
      tile(seconds_text(total.seconds()), "a step") +
      tile(percent_text(total.seconds() > 0 ? total.communication() / total.seconds() : 0),
           "of it in collectives") +
      tile(bytes_text(double(parts.memory())), "memory per rank") +
      tile(bytes_text(total.received), "received by a rank") +
      tile(std::to_string(t.ranks()), "ranks") + "</div>\n<div class='card'>" +
      kinds_bar(total, total.seconds()) + kinds_key(total) + "</div>\n";
  if (chosen.gap > 0)
    text += "<p class='note'>No plan that fits is more than " + percent_text(chosen.gap, 3) +
            " faster.</p>\n";
  for (auto const& note : search::notes(net, chosen))
    text += "<p class='note'>Note: " + escaped(note) + "</p>\n";
  text += "<h2>The mesh</h2>\n<div class='card two'>" + mesh_svg(t) + legend(t) + "</div>\n";
  if (front.plans.size() > 1)
    text += "<h2>What memory buys</h2>\n<div class='card two'>" + front_svg(front) +
            front_table(front) + "</div>\n";
  text += "<h2>The layers</h2>\n";
  for (auto const& f : outline.folds) {
    if (f.times > 1)
      text += "<div class='fold'><p>" + std::to_string(f.times) +
              " &times; <span class='dim'>"
              "elements " +
              std::to_string(f.first) + " to " + std::to_string(f.first + f.period - 1) +
              ", and alike up to " + std::to_string(f.end() - 1) + "</span></p>\n";
    for (int i = f.first; i < f.first + f.period; ++i) {
      search::folded_element const e(outline, f, i);
      char const *const down = "&darr;", *const up = "&uarr;";
      if (e.begins) text += moves_table(e.own().enter, "ac", down, "into the first only");
      text += moves_table(e.usual().enter, "ac", down, e.begins ? "into the others" : "");
      text += element_row(i, e.own().name, net.spec(i), chosen[i], t, parts.elements[e.typical],
                          longest);
      text += moves_table(e.own().inside, "pa", "") + moves_table(e.own().rest, "pa", "");
      text += moves_table(e.own().back, "gr", up, e.ends ? "into all but the last" : "");
      if (e.ends) text += moves_table(e.end().back, "gr", up, "into the last only");
    }
    if (f.times > 1) text += "</div>\n";
  }
  return text + "</body></html>\n";
}

/// Writes that page. Throws ashlar::error if the file cannot be written.
template <int N>
void save_plan_page(std::string const& path, search::basic_problem<N> const& net,
                    search::basic_plan<N> const& plan, machine const& m,
                    search::basic_memory_front<N> const& front = {}) {
  write_whole(path, plan_page_text(net, plan, m, front), "save_plan_page");
}

}  // namespace ashlar::io
