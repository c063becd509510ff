// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Writes a plan as one self-contained HTML page, which shows what search::explain prints as text:
//
//   the mesh          with a colour per rank
//   the layers        with their tensors cut into shards, which have the colours of their owners;
//                     repeated blocks of layers appear once
//   the collectives   before, inside and after the layers, with their bytes and seconds
//   a training step   as a time chart, with a row for each resource
//   overlap           the hidden and the exposed communication of each element, if the problem asks
//                     for overlap
//   a front           a chart of several plans, each slower than the one before but with less
//                     memory, if the caller passes such a list

#include <optional>
#include <string>

#include <ashlar/io/page/front_svg.hpp>
#include <ashlar/io/page/layers.hpp>
#include <ashlar/io/page/mesh_svg.hpp>
#include <ashlar/io/page/program_svg.hpp>
#include <ashlar/support/whole_file.hpp>

namespace ashlar::io {
namespace page {

inline std::string tile(std::string const& value, std::string const& what) {
  return "<div class='card tile'><b>" + value + "</b><span>" + what + "</span></div>";
}

/// serial_tiles and overlap_tiles return the tiles at the top of the page with the seconds of a
/// step: serial_tiles if nothing overlaps, overlap_tiles with overlap.
inline std::string serial_tiles(search::cost_breakdown const& total) {
  double const all = total.seconds();
  return tile(seconds_text(all), "a step") +
         tile(search::detail::percent_text(all > 0 ? total.communication() / all : 0),
              "of the step is in collectives");
}
inline std::string overlap_tiles(search::overlap_breakdown const& b) {
  return tile(seconds_text(b.seconds()), "a step, with overlap") +
         tile(seconds_text(b.serial), "if nothing overlaps") +
         tile(std::to_string(b.turns),
              b.turns > 1 ? "micro-batches take turns" : "micro-batch at a time") +
         tile(seconds_text(b.when.hidden()), "of communication is hidden") +
         tile(seconds_text(b.when.exposed), "of communication is exposed");
}

/// Returns the beginning of an HTML document, up to its heading.
inline std::string page_head(std::string const& title) {
  return "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
         "content='width=device-width'><title>" +
         escaped(title) + "</title><style>" + style + "</style></head><body>" + hatch;
}

/// Returns the key to the colours of kinds_bar, with the seconds of each kind.
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

/// Returns the explanation of the colours and of the hatching in the drawings of shards.
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
         " holds a copy; one shade: so does every position along the other axes.<br>" +
         swatch(colour(t, all), "<rect x='1' y='1' width='24' height='12' fill='url(#hatch)'/>") +
         "hatched: each rank has an addend; the value is the sum of all addends.<br>"
         "Only the split dims are drawn, with at most " +
         std::to_string(drawn_dim::most) + " shards per dim.</p>";
}

}  // namespace page

/// Returns the HTML text of the page of `chosen`, which must be a plan of `net`. The predictions
/// are for machine `m`. The page draws `front` if it has more than one plan.
template <int N>
std::string plan_page_text(search::basic_problem<N> const& net, search::basic_plan<N> const& chosen,
                           machine const& m, search::basic_memory_front<N> const& front = {}) {
  using namespace page;
  using search::detail::percent_text;
  auto const parts = breakdown(net, chosen, m);
  auto const& t = chosen.mesh;
  auto const& total = parts.total;
  std::optional<search::overlap_breakdown> together;
  if (net.overlap) together = overlap_of(net, chosen, m);
  std::string text = page_head("plan for " + to_string(t)) + "\n<h1>Plan for " +
                     escaped(to_string(t)) + "</h1><p class='sub'>" + std::to_string(net.size()) +
                     " elements; input " + to_string(chosen.input) +
                     (net.micro_batches > 1
                          ? " in each of " + std::to_string(net.micro_batches) + " micro-batches"
                          : std::string()) +
                     "; all figures are predictions for one training step on the busiest rank</p>\n"
                     "<div class='tiles'>" +
                     (together ? overlap_tiles(*together) : serial_tiles(total)) +
                     tile(bytes_text(double(parts.memory())), "memory per rank") +
                     tile(bytes_text(total.received), "received by a rank") +
                     tile(std::to_string(t.ranks()), "ranks") + "</div>\n<div class='card'>" +
                     kinds_bar(total, total.seconds()) + kinds_key(total) + "</div>\n";
  if (chosen.recomputed > 0)
    text += "<p class='note'>" + escaped(search::recomputed_text(net, chosen, m)) + ".</p>\n";
  if (chosen.gap > 0 && chosen.gap < 1)
    text += "<p class='note'>No permitted plan that fits is more than " +
            search::detail::gap_text(chosen.gap) + " faster.</p>\n";
  for (auto const& note : search::notes(net, chosen))
    text += "<p class='note'>Note: " + escaped(note) + "</p>\n";
  text += "<h2>The mesh</h2>\n<div class='card two'>" + mesh_svg(t) + legend(t) + "</div>\n";
  if (front.plans.size() > 1)
    text += "<h2>Time against memory</h2>\n<div class='card two'>" + front_svg(front) +
            front_table(front) + "</div>\n";
  text += program_section(net, chosen, m);
  if (together) text += overlap_section(*together, outline_of(net, chosen, parts, m));
  return text + layers_section(net, chosen, parts, m) + "</body></html>\n";
}

/// Writes the page to a file. Throws ashlar::error if the file cannot be written.
template <int N>
void save_plan_page(std::string const& path, search::basic_problem<N> const& net,
                    search::basic_plan<N> const& plan, machine const& m,
                    search::basic_memory_front<N> const& front = {}) {
  write_whole(path, plan_page_text(net, plan, m, front), "save_plan_page");
}

}  // namespace ashlar::io
