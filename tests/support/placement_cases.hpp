// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Generators for property tests with rapidcheck: a mesh of all ranks, a tensor and its placement.
// When rapidcheck simplifies a failing case, each choice moves towards its first value.
//
//   mesh        1 to 4 axes of extent 1 to 5, or 7, 11, 13; fast and slow links; two machines; both
//               transports
//   tensor      1 to 4 dims of extent 0, 1, 2, 3, 4, 5, 7, 11 or 13; at most 6591 elements
//   placement   each axis is B, S(d) or P; any shard order; one kind of reduction

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include <rapidcheck.h>
#include <support/placed.hpp>
#include <support/transport.hpp>

namespace ashlar_test {

/// Draws uniformly from [low, high], independently of rapidcheck's size parameter.
inline rc::Gen<int> between(int low, int high) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}

/// Draws one of the given values uniformly. A failing case is simplified towards the first value.
template <class Value>
Value any_of(std::vector<Value> const& values) {
  return values[static_cast<std::size_t>(*between(0, static_cast<int>(values.size()) - 1))];
}

/// Returns lists of at most four axis extents whose product is n, the shortest first. An extent is
/// at most 5, or one of the primes 7, 11 and 13.
inline std::vector<index> factorizations(int n) {
  std::vector<index> all;
  auto const extend = [&](auto const& self, index extents, int rest) -> void {
    if (rest == 1 && !extents.empty()) all.push_back(extents);
    if (extents.size() == 4) return;
    for (int e = 1; e <= rest; ++e) {
      bool const is_extent = e <= 5 || e == 7 || e == 11 || e == 13;
      if (rest % e != 0 || !is_extent) continue;
      index longer = extents;
      longer.push_back(e);
      self(self, longer, rest / e);
    }
  };
  extend(extend, {}, n);
  std::sort(all.begin(), all.end(), [](index const& a, index const& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  });
  return all;
}

struct mesh_case {
  ashlar::topology topology;
  bool counts_bytes_only = false;  // whether the machine has no latency, so that only bytes cost
  transport on = transport::messages;

  friend std::ostream& operator<<(std::ostream& out, mesh_case const& c) {
    return out << c.topology << (c.counts_bytes_only ? " (bandwidth-bound)" : "") << " on "
               << to_string(c.on);
  }
};

inline rc::Gen<mesh_case> meshes(int most_axes = 4, int least_axes = 1) {
  return rc::gen::exec([=] {
    auto lists = factorizations(world_size());
    int const axes = *between(least_axes, most_axes);
    std::erase_if(lists, [&](index const& list) { return static_cast<int>(list.size()) != axes; });
    auto const extents = any_of(lists);
    mesh_case c;
    char const* const names[] = {"a", "b", "c", "d"};
    for (std::size_t a = 0; a < extents.size(); ++a)
      c.topology.axis.push_back({names[a], extents[a],
                                 any_of<ashlar::link_tier>({ashlar::link_tier::intra_node,
                                                            ashlar::link_tier::inter_node})});
    c.counts_bytes_only = *between(0, 1) == 1;
    c.on = any_of<transport>({transport::messages, transport::shared_memory});
    return c;
  });
}

/// Returns the mesh of a case. Creating a mesh is collective and expensive. Up to 12 meshes are
/// cached, and all ranks cache the same meshes.
inline ashlar::mesh const& mesh_of(mesh_case const& c) {
  static std::map<std::string, ashlar::mesh> kept;
  std::string const key = rc::toString(c);
  if (auto const found = kept.find(key); found != kept.end()) return found->second;
  if (kept.size() == 12) kept.clear();
  return kept
      .emplace(key, mesh_on(c.on, c.topology,
                            c.counts_bytes_only ? bandwidth_bound : ashlar::machines::workstation))
      .first->second;
}

inline index draw_extents(int rank) {
  index extents;
  int elements = 1;
  for (int d = 0; d < rank; ++d) {
    int const e = any_of<int>({2, 1, 3, 5, 7, 11, 13, 4, 0});
    extents.push_back(elements > 170 ? std::min(e, 3) : e);
    elements *= std::max(extents.back(), 1);
  }
  return extents;
}

/// Draws a placement. If `owners` is not null, an entry of the placement may also be `owned`: only
/// one rank along that axis holds elements of the tensor. `owners` gives the extents of the axes.
inline placement draw_placement(int rank, int axes, reduction op,
                                ashlar::topology const* owners = nullptr) {
  index order{0, 1, 2, 3};  // the order of the axes that split the same dimension, outermost first
  for (int k = *between(0, 23); k > 0; --k) std::next_permutation(order.begin(), order.end());
  placement p = placement::all_broadcast(axes);
  for (int a : order) {
    if (a >= axes) continue;
    int const role = *between(0, owners == nullptr ? 7 : 8);
    if (role == 8 && rank > 0) p.axis[a] = ashlar::owned(*between(0, owners->extent(a) - 1));
    else if (role >= 6) p.axis[a] = ashlar::partial(op);
    else if (role >= 2 && rank > 0) p = p.with_split(a, *between(0, rank - 1));
  }
  return p;
}

inline reduction draw_reduction() {
  return any_of<reduction>({reduction::sum, reduction::sum, reduction::max, reduction::min});
}

}  // namespace ashlar_test
