// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// An array that a checkpoint keeps, such as a parameter or an array of the optimizer.
//
// An array lies on a part of the mesh of the checkpoint, perhaps all of it. In this file, the
// number of a rank is always its number on the whole mesh, from which all parts are made
// (mesh/mesh_part.hpp).

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ashlar/comm/element_type.hpp>
#include <ashlar/layout/layout.hpp>
#include <ashlar/mesh/mesh_part.hpp>
#include <ashlar/placement/text.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::checkpoint {

struct stored_array {
  std::string name;  ///< unique in the checkpoint, and the same on every mesh
  element_type type = element_type::f32;
  shape extents;
  ashlar::placement placement;  ///< a placement without P
  mesh_part part;               ///< the ranks on which the array lies
  void* shard = nullptr;        ///< this rank's shard, in the memory of the mesh's processor
};

/// Returns the description of an array with the extents, the placement and the mesh of `x`. `shard`
/// points to this rank's shard of the array.
template <class Tensor>
stored_array array_like(std::string name, Tensor const& x, element_type type, void* shard) {
  return {std::move(name), type, x.extents(), x.placement(), x.mesh().as_part(), shard};
}

/// Returns the box of array `a` that a rank of the whole mesh holds. The box is empty if the array
/// does not lie on this rank.
inline box box_of(stored_array const& a, int rank) {
  int const at = position_in(a.part, rank);
  if (at < 0) return empty_box(a.extents.rank());
  return local_box(a.extents, a.part.axes, a.placement, a.part.axes.coordinates_of(at));
}

/// Returns the name of an element type in safetensors files.
constexpr char const* safetensors_type(element_type type) {
  constexpr char const* names[] = {"F32", "F64", "I32", "I64", "BF16"};
  return names[static_cast<int>(type)];
}

/// Throws ashlar::error unless one checkpoint can have all these arrays: they have different names,
/// at least one dim, no P and no routed rows, and lie on ranks of `all`. Every rank must give equal
/// descriptions; then all ranks throw, or none.
inline void check_arrays(std::vector<stored_array> const& arrays, mesh_part const& all) {
  std::vector<std::string_view> names;
  auto ranks = all.ranks;
  std::sort(ranks.begin(), ranks.end());
  for (auto const& a : arrays) {
    for (int const r : a.part.ranks)
      if (!std::binary_search(ranks.begin(), ranks.end(), r))
        throw error("checkpoint", "\"" + a.name + "\" lies on rank " + std::to_string(r) +
                                      ", which is not one of the mesh that was given. Give the "
                                      "mesh of which the meshes of all arrays are parts.");
    if (a.placement.has_partial() || a.extents.rank() == 0)
      throw error("checkpoint", "\"" + a.name + "\" has shape " + to_string(a.extents) +
                                    " and placement " + to_string(a.placement) +
                                    ". Arrays have one or more dims and no P: reduce it first.");
    if (a.extents.is_routed())
      throw error("checkpoint", "\"" + a.name + "\" has shape " + to_string(a.extents) +
                                    " of routed rows, but files have no routes. Combine the rows "
                                    "first.");
    names.push_back(a.name);
  }
  std::sort(names.begin(), names.end());
  if (auto const twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    throw error("checkpoint", "two arrays have the name \"" + std::string(*twice) +
                                  "\". Give the parameters of a layer different names.");
}

}  // namespace ashlar::checkpoint
