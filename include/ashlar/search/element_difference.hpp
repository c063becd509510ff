// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the differences between two plans a and b of one net, element by element, for diff.hpp
// and diff_pipeline.hpp. A difference consists of the placements that differ and of the cost of b
// minus the cost of a (breakdown.hpp). Elements with equal differences, such as the copies of a
// repeated block, form one group. Groups are sorted by the size of their difference, largest first.

#include <algorithm>
#include <cmath>
#include <ostream>

#include <ashlar/search/outline.hpp>
#include <ashlar/support/stable_sorted.hpp>

namespace ashlar::search {

struct element_difference {
  int element = 0;
  std::string name;
  bool same_placements = true;
  /// The tensors whose placements differ, such as "x [S(0),B]". `from` has the placements in a,
  /// `to` those in b.
  std::vector<std::string> from, to;
  cost_breakdown cost;  ///< the cost in b minus the cost in a
};

namespace detail {

constexpr cost_breakdown minus(cost_breakdown const& b, cost_breakdown const& a) {
  return {b.work - a.work,
          b.activations - a.activations,
          b.gradients - a.gradients,
          b.parameters - a.parameters,
          b.received - a.received,
          {b.memory.kept - a.memory.kept, b.memory.running - a.memory.running}};
}

/// Returns a text such as "+1.20 ms" or "-3.0 us". If s is negligible relative to `scale` seconds,
/// returns "-".
inline std::string signed_seconds(double s, double scale) {
  if (s < 1e-9 * scale && s > -1e-9 * scale) return "-";
  return (s < 0 ? "-" : "+") + seconds_text(s < 0 ? -s : s);
}

inline std::string signed_bytes(std::int64_t bytes) {
  if (bytes == 0) return "-";
  return (bytes < 0 ? "-" : "+") + bytes_text(bytes < 0 ? -double(bytes) : double(bytes));
}

/// Returns the tensors whose placements differ between `c` and `other`, each with its placement in
/// `c`, such as "x [S(0),B]" and "weight stored [B,B]".
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
    if (c.parameters[k].is_updated_apart() || other.parameters[k].is_updated_apart())
      add(name + " updated", c.parameters[k].updated_at(), other.parameters[k].updated_at());
    add(name + " used", c.parameters[k].use, other.parameters[k].use);
    add("d " + name, c.parameters[k].grad, other.parameters[k].grad);
  }
  return list;
}

/// Returns for every element its placements that differ, and its cost in b minus its cost in a.
template <int N>
std::vector<element_difference> differences(basic_problem<N> const& net, basic_plan<N> const& a,
                                            plan_breakdown const& of_a, basic_plan<N> const& b,
                                            plan_breakdown const& of_b) {
  std::vector<element_difference> list;
  for (int i = 0; i < net.size(); ++i) {
    auto const at = static_cast<std::size_t>(i);
    list.push_back({i, net.spec(i).name.text, a[i] == b[i], unlike(net.spec(i), a[i], b[i]),
                    unlike(net.spec(i), b[i], a[i]), minus(of_b.elements[at], of_a.elements[at])});
  }
  return list;
}

/// A group of layers whose differences between two plans are equal. `first` is the difference of
/// one of them.
struct difference_group {
  element_difference first;
  std::vector<int> elements;
  double seconds() const { return first.cost.seconds() * double(elements.size()); }
};

inline std::vector<difference_group> grouped(std::vector<element_difference> const& elements,
                                             double scale) {
  std::vector<difference_group> groups;
  auto const about_equal = [&](double x, double y) {
    return (x < y ? y - x : x - y) <= 1e-9 * scale;
  };
  for (auto const& e : elements) {
    bool const silent = e.same_placements && about_equal(e.cost.work, 0) &&
                        about_equal(e.cost.activations, 0) && about_equal(e.cost.gradients, 0) &&
                        about_equal(e.cost.parameters, 0) && e.cost.memory.kept == 0;
    if (silent) continue;
    auto const same = [&](difference_group const& g) {
      auto const& o = g.first;
      return o.name == e.name && o.from == e.from && o.to == e.to &&
             about_equal(o.cost.work, e.cost.work) &&
             about_equal(o.cost.activations, e.cost.activations) &&
             about_equal(o.cost.gradients, e.cost.gradients) &&
             about_equal(o.cost.parameters, e.cost.parameters) &&
             o.cost.memory.kept == e.cost.memory.kept;
    };
    auto const known = std::find_if(groups.begin(), groups.end(), same);
    if (known == groups.end()) groups.push_back({e, {e.element}});
    else known->elements.push_back(e.element);
  }
  return stable_sorted(std::move(groups), [](auto const& x, auto const& y) {
    return std::abs(x.seconds()) > std::abs(y.seconds());
  });
}

/// Returns a list such as "3", "3, 15" or "3, 15, ..., 135".
inline std::string list_text(std::vector<int> const& list) {
  std::string text = std::to_string(list.front());
  if (list.size() > 1) text += ", " + std::to_string(list[1]);
  if (list.size() > 3) text += ", ...";
  if (list.size() > 2) text += ", " + std::to_string(list.back());
  return text;
}

/// Prints the layers that differ between two plans, with their placements, largest difference
/// first. Times below 1e-9 of `scale` seconds count as 0.
inline void print_elements(std::ostream& out, std::vector<element_difference> const& elements,
                           double scale) {
  for (auto const& g : grouped(elements, scale)) {
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
}

}  // namespace detail
}  // namespace ashlar::search
