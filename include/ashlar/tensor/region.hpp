// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Copies parts of shards.

#include <ashlar/comm/strided_block.hpp>

namespace ashlar {

/// Copies the values of `region` from a shard that covers the box `from` to a shard that covers the
/// box `to`. Either box may be `region` itself: a contiguous block. Both shards are in the memory
/// of processor `on`.
template <class Processor, class T>
void copy_region(Processor const& on, box const& region, box const& from, T const* source,
                 box const& to, T* target) {
  copy(on, strided_block(region, from, to), source, target);
}
/// Copies the values of `region` between shards in host memory.
template <class T>
void copy_region(box const& region, box const& from, T const* source, box const& to, T* target) {
  copy(strided_block(region, from, to), source, target);
}

}  // namespace ashlar
