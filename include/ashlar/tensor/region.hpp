// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Copies between a shard and a part of it.

#include <ashlar/comm/strided_block.hpp>

namespace ashlar {

/// Copies the values of `region` from a shard with box `from` to a shard with box `to`.
/// Either may be `region` itself: a packed block. In the memory of a processor.
template <class Processor, class T>
void copy_region(Processor const& on, box const& region, box const& from, T const* source,
                 box const& to, T* target) {
  copy(on, strided_block(region, from, to), source, target);
}
/// The same in the host's memory.
template <class T>
void copy_region(box const& region, box const& from, T const* source, box const& to, T* target) {
  copy(strided_block(region, from, to), source, target);
}

}  // namespace ashlar
