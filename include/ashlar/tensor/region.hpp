// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Copies a box of elements from one shard to another.

#include <ashlar/comm/strided_block.hpp>

namespace ashlar {

/// Copies the values of the box `region` from array `source` to array `target`. `source` covers the
/// box `from`, and `target` covers the box `to`. All boxes are in global indices. Both arrays are
/// row-major and in the memory of processor `on`. If `from` or `to` equals `region`, that array
/// holds only the region.
template <class Processor, class T>
void copy_region(Processor const& on, box const& region, box const& from, T const* source,
                 box const& to, T* target) {
  copy(on, strided_block(region, from, to), source, target);
}
/// Overload for arrays in host memory.
template <class T>
void copy_region(box const& region, box const& from, T const* source, box const& to, T* target) {
  copy(strided_block(region, from, to), source, target);
}

}  // namespace ashlar
