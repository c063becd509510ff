// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What one plan pays more than another, and where. Both are of one problem; their meshes may differ.
//
//   auto const d = search::diff(problem, a, b, machine);
//   d.total.seconds()                     what b takes more than a; negative: less
//   d.elements[7].cost.gradients          of element 7, by the kinds of breakdown.hpp
//   std::cout << d;                       totals, then the elements, dearest first
//
// What crosses a boundary counts where it arrives: activations in the later element, gradients in the
// earlier one. Elements that differ alike (the copies of a block) print as one line.

#include <algorithm>

#include <ashlar/search/explain.hpp>
#include <ashlar/search/legal.hpp>
#include <ashlar/search/recomputed.hpp>

namespace ashlar::search {

struct element_difference {
  int element = 0;
  std::string name;
  bool same_placements = true;
  std::vector<std::string> from, to;  ///< "x [S(0),B]", in a and in b, of tensors that differ
  cost_breakdown cost;                ///< b - a
};

struct plan_difference {
  cost_breakdown a, b, total;  ///< total: b - a
  std::int64_t memory = 0;     ///< bytes per rank, b - a
  std::string mesh_a, mesh_b;
  std::vector<element_difference> elements;  ///< all of them, in order
  std::string recomputed_a, recomputed_b;    ///< recomputed_text
};

namespace detail {

constexpr cost_breakdown minus(cost_breakdown const& b, cost_breakdown const& a) {
  return {b.work - a.work,
          b.activations - a.activations,
          b.gradients - a.gradients,
          b.parameters - a.parameters,
          b.received - a.received,
          {b.memory.kept - a.memory.kept, b.memory.gathered - a.memory.gathered}};
}

/// "+1.20 ms", "-3.0 us"; "-" for what is nothing beside `scale` seconds.
inline std::string signed_seconds(double s, double scale) {
  if (s < 1e-9 * scale && s > -1e-9 * scale) return "-";
  return (s < 0 ? "-" : "+") + seconds_text(s < 0 ? -s : s);
}

inline std::string signed_bytes(std::int64_t bytes) {
  if (bytes == 0) return "-";
  return (bytes < 0 ? "-" : "+") + bytes_text(bytes < 0 ? -double(bytes) : double(bytes));
}

/// "x [S(0),B]", "weight stored [B,B]": the tensors that `c` places unlike `other`.
inline std::vector<std::string> unlike(layer_spec const& spec, layer_choice const& c,
                                       layer_choice const& other) {
  std::vector<std::string> list;
  auto const add = [&](std::string const& name, placement const& p, placement const& q) {
    if (!(p == q)) list.push_back(name + " " + to_string(p));
  };
  add("x", c.x, other.x);
  add("y", c.y, other.y);
  add("dy", c.dy, other.dy);
  add("dx", c.dx, other.dx);
  for (int k = 0; k < c.parameters.size(); ++k) {
    std::string const name = spec.parameters[k].name.text;
    add(name + " stored", c.parameters[k].store, other.parameters[k].store);
    add(name + " used", c.parameters[k].use, other.parameters[k].use);
    add("d " + name, c.parameters[k].grad, other.parameters[k].grad);
  }
  return list;
}

}  // namespace detail

/// The difference b - a. Throws ashlar::error if either is no plan of `net`.
template <int N>
plan_difference diff(basic_problem<N> const& net, basic_plan<N> const& a, basic_plan<N> const& b,
                     machine const& m) {
  for (auto const* p : {&a, &b})
    if (p->size() != net.size())
      throw error("search::diff", "a plan of " + std::to_string(p->size()) +
                                      " elements is none of a net of " +
                                      std::to_string(net.size()) + ". Compare plans of one net.");
  for (auto const* p : {&a, &b})
    for (int i = 0; i < net.size(); ++i)
      if (!is_legal((*p)[i], net.spec(i), p->mesh))
        throw error("search::diff", "element " + std::to_string(i) + " (" + net.spec(i).name.text +
                                        ") cannot be placed so: its layer has no such row. Compare "
                                        "plans of one net.");
  auto const of_a = breakdown(net, a, m), of_b = breakdown(net, b, m);
  plan_difference d{of_a.total,
                    of_b.total,
                    detail::minus(of_b.total, of_a.total),
                    of_b.memory() - of_a.memory(),
                    to_string(a.mesh),
                    to_string(b.mesh),
                    {},
                    recomputed_text(net, a, m),
                    recomputed_text(net, b, m)};
  for (int i = 0; i < net.size(); ++i) {
    auto const at = static_cast<std::size_t>(i);
    d.elements.push_back({i, net.spec(i).name.text, a[i] == b[i],
                          detail::unlike(net.spec(i), a[i], b[i]),
                          detail::unlike(net.spec(i), b[i], a[i]),
                          detail::minus(of_b.elements[at], of_a.elements[at])});
  }
  return d;
}

namespace detail {

/// Elements that differ alike.
struct difference_group {
  element_difference first;
  std::vector<int> elements;
  double seconds() const { return first.cost.seconds() * double(elements.size()); }
};

inline std::vector<difference_group> grouped(plan_difference const& d) {
  std::vector<difference_group> groups;
  double const scale = d.a.seconds() + d.b.seconds();
  auto const near = [&](double x, double y) { return (x < y ? y - x : x - y) <= 1e-9 * scale; };
  for (auto const& e : d.elements) {
    bool const silent = e.same_placements && near(e.cost.work, 0) && near(e.cost.activations, 0) &&
                        near(e.cost.gradients, 0) && near(e.cost.parameters, 0) &&
                        e.cost.memory.kept == 0;
    if (silent) continue;
    auto const same = [&](difference_group const& g) {
      auto const& o = g.first;
      return o.name == e.name && o.from == e.from && o.to == e.to &&
             near(o.cost.work, e.cost.work) && near(o.cost.activations, e.cost.activations) &&
             near(o.cost.gradients, e.cost.gradients) &&
             near(o.cost.parameters, e.cost.parameters) && o.cost.memory.kept == e.cost.memory.kept;
    };
    auto const known = std::find_if(groups.begin(), groups.end(), same);
    if (known == groups.end()) groups.push_back({e, {e.element}});
    else known->elements.push_back(e.element);
  }
  std::stable_sort(groups.begin(), groups.end(), [](auto const& x, auto const& y) {
    return std::abs(x.seconds()) > std::abs(y.seconds());
  });
  return groups;
}

/// "3", "3, 15", "3, 15, ..., 135".
inline std::string list_text(std::vector<int> const& list) {
  std::string text = std::to_string(list.front());
  if (list.size() > 1) text += ", " + std::to_string(list[1]);
  if (list.size() > 3) text += ", ...";
  if (list.size() > 2) text += ", " + std::to_string(list.back());
  return text;
}

}  // namespace detail

/// Both plans' seconds and memory by kind and what b takes more, then the elements that differ, the
/// dearest first, with the placements in which they do.
inline std::ostream& operator<<(std::ostream& out, plan_difference const& d) {
  using namespace detail;
  double const scale = d.a.seconds() + d.b.seconds(), more = d.total.seconds();
  auto const row = [&](std::string const& name, std::vector<std::string> const& cells) {
    out << "  " << padded(name, 6);
    for (auto const& cell : cells) out << right(cell, 14);
    out << '\n';
  };
  if (std::abs(more) < 1e-9 * scale) out << "b takes as long as a";
  else
    out << "b takes " << seconds_text(std::abs(more)) << " a step ("
        << percent_text(std::abs(more) / d.a.seconds()) << ") " << (more < 0 ? "less" : "more")
        << " than a";
  if (d.memory != 0)
    out << " and " << bytes_text(std::abs(double(d.memory))) << (d.memory < 0 ? " less" : " more")
        << " memory per rank";
  out << '\n';
  if (d.mesh_a != d.mesh_b) out << "  a is on " << d.mesh_a << ", b on " << d.mesh_b << '\n';
  if (d.recomputed_a != d.recomputed_b)
    for (auto const& [name, text] :
         {std::pair{"a", d.recomputed_a}, std::pair{"b", d.recomputed_b}})
      out << "  of " << name << ' ' << (text.empty() ? "no segment is recomputed" : text) << '\n';
  row("", {"work", "activations", "gradients", "parameters", "total", "memory"});
  for (auto const& [name, c] : {std::pair<char const*, cost_breakdown const&>{"a", d.a},
                                std::pair<char const*, cost_breakdown const&>{"b", d.b}})
    row(name, {seconds_or_dash(c.work), seconds_or_dash(c.activations),
               seconds_or_dash(c.gradients), seconds_or_dash(c.parameters),
               seconds_text(c.seconds()), bytes_text(double(c.memory.kept + c.memory.gathered))});
  row("b - a", {signed_seconds(d.total.work, scale), signed_seconds(d.total.activations, scale),
                signed_seconds(d.total.gradients, scale), signed_seconds(d.total.parameters, scale),
                signed_seconds(more, scale), signed_bytes(d.memory)});
  for (auto const& g : grouped(d)) {
    auto const& e = g.first;
    double const n = double(g.elements.size());
    out << '\n' << signed_seconds(g.seconds(), scale) << "  ";
    if (g.elements.size() > 1) out << g.elements.size() << " x ";
    out << e.name << " (" << (g.elements.size() > 1 ? "elements " : "element ")
        << list_text(g.elements) << ")\n";
    std::vector<std::string> kinds;
    for (auto const& [name, seconds] :
         {std::pair{"work ", e.cost.work}, std::pair{"activations ", e.cost.activations},
          std::pair{"gradients ", e.cost.gradients}, std::pair{"parameters ", e.cost.parameters}})
      if (signed_seconds(seconds * n, scale) != "-")
        kinds.push_back(name + signed_seconds(seconds * n, scale));
    if (e.cost.memory.kept != 0)
      kinds.push_back("memory " + signed_bytes(e.cost.memory.kept *
                                               static_cast<std::int64_t>(g.elements.size())));
    if (!kinds.empty()) out << "     " << wrapped(kinds, 5) << '\n';
    if (!e.from.empty())
      out << "     a: " << wrapped(e.from, 8) << "\n     b: " << wrapped(e.to, 8) << '\n';
  }
  return out;
}

}  // namespace ashlar::search
