// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Draws the elements of a plan, from the first to the last: layers, and the beginnings and ends of
// residuals. Each element is one row, which shows the element's tensors divided into shards. A bar
// in the row shows the element's seconds. The collectives that bring the activation to the element
// are listed above the row. The collectives inside the element, those of its parameters, and those
// that bring the gradient back from the next element are listed below the row. Repeated blocks of
// elements appear once.

#include <string>

#include <ashlar/io/page/shards_svg.hpp>
#include <ashlar/io/page/style.hpp>
#include <ashlar/search/explain_text.hpp>

namespace ashlar::io::page {

/// Returns an HTML element with this name and content. `name` may also contain attributes.
inline std::string tag(std::string const& name, std::string const& text) {
  return "<" + name + ">" + text + "</" + name.substr(0, name.find(' ')) + ">";
}

/// Returns a bar with a part for each kind of cost: work, activations, gradients and parameters.
/// The full width of the bar stands for `whole` seconds.
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

/// Returns the drawing of a tensor, divided into its shards, with the tensor's name, extents and
/// placement.
inline std::string box(std::string const& name, shape const& s, placement const& p,
                       topology const& t) {
  std::string const lies = to_string(p);
  return "<div class='box'>" + escaped(name) +
         shards_svg(s, p, t, escaped(name + " " + to_string(s) + " " + lies)) + "<code>" +
         escaped(lies) + "</code><code>" + to_string(s) + "</code></div>";
}

/// Returns a table of collectives, one per line. `kind` is the CSS class that determines the colour
/// of the lines. `way` is an arrow if the collectives move data between two elements, and empty
/// otherwise.
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

/// Returns the row of element number `i`. The bar in the row shows the seconds of the element. A
/// bar of full width stands for `longest` seconds.
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
    if (p.is_updated_apart()) parameters += box("as updated", s.extents, p.update, t);
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
         bytes_text(double(cost.memory.running)) + " while it runs</span></div></div>\n";
}

/// Returns the section of the page with all layers. `parts` must be the breakdown of the costs of
/// `chosen`.
template <int N>
std::string layers_section(search::basic_problem<N> const& net, search::basic_plan<N> const& chosen,
                           search::plan_breakdown const& parts, machine const& m) {
  auto const outline = outline_of(net, chosen, parts, m);
  double longest = 0;
  for (auto const& e : parts.elements) longest = std::max(longest, e.seconds());
  std::string text = "<h2>The layers</h2>\n";
  for (auto const& f : outline.folds) {
    if (f.times > 1)
      text += "<div class='fold'><p>" + std::to_string(f.times) +
              " &times; <span class='dim'>"
              "elements " +
              std::to_string(f.first) + " to " + std::to_string(f.first + f.period - 1) +
              ", repeated up to " + std::to_string(f.end() - 1) + "</span></p>\n";
    for (int i = f.first; i < f.first + f.period; ++i) {
      search::folded_element const e(outline, f, i);
      char const *const down = "&darr;", *const up = "&uarr;";
      if (e.begins) text += moves_table(e.own().enter, "ac", down, "into the first only");
      text += moves_table(e.usual().enter, "ac", down, e.begins ? "into the others" : "");
      text += element_row(i, e.own().name, net.spec(i), chosen[i], chosen.mesh,
                          parts.elements[e.typical], longest);
      text += moves_table(e.own().inside, "pa", "") + moves_table(e.own().rest, "pa", "");
      text += moves_table(e.own().back, "gr", up, e.ends ? "into all but the last" : "");
      if (e.ends) text += moves_table(e.end().back, "gr", up, "into the last only");
    }
    if (f.times > 1) text += "</div>\n";
  }
  return text;
}

}  // namespace ashlar::io::page
