// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Describes a change of a tensor's placement on mesh axes that are given by name. The other axes
// keep their placements.
//
//   {"gpu", split(1)}           a value: axis "gpu" gets the placement split(1)
//   on<"gpu", S<1>>             the same as a type
//   mesh_axes<"node", "gpu">    the names of all axes of a mesh, as a type
//
// `changed` (placement/change.hpp) applies such changes to a placement.

#include <initializer_list>
#include <span>

#include <ashlar/mesh/axis.hpp>
#include <ashlar/placement/change.hpp>
#include <ashlar/placement/tags.hpp>

namespace ashlar {

namespace placements {
/// Says that the axis `Name` gets the placement `Tag`, as in `x | to<on<"gpu", S<1>>>`.
template <axis_name Name, class Tag>
struct on {};
/// The names of all axes of a mesh, in the mesh's order.
template <axis_name... Names>
struct mesh_axes {};
}  // namespace placements

/// The placement that the axis with the name `axis` gets.
struct named_placement {
  axis_name axis;
  axis_placement to;
};

/// The faults that a list of axis names may have: no fault, a name that the mesh does not have, or
/// a name that is given twice.
enum class naming_fault : signed char { none, unknown, twice };

/// Returns the index of `name` in `names`, or -1.
constexpr int index_of(std::span<axis_name const> names, axis_name const& name) {
  for (std::size_t a = 0; a < names.size(); ++a)
    if (names[a] == name) return static_cast<int>(a);
  return -1;
}

/// Checks the names in `changes`: each must be one of `names`, and none may be given twice. Returns
/// what is wrong. If there is a fault, writes the first wrong name to `*at`, unless `at` is null.
constexpr naming_fault fault_of(std::span<axis_name const> names,
                                std::span<named_placement const> changes, axis_name* at = nullptr) {
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (at != nullptr) *at = changes[i].axis;
    if (index_of(names, changes[i].axis) < 0) return naming_fault::unknown;
    for (std::size_t j = 0; j < i; ++j)
      if (changes[j].axis == changes[i].axis) return naming_fault::twice;
  }
  return naming_fault::none;
}

/// Returns the placement `from` with the given changes. `names` are the names of the mesh's axes.
/// Expects that fault_of(names, changes) is none.
constexpr placement changed(placement const& from, std::span<axis_name const> names,
                            std::span<named_placement const> changes) {
  axis_changes list;
  for (auto const& change : changes) list.push_back({index_of(names, change.axis), change.to});
  return changed(from, list);
}

}  // namespace ashlar
