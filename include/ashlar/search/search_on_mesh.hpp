// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The fastest plan on one mesh of many axes, in two steps, so that many meshes can be bounded first:
//
//   alike axes   by_compositions.hpp; where its plan costs more than its bound, on few axes
//                (exact_axes.hpp) by_roles.hpp
//   none         by_roles.hpp
//
// Bounds are made without the rows that they do not need (needed_rows.hpp).
//
// On few axes the plan is the optimum. On more, of which some have to be alike, it is the optimum if its
// gap is 0; else the optimum is at most that share faster.

#include <memory>
#include <optional>
#include <string>

#include <ashlar/search/by_compositions.hpp>
#include <ashlar/search/by_roles.hpp>
#include <ashlar/search/exact_axes.hpp>
#include <ashlar/search/needed_rows.hpp>

namespace ashlar::search {
namespace detail {

inline constexpr double most_choices =
    50'000;  ///< of a layer: what its matrices of costs have room for

/// In how many ways n alike axes can have `rows` rows, which axes have which not counting.
inline double compositions(int n, int rows) {
  double ways = 1;
  for (int k = 1; k <= n; ++k) ways = ways * (rows + k - 1) / k;
  return ways;
}

/// Throws if a layer has more choices than can be searched.
template <int N>
void demand_few_choices(basic_problem<N> const& net, topology const& t) {
  for (int l = 0; l < length(net.layers); ++l) {
    double ways = net.layer(l).parameters.size() > 0 ? 2 : 1;  // storage
    for (int a = 0; a < t.axes(); ++a) {
      int alike = 1;
      for (int b = alike_before(t, a); b >= 0; b = alike_before(t, b)) ++alike;
      int const rows = t.extent(a) == 1 ? 1 : net.layer(l).rows.size();
      ways *= compositions(alike, rows) / compositions(alike - 1, rows);
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
  /// `chain` has to outlive this. Throws ashlar::error if the mesh has more axes than can be searched.
  search_on_mesh(basic_problem<N> const& chain, topology const& t, machine const& m)
      : chain_(chain), less_(std::make_unique<basic_problem<N> const>(with_needed_rows(chain, t))),
        mesh_(t), machine_(m) {
    if (!is_exact_on(t)) detail::demand_few_choices(chain, t);
    if (has_alike_axes(t)) alike_.emplace(*less_, t, m);
    else rows_.emplace(chain, *less_, t, m);
  }

  /// No plan takes less (but for a part in 1e9, which ties may weigh).
  double bound() const { return alike_ ? alike_->bound() : rows_->bound(); }

  /// The plan of least predicted seconds, whatever its memory.
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
  std::unique_ptr<basic_problem<N> const> less_;  ///< without rows that no bound needs
  topology mesh_;
  machine machine_;
  std::optional<search_by_compositions<N>> alike_;
  std::optional<search_by_roles<N>> rows_;
};

}  // namespace ashlar::search
