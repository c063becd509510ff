// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Parameter servers: each parameter has one owner, a rank that sums up its gradients and updates
// it.
//
//   reads         gradient       update   store   back
//   local copies  P -> O(k)      O(k)     B       O(k) -> B once a step, after the update
//   at use        P -> O(k)      O(k)     O(k)    O(k) -> B in each pass
//
// On several axes an owner has one coordinate along each: [P,P] -> [O(i),O(j)]. The gradient goes
// there along one axis after the other, and the value back the same way, so that one rank of a node
// is its transfer station.
//
// Parameters are dealt out in the order of the net, each to the owner that has the fewest elements so
// far, of equal ones to the first. Parameters of equal size thus go to the owners in turn. A
// parameter is owned along every axis that replicates it, unless its gradient is split there.
//
// The predicted memory counts each parameter as if the busiest rank owned it (step/memory.hpp), so
// it is an upper bound.

#include <vector>

#include <ashlar/sync/changed_plan.hpp>

namespace ashlar::sync {

/// How ranks read parameters that other ranks update: from copies of their own, which are renewed
/// once a step, or from those ranks in each pass.
enum class reads : signed char { local_copies, at_use };

namespace detail {

/// The number of elements that each rank of a mesh owns.
class owned_elements {
 public:
  constexpr explicit owned_elements(topology const& t)
      : mesh_(t), elements_(static_cast<std::size_t>(t.ranks()), 0) {}

  /// Returns the coordinates, along the axes for which divides[a] is set, of the owner with the
  /// fewest elements, and adds the elements of its shard of a parameter to what it owns. Other axes
  /// have several such owners, of which the one with the most elements counts.
  constexpr coordinates deal(shape const& extents, placement const& whole, bool const* divides) {
    std::vector<std::int64_t> most(elements_.size(), -1);
    int least = -1;
    for (int r = 0; r < mesh_.ranks(); ++r) {
      int const k = mesh_.rank_of(owner_of(r, divides));
      auto& own = most[static_cast<std::size_t>(k)];
      auto const has = elements_[static_cast<std::size_t>(r)];
      own = has > own ? has : own;
    }
    for (int k = 0; k < mesh_.ranks(); ++k) {
      auto const own = most[static_cast<std::size_t>(k)];
      if (own >= 0 && (least < 0 || own < most[static_cast<std::size_t>(least)])) least = k;
    }
    auto const owner = mesh_.coordinates_of(least);
    for (int r = 0; r < mesh_.ranks(); ++r)
      if (mesh_.rank_of(owner_of(r, divides)) == least)
        elements_[static_cast<std::size_t>(r)] +=
            local_box(extents, mesh_, whole, mesh_.coordinates_of(r)).elements();
    return owner;
  }

 private:
  /// Returns the coordinates of rank r along the divided axes, and 0 along the others. Ranks that
  /// no placement can name as owners count as the last one that can be.
  constexpr coordinates owner_of(int r, bool const* divides) const {
    auto c = mesh_.coordinates_of(r);
    for (int a = 0; a < mesh_.axes(); ++a) {
      auto& own = c[static_cast<std::size_t>(a)];
      own = !divides[a] ? 0 : own < max_owners ? own : max_owners - 1;
    }
    return c;
  }

  topology const& mesh_;
  std::vector<std::int64_t> elements_;
};

}  // namespace detail

struct owners {
  reads values = reads::local_copies;

  /// Returns the plan with this strategy for all parameters. Errors are those of changed_plan.
  template <int N>
  constexpr search::basic_plan<N> operator()(search::basic_problem<N> const& net,
                                             search::basic_plan<N> const& chosen,
                                             machine const& m) const {
    detail::owned_elements owned_already(chosen.mesh);
    return changed_plan("sync::owners", net, chosen, m,
                        [&](search::parameter_choice& p, shape const& extents) {
                          placement const whole = stored_as_used(p);
                          bool divides[max_axes]{};
                          for (int a = 0; a < whole.axes(); ++a)
                            divides[a] = can_divide(p, whole, chosen.mesh, a);
                          auto const owner = owned_already.deal(extents, whole, divides);
                          placement at = whole;
                          for (int a = 0; a < whole.axes(); ++a)
                            if (divides[a])
                              at = at.with(a, owned(owner[static_cast<std::size_t>(a)]));
                          p.store = values == reads::at_use ? at : whole;
                          p.set_update(at);
                        });
  }
};

}  // namespace ashlar::sync
