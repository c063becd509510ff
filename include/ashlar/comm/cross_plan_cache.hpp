// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The cache of plans by which tensors cross from a part of a mesh to other parts. It keeps the last
// `most_plans` plans. A plan depends on the arguments by which plan() looks it up, on the source
// part and its machine, and on the whole mesh. The source part owns this cache, and clears it when
// its machine changes.

#include <memory>
#include <utility>
#include <vector>

#include <ashlar/config.hpp>
#include <ashlar/layout/shape.hpp>
#include <ashlar/machine/machine.hpp>
#include <ashlar/mesh/mesh_part.hpp>
#include <ashlar/plan/crossing_choice.hpp>
#if ASHLAR_DEFINES(COMM)
#include <algorithm>

#include <ashlar/comm/prepared_crossing.hpp>
#include <ashlar/plan/cross_mesh.hpp>
#endif

namespace ashlar {

struct prepared_crossing;

/// Returns how many elements this rank receives in a crossing.
ASHLAR_INLINE std::int64_t received_elements(prepared_crossing const& c);

class cross_plan_cache {
 public:
  static constexpr std::size_t most_plans = 256;

  /// Returns the plan that moves a tensor from placement `from` on part `source` to placement `to`
  /// on part `target`, with the messages of rank `rank`. `whole` is the mesh that contains both
  /// parts, and `rank` is the rank's number on this mesh. Every call must give the same `source`,
  /// `whole` and `rank`. Throws ashlar::error if the parts have ranks in common, or if `choice`
  /// permits no plan.
  std::shared_ptr<prepared_crossing const> plan(shape const& extents, int element_size,
                                                mesh_part const& source, placement const& from,
                                                mesh_part const& target, placement const& to,
                                                topology const& whole, int rank, machine const& m,
                                                crossing_choice const& choice = {});
  void clear() { plans_.clear(); }

 private:
  std::vector<std::shared_ptr<prepared_crossing const>> plans_;
};

#if ASHLAR_DEFINES(COMM)
ASHLAR_INLINE std::int64_t received_elements(prepared_crossing const& c) { return c.received; }
ASHLAR_INLINE std::shared_ptr<prepared_crossing const>
cross_plan_cache::plan(shape const& extents, int element_size, mesh_part const& source,
                       placement const& from, mesh_part const& target, placement const& to,
                       topology const& whole, int rank, machine const& m,
                       crossing_choice const& choice) {
  for (auto const& made : plans_) {
    auto const& p = made->plan;
    if (p.before.extents == extents && p.before.element_size == element_size &&
        p.before.from == from && p.after.to == to && p.target == target && made->choice == choice)
      return made;
  }
  for (int const r : source.ranks)
    if (std::find(target.ranks.begin(), target.ranks.end(), r) != target.ranks.end())
      throw error("redistribute",
                  "from mesh " + to_string(source.axes) + " to mesh " + to_string(target.axes) +
                      ": both have rank " + std::to_string(r) +
                      " of the whole mesh. A tensor crosses between parts without common ranks.");
  auto p = prepared_for(
      plan_cross_mesh(extents, element_size, source, from, target, to, whole, m, choice), whole,
      rank);
  p.choice = choice;
  if (plans_.size() == most_plans) plans_.erase(plans_.begin());
  plans_.push_back(std::make_shared<prepared_crossing const>(std::move(p)));
  return plans_.back();
}
#endif

}  // namespace ashlar
