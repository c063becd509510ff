// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Copies or reduces data from the shards of other ranks in shared memory. These functions do not
// synchronize: a caller must first make sure that the shards may be read (handshake.hpp).
// `source_of(j)` returns member j's shard as an element_pointer.
//
//   take_all       copies or reduces all data that the transfer brings to this rank
//   reduce_part    computes the part of a reduction that one member owns, in the order of the
//                  transfer (comm/sum_order.hpp)

#include <ashlar/comm/element_pointer.hpp>
#include <ashlar/comm/transfer.hpp>

namespace ashlar::shared {

template <class SourceOf>
void reduce_part(transfer const& x, int owner, SourceOf const& source_of,
                 element_pointer const& target) {
  auto const& block = x.receives[static_cast<std::size_t>(owner)];
  if (block.elements == 0) return;
  small_vector<void const*, 64> addends;  // the vector is on the stack for up to 64 members
  for (int i = 0; i < x.members; ++i) addends.push_back(source_of(x.addend_at(i, owner)).at);
  target.kernels->reduce(x.op, block, addends, target.at);
}

template <class SourceOf>
void take_all(transfer const& x, SourceOf const& source_of, element_pointer const& target) {
  if (x.kind == collective::all_reduce) {
    for (int j = 0; j < x.members; ++j) reduce_part(x, j, source_of, target);
  } else if (x.reduces()) {
    reduce_part(x, x.index, source_of, target);
  } else {
    // Each rank starts at a different member, to spread the load.
    for (int i = 1; i <= x.members; ++i) {
      int const j = (x.index + i) % x.members;
      auto const& block = x.receives[static_cast<std::size_t>(j)];
      if (block.elements > 0) copy(block, source_of(j), target);
    }
  }
}

}  // namespace ashlar::shared
