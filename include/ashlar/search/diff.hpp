// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Compares two plans of one problem: how much more the second one costs, and where. Their meshes
// may differ.
//
//   auto const d = search::diff(problem, a, b, machine);
//   d.total.seconds()                     by how much b is slower than a; negative if b is faster
//   d.elements[7].cost                    the cost of element 7 in b minus its cost in a, split
//                                         into work, activations, ... as in breakdown.hpp
//   std::cout << d;                       prints totals, then elements, largest difference first
//
// The cost of a move between two elements (step/problem.hpp) belongs to the element that receives
// the tensor. Elements with equal differences (the copies of a repeated block) are printed as one
// line.

#include <ashlar/search/element_difference.hpp>
#include <ashlar/search/explain_text.hpp>
#include <ashlar/search/legal.hpp>
#include <ashlar/search/recomputed.hpp>

namespace ashlar::search {

struct plan_difference {
  cost_breakdown a, b, total;  ///< total is b - a
  std::int64_t memory = 0;     ///< bytes per rank, b - a
  std::string mesh_a, mesh_b;
  std::vector<element_difference> elements;  ///< all elements, in order
  std::string recomputed_a, recomputed_b;    ///< recomputed_text of each plan
};

namespace detail {

/// Throws if `p` is not a plan of `net`.
template <int N>
void check_compared(basic_problem<N> const& net, basic_plan<N> const& p) {
  if (p.size() != net.size())
    throw error("search::diff", "the plan has " + std::to_string(p.size()) +
                                    " elements, but the net has " + std::to_string(net.size()) +
                                    ". Compare plans of one net.");
  for (int i = 0; i < net.size(); ++i)
    if (auto const fault = element_fault(net, p, i); !fault.empty())
      throw error("search::diff", fault + " Compare plans of one net.");
}

}  // namespace detail

/// Returns the cost of plan b minus the cost of plan a on machine `m`. Throws ashlar::error if a or
/// b is not a plan of `net`.
template <int N>
plan_difference diff(basic_problem<N> const& net, basic_plan<N> const& a, basic_plan<N> const& b,
                     machine const& m) {
  detail::check_compared(net, a);
  detail::check_compared(net, b);
  auto const of_a = breakdown(net, a, m), of_b = breakdown(net, b, m);
  return {of_a.total,
          of_b.total,
          detail::minus(of_b.total, of_a.total),
          of_b.memory() - of_a.memory(),
          to_string(a.mesh),
          to_string(b.mesh),
          detail::differences(net, a, of_a, b, of_b),
          recomputed_text(net, a, m),
          recomputed_text(net, b, m)};
}

namespace detail {

/// Prints a row of a table of differences.
inline void print_row(std::ostream& out, std::string const& name, std::size_t name_width,
                      std::vector<std::string> const& cells, std::size_t width) {
  out << "  " << padded(name, name_width);
  for (auto const& cell : cells) out << right(cell, width);
  out << '\n';
}

/// Prints a sentence such as "b takes 1.20 ms a step (12.0 %) more than a and 3.00 GiB less memory
/// per rank".
inline void print_headline(std::ostream& out, double a, double b, std::int64_t memory) {
  double const more = b - a;
  if (std::abs(more) < 1e-9 * (a + b)) out << "b takes as long as a";
  else
    out << "b takes " << seconds_text(std::abs(more)) << " a step ("
        << percent_text(std::abs(more) / a) << ") " << (more < 0 ? "less" : "more") << " than a";
  if (memory != 0)
    out << " and " << bytes_text(std::abs(double(memory))) << (memory < 0 ? " less" : " more")
        << " memory per rank";
  out << '\n';
}

}  // namespace detail

/// Prints the seconds of both plans by category (work, activations, ...), their memory and the
/// differences. Then prints the layers whose placements or costs differ, largest difference first.
inline std::ostream& operator<<(std::ostream& out, plan_difference const& d) {
  using namespace detail;
  double const scale = d.a.seconds() + d.b.seconds(), more = d.total.seconds();
  auto const row = [&](char const* name, std::vector<std::string> const& cells) {
    print_row(out, name, 6, cells, 14);
  };
  print_headline(out, d.a.seconds(), d.b.seconds(), d.memory);
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
               seconds_text(c.seconds()), bytes_text(double(c.memory.sum()))});
  row("b - a", {signed_seconds(d.total.work, scale), signed_seconds(d.total.activations, scale),
                signed_seconds(d.total.gradients, scale), signed_seconds(d.total.parameters, scale),
                signed_seconds(more, scale), signed_bytes(d.memory)});
  print_elements(out, d.elements, scale);
  return out;
}

}  // namespace ashlar::search
