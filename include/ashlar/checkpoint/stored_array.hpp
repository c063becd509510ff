// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// An array that a checkpoint keeps: a tensor, or an array of an optimizer that lies like one.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <ashlar/comm/element_type.hpp>
#include <ashlar/layout/layout.hpp>
#include <ashlar/placement/text.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::checkpoint {

struct stored_array {
  std::string name;  ///< unique in the checkpoint, and the same on every mesh
  element_type type = element_type::f32;
  shape extents;
  ashlar::placement placement;  ///< without P
  void* shard = nullptr;        ///< this rank's part, in the memory of the mesh's processor
};

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
