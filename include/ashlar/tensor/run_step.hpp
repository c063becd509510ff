// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Runs one step of a plan on this rank's shard: packs where the shard is not contiguous, hands the
// exchange to the mesh, unpacks. The step is the one that was priced; its received bytes are those
// of plan/step.hpp.
//
//   all_gather, reduce_scatter   blocks are the members' parts of one dim; no packing when every
//                                dim before it has one index in the shard
//   all_to_all, permute that is  to member j: my box before ∩ its box after; from member j: its box
//   not pairwise                 before ∩ my box after
//   pairwise permute             the whole shard to one rank and from one

#include <algorithm>
#include <vector>

#include <ashlar/comm/mesh.hpp>
#include <ashlar/plan/step.hpp>
#include <ashlar/tensor/buffer.hpp>
#include <ashlar/tensor/region.hpp>

namespace ashlar {
namespace detail {

/// The members' boxes in a placement, in group order.
inline std::vector<box> member_boxes(mesh const& m, shape const& extents, axis_list const& axes,
                                     placement const& p) {
  int const n = m.topology().group_size(axes);
  std::vector<box> boxes;
  boxes.reserve(static_cast<std::size_t>(n));
  for (int j = 0; j < n; ++j)
    boxes.push_back(local_box(extents, m.topology(), p, m.topology().member(m.here(), axes, j)));
  return boxes;
}

template <class T>
struct step_runner {
  mesh const& m;
  shape const& extents;
  step const& s;
  T const* source;
  T* target;
  box from = local_box(extents, m.topology(), s.from, m.here());
  box to = local_box(extents, m.topology(), s.to, m.here());

  exchange describe() const {
    exchange e;
    e.kind = s.kind;
    e.axes = s.axes;
    e.type = element_type_of<T>;
    e.op = s.from.op();
    return e;
  }

  /// Copies blocks of the source back to back.
  void pack(std::vector<box> const& blocks, T* packed) const {
    for (auto const& b : blocks) {
      copy_region(b, from, source, b, packed);
      packed += b.elements();
    }
  }

  /// Copies blocks that lie back to back to their places in the target.
  void unpack(std::vector<box> const& blocks, T const* packed) const {
    for (auto const& b : blocks) {
      copy_region(b, b, packed, to, target);
      packed += b.elements();
    }
  }

  /// Whether each of the blocks is one run of memory in `whole`.
  static bool blocks_are_runs(box const& whole, std::vector<box> const& blocks) {
    return std::all_of(blocks.begin(), blocks.end(),
                       [&](box const& b) { return is_contiguous(whole, b); });
  }

  void all_gather() const {
    auto const blocks = member_boxes(m, extents, s.axes, s.from);
    std::vector<std::int64_t> counts;
    for (auto const& b : blocks) counts.push_back(b.elements());
    auto e = describe();
    e.recv_counts = counts;
    e.send = source;
    if (blocks_are_runs(to, blocks)) {
      e.recv = target;
      return m.run(e);
    }
    buffer<T> packed(m.memory(), to.elements());
    e.recv = packed.data();
    m.run(e);
    unpack(blocks, packed.data());
  }

  void reduce_scatter() const {
    auto const blocks = member_boxes(m, extents, s.axes, s.to);
    std::vector<std::int64_t> counts;
    for (auto const& b : blocks) counts.push_back(b.elements());
    auto e = describe();
    e.recv_counts = counts;
    e.recv = target;
    if (blocks_are_runs(from, blocks)) {
      e.send = source;
      return m.run(e);
    }
    buffer<T> packed(m.memory(), from.elements());
    pack(blocks, packed.data());
    e.send = packed.data();
    m.run(e);
  }

  void all_reduce() const {
    std::copy(source, source + from.elements(), target);
    std::int64_t const count = to.elements();
    auto e = describe();
    e.recv = target;
    e.recv_counts = {&count, 1};
    m.run(e);
  }

  void all_to_all() const {
    auto sent = member_boxes(m, extents, s.axes, s.to);
    auto received = member_boxes(m, extents, s.axes, s.from);
    std::vector<std::int64_t> send_counts, recv_counts;
    for (auto& b : sent) send_counts.push_back((b = intersect(b, from)).elements());
    for (auto& b : received) recv_counts.push_back((b = intersect(b, to)).elements());
    auto e = describe();
    e.send_counts = send_counts;
    e.recv_counts = recv_counts;
    bool const packs = !blocks_are_runs(from, sent) || !is_ordered(from, sent);
    bool const unpacks = !blocks_are_runs(to, received) || !is_ordered(to, received);
    buffer<T> packed(m.memory(), packs ? from.elements() : 0);
    buffer<T> arrived(m.memory(), unpacks ? to.elements() : 0);
    if (packs) pack(sent, packed.data());
    e.send = packs ? packed.data() : source;
    e.recv = unpacks ? arrived.data() : target;
    m.run(e);
    if (unpacks) unpack(received, arrived.data());
  }

  /// Whether the nonempty blocks follow each other in memory from the start of `whole`.
  static bool is_ordered(box const& whole, std::vector<box> const& blocks) {
    std::int64_t expected = 0;
    for (auto const& b : blocks) {
      if (b.elements() == 0) continue;
      if (offset_of(whole, b) != expected) return false;
      expected += b.elements();
    }
    return true;
  }

  void permute() const {
    if (!is_pairwise(s, m.topology())) return all_to_all();
    int const partner = m.topology().index_in_group(permute_partner(s, m.here()), s.axes);
    std::int64_t const send_count = from.elements(), recv_count = to.elements();
    auto e = describe();
    e.send = source;
    e.recv = target;
    e.send_counts = {&send_count, 1};
    e.recv_counts = {&recv_count, 1};
    e.to = e.from = partner;
    m.run(e);
  }

  void zero_pad() const {
    auto const a = static_cast<std::size_t>(s.axes[0]);
    bool const holds = s.from[s.axes[0]].is_split() || m.here()[a] == 0;
    std::fill(target, target + to.elements(), identity_of<T>(s.to.op()));
    if (holds) copy_region(from, from, source, to, target);
  }

  void run() const {
    switch (s.kind) {
      case collective::all_gather: return all_gather();
      case collective::reduce_scatter: return reduce_scatter();
      case collective::all_reduce: return all_reduce();
      case collective::all_to_all: return all_to_all();
      case collective::permute: return permute();
      case collective::slice: return copy_region(to, from, source, to, target);
      case collective::zero_pad: return zero_pad();
    }
  }
};

}  // namespace detail

/// Runs `s` on a shard `source`, whose box is that of s.from, into `target`, whose box is that of
/// s.to. Communicates: the step's collective along its axes.
template <class T>
void run_step(mesh const& m, shape const& extents, step const& s, T const* source, T* target) {
  detail::step_runner<T>{m, extents, s, source, target}.run();
}

}  // namespace ashlar
