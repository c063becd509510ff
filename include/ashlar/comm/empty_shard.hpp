// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The address of shards without elements on ranks outside of their mesh. In a pipeline a rank has
// such shards of all parameters of other stages, so they take no memory.

#include <cstddef>
#include <memory>

namespace ashlar::detail {

/// Returns an address that is not null, at which nothing may be read or written.
inline std::shared_ptr<void> empty_shard() {
  alignas(64) static std::byte nothing{};
  return {std::shared_ptr<void>(), &nothing};
}

}  // namespace ashlar::detail
