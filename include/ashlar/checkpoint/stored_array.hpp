// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// An array that a checkpoint keeps: a tensor, or an array of an optimizer that lies like one.

#include <string>

#include <ashlar/comm/element_type.hpp>
#include <ashlar/layout/layout.hpp>

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

}  // namespace ashlar::checkpoint
