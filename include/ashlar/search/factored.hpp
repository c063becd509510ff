// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the cheapest plan over all ways to factor the axes of a mesh:
//
//   auto const plan = search::optimal_factored(net, {{"node", 128}, {"gpu", 8}}, m);
//   plan.mesh                                                // node=16,node1=8,gpu=8, say
//
//   space    Every axis of the mesh is written as a product of axes in its network tier. Their
//            extents are integers above 1. A mesh has at most `most_axes` axes in total. On each
//            such mesh, the choices of choices.hpp are searched.
//   result   The best of the plans that `optimal` returns on all these meshes, together with its
//            mesh. The order of the factors of an axis does not matter, because a plan may nest
//            shards in any order.
//   method   First, the lower bound of each mesh is computed (search_on_mesh.hpp). Then plans are
//            made in ascending order of the bounds, until the next bound is no less than the
//            seconds of the best plan.
//
// Meshes with more factors permit more plans. But they do not contain all plans of the meshes with
// fewer factors, so all meshes are searched. For example, on a mesh with fewer factors, a single
// step of a redistribution may exchange the placements of two axes of equal extent.

#include <string>

#include <ashlar/search/optimal.hpp>
#include <ashlar/search/optimal_plan.hpp>

namespace ashlar::search {
namespace detail {

/// Appends all ways to write n as a product of at most `most` ascending factors, each at least
/// `least`. For n = 1 there is one way, the factor 1.
inline void factor(int n, int least, int most, std::vector<int>& chosen,
                   std::vector<std::vector<int>>& all) {
  if (most == 0) return;
  chosen.push_back(n);
  all.push_back(chosen);
  chosen.pop_back();
  for (int f = least; f <= n / f; ++f) {
    if (n % f != 0) continue;
    chosen.push_back(f);
    factor(n / f, f, most - 1, chosen, all);
    chosen.pop_back();
  }
}

/// Returns a name that no axis of t has: `name` itself, or its first characters with a number
/// appended.
inline axis_name fresh_name(topology const& t, std::string_view name) {
  for (int number = 0;; ++number) {
    std::string const text = number == 0 ? std::string(name)
                                         : std::string(name.substr(0, 13)) + std::to_string(number);
    bool known = false;
    for (auto const& a : t.axis) known = known || a.name.view() == text;
    if (!known) return axis_name(std::string_view(text));
  }
}

}  // namespace detail

/// Returns the meshes that result from factoring the axes of t, with at most `most_axes` axes each.
/// If t itself has more axes, its number of axes is the limit. The first mesh of the result is t
/// itself.
inline std::vector<topology> factored_meshes(topology const& t, int most_axes) {
  int const most = std::max(std::min(most_axes, max_axes), t.axes());
  std::vector<topology> all(1);  // meshes of the factors of the axes handled so far
  for (int a = 0; a < t.axes(); ++a) {
    mesh_axis const& axis = t.axis[a];
    std::vector<topology> longer;
    for (topology const& so_far : all) {
      std::vector<int> chosen;
      std::vector<std::vector<int>> ways;
      detail::factor(axis.extent, 2, most - so_far.axes() - (t.axes() - a - 1), chosen, ways);
      for (auto const& factors : ways) {
        longer.push_back(so_far);
        topology& next = longer.back();
        for (int const f : factors)
          next.axis.push_back({detail::fresh_name(next, axis.name.view()), f, axis.tier});
      }
    }
    all = std::move(longer);
  }
  return all;
}

/// Returns the plan of least predicted seconds over all meshes of factored_meshes(t, most_axes).
/// Its memory is at most m.memory bytes per rank (0: no limit). plan.gap bounds the fraction of the
/// time that another plan can save. The gap can be above 0 only on meshes of five or more axes or
/// with a memory limit. Throws ashlar::error like `optimal` if no plan fits on any mesh. `effort`
/// limits the search on each mesh. If effort.known is set and no plan takes fewer seconds, the
/// result may be a plan without choices (search_effort.hpp).
template <int N>
basic_plan<N> optimal_factored(basic_problem<N> const& net, topology const& t, machine const& m,
                               int most_axes = 3, search_effort const& effort = {}) {
  if (net.size() == 0 || t.axes() > max_axes) return optimal(net, t, m, any_choice{}, effort);
  struct candidate {
    topology mesh;
    search_on_mesh<N> search;
    double bound;
  };
  std::vector<candidate> candidates;
  for (auto const& mesh : factored_meshes(t, most_axes)) {
    candidates.push_back({mesh, search_on_mesh<N>(net, mesh, m), 0});
    candidates.back().bound = candidates.back().search.bound();
  }
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(candidates.size()); ++i) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    double const x = candidates.data()[a].bound, y = candidates.data()[b].bound;
    return x != y ? x < y : a < b;
  });
  basic_plan<N> best;
  bool found = false;
  double least = effort.known;  // lower bound of the seconds of plans on the meshes so far
  for (std::size_t k = 0; k < order.size(); ++k) {
    candidate& it = candidates.data()[order.data()[k]];
    double const known = found ? std::min(best.seconds, effort.known) : effort.known;
    if (it.bound >= known) break;
    try {
      auto fastest = it.search.plan();
      if (m.memory > 0 && fastest.memory > m.memory)
        fastest = optimal(net, it.mesh, m, any_choice{}, {effort.labels, known, effort.moves});
      least = std::min(least, fastest.seconds * (1 - fastest.gap));
      if (fastest.size() == 0 || (found && fastest.seconds >= best.seconds)) continue;
      best = std::move(fastest);
      found = true;
    } catch (error const& e) {  // no plan is known to fit on this mesh; another mesh may have one
      if (!found && k + 1 == order.size() && effort.known == unreachable) throw;
      auto const* const unproven = dynamic_cast<detail::unproven_refusal const*>(&e);
      if (unproven != nullptr) least = std::min(least, unproven->bound());
      if (!is_exact_on(it.mesh)) least = std::min(least, it.bound);
    }
  }
  if (!found) best.seconds = least;
  else best.gap = least < best.seconds * (1 - 1e-9) ? 1 - least / best.seconds : 0;
  return best;
}

}  // namespace ashlar::search
