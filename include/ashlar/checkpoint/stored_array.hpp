// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// An array that a checkpoint keeps: a tensor, or an array of an optimizer that lies like one.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
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
  ashlar::placement placement;  ///< without P
  void* shard = nullptr;        ///< this rank's part, in the memory of the mesh's processor
  mesh_part part{};             ///< the part of the mesh that has the array; no ranks: all of it
};

/// The mesh on which an array lies, and the coordinates of a rank there.
struct array_place {
  topology axes;
  coordinates at;
};

/// Returns the place of an array, for the rank at coordinates `c` of the mesh `t`, or nothing if the
/// array is on other ranks.
inline std::optional<array_place> place_of(stored_array const& a, topology const& t,
                                           coordinates const& c) {
  if (a.part.ranks.empty()) return array_place{t, c};
  auto const found = std::find(a.part.ranks.begin(), a.part.ranks.end(), t.rank_of(c));
  if (found == a.part.ranks.end()) return {};
  auto const position = static_cast<int>(found - a.part.ranks.begin());
  return array_place{a.part.axes, a.part.axes.coordinates_of(position)};
}

/// Returns the name of an element type in safetensors files.
constexpr char const* safetensors_type(element_type type) {
  constexpr char const* names[] = {"F32", "F64", "I32", "I64", "BF16"};
  return names[static_cast<int>(type)];
}

/// Throws ashlar::error unless the arrays can be kept together: they have different names, at least
/// one dim and no P. The result is the same on every rank.
inline void check_arrays(std::vector<stored_array> const& arrays) {
  std::vector<std::string_view> names;
  for (auto const& a : arrays) {
    if (a.placement.has_partial() || a.extents.rank() == 0)
      throw error("checkpoint", "\"" + a.name + "\" has shape " + to_string(a.extents) +
                                    " and placement " + to_string(a.placement) +
                                    ". Arrays have one or more dims and no P: reduce it first.");
    names.push_back(a.name);
  }
  std::sort(names.begin(), names.end());
  if (auto const twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    throw error("checkpoint", "two arrays have the name \"" + std::string(*twice) +
                                  "\". Give the parameters of a layer different names.");
}

}  // namespace ashlar::checkpoint
