// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Gives an address to a shard without elements, on a rank outside of the mesh of its tensor. In a
// pipeline, a rank has such an empty shard of every parameter of the other stages, so an empty
// shard should take no memory.

#include <cstddef>
#include <memory>

namespace ashlar::detail {

/// Returns an address that is not null, at which nothing may be read or written.
inline std::shared_ptr<void> empty_shard() {
  alignas(64) static std::byte nothing{};
  return {std::shared_ptr<void>(), &nothing};
}

}  // namespace ashlar::detail
