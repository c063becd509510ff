// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What a rank does with its neighbours' shards once it may read them: `source_of(j)` is that of member
// j as an element_pointer, wherever it lies. Nothing here synchronizes.
//
//   take_all       all that the transfer brings to this rank
//   reduce_part    of a reduction, the part of one member, in the one order of comm/transfer.hpp

#include <ashlar/comm/element_pointer.hpp>
#include <ashlar/comm/transfer.hpp>

namespace ashlar::shared {

template <class SourceOf>
void reduce_part(transfer const& x, int owner, SourceOf const& source_of,
                 element_pointer const& target) {
  auto const& block = x.receives[static_cast<std::size_t>(owner)];
  if (block.elements == 0) return;
  small_vector<void const*, 64> addends;  // no allocation
  for (int i = 1; i <= x.members; ++i) addends.push_back(source_of((owner + i) % x.members).at);
  target.kernels->reduce(x.op, block, addends, target.at);
}

template <class SourceOf>
void take_all(transfer const& x, SourceOf const& source_of, element_pointer const& target) {
  if (x.kind == collective::all_reduce) {
    for (int j = 0; j < x.members; ++j) reduce_part(x, j, source_of, target);
  } else if (x.reduces()) {
    reduce_part(x, x.index, source_of, target);
  } else {
    for (int i = 1; i <= x.members; ++i) {  // not all from the same member at the same time
      int const j = (x.index + i) % x.members;
      auto const& block = x.receives[static_cast<std::size_t>(j)];
      if (block.elements > 0) copy(block, source_of(j), target);
    }
  }
}

}  // namespace ashlar::shared
