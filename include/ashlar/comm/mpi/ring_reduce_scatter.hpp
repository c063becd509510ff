// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The ring reduce-scatter. Block j starts at member j + 1 and travels around the ring to member j.
// Each member adds its own addend to the sum that arrives. Let s[i] be the addend of member i. Then
// the sum is ((s[j+1] + s[j+2]) + …) + s[j]. This is sum_order::around_ring (comm/sum_order.hpp).
//
//   step t of member r   send block r - t, receive block r - t - 1 and add my addend to it
//   t = p - 1            (p members) the received block is r; its sum is complete and goes to the
//                        target
//
// Each member sends to one other member only. So if the members of each node are adjacent in the
// group, one sum for each block enters the block's node. In a pairwise exchange, one addend for
// each block enters from every member on another node.
//
// If blocks have different sizes, the ring handles as many elements of each block as the shortest
// block has. A pairwise exchange sends the rest of longer blocks (message_transfer.hpp). In a ring,
// this rest would make members receive more bytes than the plan predicts.
//
// Each step rounds the sum to the element type. So a ring cannot carry bfloat16, whose sums must be
// rounded only once.

#include <span>

#include <ashlar/comm/mpi/ring_lanes.hpp>
#include <ashlar/comm/strided_block.hpp>

namespace ashlar::mpi {

class ring_reduce_scatter : public ring_lanes<ring_reduce_scatter> {
  using base = ring_lanes<ring_reduce_scatter>;
  friend base;

 public:
  /// Expects at least two members. sends[j] describes where `source` contains this rank's addend of
  /// member j's block. Of every block, the ring handles only as many elements as the shortest block
  /// has. The sum of this rank's block is written to `result` in `target`. `target` may be `source`
  /// if every block has the same position in both.
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

  /// Returns this rank's addend of a range of block j. If the addend is contiguous in the source,
  /// returns a pointer into the source. Otherwise packs the addend into `room` and returns `room`.
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
  std::int64_t elements_;  // number of elements of each block that the ring handles
  strided_block const* result_;
  reduction op_;
  element_pointer source_, target_;
};

}  // namespace ashlar::mpi
