// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The ring all-gather. Each block travels around the ring, from its owner to the member before the
// owner.
//
//   step t of member r   send block r - t + 1, receive block r - t
//
//   if all blocks are contiguous in the target   MPI sends them from the target and receives them
//                                                into the target, without buffers
//   otherwise                                    received chunks are unpacked into the target, and
//                                                sent on in packed form
//
// If the members of each node are adjacent in the group, each block crosses each node's link only
// once.

#include <span>

#include <ashlar/comm/mpi/ring_lanes.hpp>
#include <ashlar/comm/strided_block.hpp>

namespace ashlar::mpi {

class ring_all_gather : public ring_lanes<ring_all_gather> {
  using base = ring_lanes<ring_all_gather>;
  friend base;

 public:
  /// Member j's block is written to receives[j] in `target`. This rank's own block is copied from
  /// `source` to its place in `target`. If `source` is null, the own block must already be in
  /// `target`.
  ring_all_gather(std::span<strided_block const> receives, int index, element_pointer source,
                  element_pointer target, MPI_Comm comm, arena& memory)
      : base(static_cast<int>(receives.size()), index, target.type(), longest_of(receives),
             all_runs(receives) ? 0 : 2, comm, memory),
        receives_(receives), target_(target) {
    if (source.at != nullptr) copy(block(index), source, target);
    base::begin();
  }

 private:
  static bool all_runs(std::span<strided_block const> blocks) {
    for (auto const& b : blocks)
      if (!b.target_is_run) return false;
    return true;
  }
  strided_block const& block(int j) const { return receives_[static_cast<std::size_t>(j)]; }
  element_pointer in_target(int j, interval const& piece) const {
    return target_ + block(j).target_offset + piece.begin;
  }

  void post(lane& l) {
    int const t = l.step, in = base::behind(t), out = base::behind(t - 1);
    auto const arriving = base::part(l, block(in).elements);
    base::receive(l, block(in).target_is_run ? in_target(in, arriving) : l.buffers[t % 2],
                  arriving.size);
    auto const leaving = base::part(l, block(out).elements);
    if (leaving.size == 0) return;
    element_pointer data = l.buffers[(t - 1) % 2];
    if (block(out).target_is_run) data = in_target(out, leaving);
    else if (t == 1)  // this rank's block, packed from the target
      copy_range(mirrored(block(out)), leaving.begin, leaving.end(), target_, l.buffers[0], false,
                 true);
    base::send(l, data, leaving.size);
  }

  void finish(lane& l) {
    int const in = base::behind(l.step);
    if (block(in).target_is_run) return;
    auto const piece = base::part(l, block(in).elements);
    copy_range(block(in), piece.begin, piece.end(), l.buffers[l.step % 2], target_, true, false);
  }

  /// Returns a block whose source is the target of `b`. It serves to pack elements of the target
  /// into another array.
  static strided_block mirrored(strided_block const& b) {
    strided_block back = b;
    back.source_offset = b.target_offset;
    std::copy(b.target_strides, b.target_strides + max_rank, back.source_strides);
    back.source_is_run = b.target_is_run;
    return back;
  }

  std::span<strided_block const> receives_;
  element_pointer target_;
};

}  // namespace ashlar::mpi
