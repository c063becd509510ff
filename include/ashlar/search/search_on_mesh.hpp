// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the fastest plan on one mesh, in two steps: a lower bound, then a plan. Because of the two
// steps, a search over many meshes can compare their bounds before it makes any plan. This search
// is meant for meshes of three or more axes. On up to `most_exact_axes` axes the plan is the
// optimum. On more axes it is the optimum if plan.gap is 0. Otherwise plan.gap bounds the fraction
// of the time that another plan can save.
//
//   mesh                                          search
//   no interchangeable axes                       by_roles.hpp
//   interchangeable axes                          the search by multisets (below). If its plan may
//   (interchangeable_axes.hpp)                    not be the optimum, and the mesh has at most
//                                                 most_exact_axes axes, by_roles.hpp follows
//
// The search by multisets suits meshes of many axes of extent two:
//
//   1. a lower bound   The optimum if interchangeable axes are not distinguished: a choice says how
//                      many axes of each network tier have each signature row, but not which ones.
//                      On 64 ranks as six axes of two, three in each tier, a layer with three
//                      signature rows has 100 choices instead of 729.
//   2. a plan          assign_axes.hpp decides which axes have which row. It tries only choices
//                      that can be part of a plan that costs no more than the bound.
//
// In a chain without residual blocks, the plan usually costs exactly the bound: if two neighbours
// use interchangeable axes differently, all later layers can exchange these axes, too. Three facts
// can make the plan more expensive than the bound:
//
//   - An activation and its gradient use the same axes.
//   - The two ends of a residual block use the same axes.
//   - A move may need another shard order than that of the mesh axes.
//
// plan.gap shows how far the plan may then be from the optimum.

#include <memory>
#include <optional>
#include <string>

#include <ashlar/mesh/topology.hpp>
#include <ashlar/search/assign_axes.hpp>
#include <ashlar/search/bounded_choices.hpp>
#include <ashlar/search/branch_limits.hpp>
#include <ashlar/search/by_roles.hpp>
#include <ashlar/search/exact_axes.hpp>
#include <ashlar/search/needed_rows.hpp>

namespace ashlar::search {

/// Searches one mesh without distinguishing interchangeable axes (equal extent and network tier).
/// The constructor computes a lower bound; plan() then assigns rows to axes.
template <int N>
class search_by_multisets {
 public:
  /// `chain` must outlive this object.
  search_by_multisets(basic_problem<N> const& chain, topology const& t, machine const& m)
      : model_(chain, t, m, any_choice{}, pruning::by_time) {
    detail::demand_no_branches(chain, "search::search_on_mesh");
    bounded_choices<N, multiset_moves> bounds(model_);
    bounds.restrict();
    bound_ = chain_solver<N, multiset_moves>(model_).solve();
    bounds.narrow(bound_);
  }

  /// Returns a lower bound of the seconds of every plan. It may be too large by at most one part in
  /// 1e9, because a tiny tie-breaking weight is added per collective.
  double bound() const { return bound_; }

  /// Decides which axes have which signature row, and returns the plan. The memory of the plan is
  /// not limited. If plan.gap is 0, the plan is the optimum.
  basic_plan<N> plan() {
    auto found = detail::assign_axes<N>(model_).plan(bound_);
    found.gap = found.seconds <= bound_ * (1 + 1e-9) ? 0 : 1 - bound_ / found.seconds;
    return found;
  }

 private:
  chain_model<N, multiset_moves> model_;
  double bound_ = 0;
};

namespace detail {

/// The maximum number of choices per layer. With more choices, the cost matrices may need too much
/// memory.
inline constexpr double most_choices = 50'000;

/// Returns the number of multisets of n rows out of `rows`: the ways to give rows to n
/// interchangeable axes if it does not matter which axis has which row.
inline double multisets(int n, int rows) {
  double ways = 1;
  for (int k = 1; k <= n; ++k) ways = ways * (rows + k - 1) / k;
  return ways;
}

/// Throws ashlar::error if a layer has more than `most_choices` choices. Choices that differ only
/// by an exchange of interchangeable axes (equal extent and network tier) count as one.
template <int N>
void demand_few_choices(basic_problem<N> const& net, topology const& t) {
  for (int l = 0; l < length(net.layers); ++l) {
    double ways = net.layer(l).parameters.size() > 0 ? 2 : 1;  // replicated or sharded storage
    for (int a = 0; a < t.axes(); ++a) {
      int alike = 1;
      for (int b = interchangeable_before(t, a); b >= 0; b = interchangeable_before(t, b)) ++alike;
      int const rows = t.extent(a) == 1 ? 1 : net.layer(l).rows.size();
      ways *= multisets(alike, rows) / multisets(alike - 1, rows);
    }
    if (ways > most_choices)
      throw error("search::optimal",
                  "layer " + std::string(net.layer(l).name.text) + " has " +
                      std::to_string(static_cast<std::int64_t>(ways)) + " choices on a mesh of " +
                      std::to_string(t.axes()) + " axes; at most " +
                      std::to_string(static_cast<std::int64_t>(most_choices)) +
                      " are searched. Merge axes of one tier, or factor them into equal ones.");
  }
}

}  // namespace detail

template <int N>
class search_on_mesh {
 public:
  /// Computes the lower bound. Throws ashlar::error if a layer has too many choices on this mesh.
  /// `chain` must outlive this object.
  search_on_mesh(basic_problem<N> const& chain, topology const& t, machine const& m)
      : chain_(chain), less_(std::make_unique<basic_problem<N> const>(with_needed_rows(chain, t))),
        mesh_(t), machine_(m) {
    if (!is_exact_on(t)) detail::demand_few_choices(chain, t);
    if (has_interchangeable_axes(t)) alike_.emplace(*less_, t, m);
    else rows_.emplace(chain, *less_, t, m);
  }

  /// Returns a lower bound of the seconds of every plan. It may be too large by at most one part in
  /// 1e9, because a tiny tie-breaking weight is added per collective.
  double bound() const { return alike_ ? alike_->bound() : rows_->bound(); }

  /// Returns the fastest plan found. The memory of the plan is not limited. If plan.gap is 0, the
  /// plan is the optimum.
  basic_plan<N> plan() {
    if (alike_) {
      auto found = alike_->plan();
      if (found.gap == 0 || !is_exact_on(mesh_)) return found;
      rows_.emplace(chain_, *less_, mesh_, machine_);
    }
    return rows_->plan();
  }

 private:
  basic_problem<N> const& chain_;
  /// The chain without redundant rows (needed_rows.hpp).
  std::unique_ptr<basic_problem<N> const> less_;
  topology mesh_;
  machine machine_;
  std::optional<search_by_multisets<N>> alike_;
  std::optional<search_by_roles<N>> rows_;
};

}  // namespace ashlar::search
