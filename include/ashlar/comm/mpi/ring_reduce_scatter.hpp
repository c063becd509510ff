// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The ring reduce-scatter: block j starts at member j + 1 and goes around to member j; each member
// adds its own addend behind what comes: ((s[j+1] + s[j+2]) + …) + s[j], the order of
// comm/transfer.hpp without further ado.
//
//   step t of member r   send block r - t, receive block r - t - 1 and add mine to it
//   t = p - 1            that is block r, complete: into the target
//
// Each member sends to one other only: a group that lies node behind node crosses each node's link
// once, where pairs cross it for every member elsewhere. It carries as many elements of each block as
// all blocks have: of longer ones a member would receive others than its own, while the rest of its own
// goes by pairs (message_transfer.hpp). A hop rounds to T, so that bfloat16, whose sums are rounded
// once, cannot go this way.

#include <span>

#include <ashlar/comm/mpi/ring_lanes.hpp>
#include <ashlar/comm/strided_block.hpp>

namespace ashlar::mpi {

/// One reduce-scatter under way around a ring; the sums have the order of transfer.hpp.
class ring_reduce_scatter : public ring_lanes<ring_reduce_scatter> {
  using base = ring_lanes<ring_reduce_scatter>;
  friend base;

 public:
  /// Expects several members. The first elements of sends[j] of `source` are my addend of member j's
  /// block; mine arrive as `result` in `target`, which may be `source` if every block lies there as
  /// in the source.
  ring_reduce_scatter(std::span<strided_block const> sends, strided_block const& result, int index,
                      reduction op, element_pointer source, element_pointer target, MPI_Comm comm,
                      arena& memory)
      : base(static_cast<int>(sends.size()), index, source.type(), shortest_of(sends), 3, comm,
             memory),
        sends_(sends), elements_(shortest_of(sends)), result_(&result), op_(op), source_(source),
        target_(target) {
    base::begin();
  }

 private:
  strided_block const& block(int j) const { return sends_[static_cast<std::size_t>(j)]; }

  /// My addend of a piece of block j: where it is, or packed into `room`.
  element_pointer addend(int j, interval const& piece, element_pointer room) const {
    auto const& b = block(j);
    if (b.source_is_run) return source_ + b.source_offset + piece.begin;
    copy_range(b, piece.begin, piece.end(), source_, room, false, true);
    return room;
  }

  void post(lane& l) {
    int const t = l.step;
    auto const piece = base::part(l, elements_);
    base::receive(l, l.buffers[t % 2], piece.size);
    base::send(l, t == 1 ? addend(base::behind(1), piece, l.buffers[0]) : l.buffers[(t - 1) % 2],
               piece.size);
  }

  void finish(lane& l) {
    int const in = base::behind(l.step + 1);
    auto const piece = base::part(l, elements_);
    element_pointer const arrived = l.buffers[l.step % 2];
    bool const is_last = l.step == base::members_ - 1;
    void const* const addends[] = {arrived.at, addend(in, piece, l.buffers[2]).at};
    reduce_runs(op_, piece.size, addends,
                is_last ? target_ + result_->target_offset + piece.begin : arrived);
  }

  std::span<strided_block const> sends_;
  std::int64_t elements_;  // of each block
  strided_block const* result_;
  reduction op_;
  element_pointer source_, target_;
};

}  // namespace ashlar::mpi
