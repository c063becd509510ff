// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Carries out one rank's messages of a crossing (plan/crossing/transfers.hpp) as a sequence of NCCL
// calls and kernels on one stream.
//
//   message           one send or receive, of a range of the elements of a unit task, which is a
//                     box of the tensor (plan/crossing/unit_task.hpp)
//   contiguous        elements are sent from the shard, or received into it
//   not contiguous    elements are packed into scratch memory before, or unpacked after
//   group             all messages of this rank with the same group number. They are one NCCL group
//                     and travel at the same time, so none of them may pass on elements that
//                     another one brings. On the stream, each group ends before the next begins.
//
// A message has the same group number on its sender and on its receiver, and each rank begins its
// groups in the order of their numbers. So the unfinished group with the smallest number can always
// end, and there is no deadlock. Groups are small, because NCCL limits the number of messages in a
// group.

#include <algorithm>
#include <span>
#include <vector>

#include <ashlar/comm/element_type.hpp>
#include <ashlar/comm/nccl/exchange.hpp>
#include <ashlar/comm/prepared_crossing.hpp>

namespace ashlar::nccl {

/// Returns an element type with elements of this size in bytes (2, 4 or 8), to carry elements of
/// any type.
constexpr element_type carrier_of(std::size_t element_size) {
  return element_size == 2   ? element_type::bf16
         : element_size == 4 ? element_type::i32
                             : element_type::i64;
}

/// The messages of one rank that travel at the same time.
struct message_group {
  std::span<crossing_transfer const> sends, receives;
};

/// Calls f(group) for each group of messages of a crossing, in order.
template <class F>
void for_each_group(prepared_crossing const& c, F const& f) {
  std::span<crossing_transfer const> sends = c.sends, receives = c.receives;
  auto const take = [](std::span<crossing_transfer const>& from, int group) {
    std::size_t n = 0;
    while (n < from.size() && from[n].group == group) ++n;
    auto const taken = from.first(n);
    from = from.subspan(n);
    return taken;
  };
  while (!sends.empty() || !receives.empty()) {
    int const group = sends.empty()      ? receives.front().group
                      : receives.empty() ? sends.front().group
                                         : std::min(sends.front().group, receives.front().group);
    auto const sent = take(sends, group);
    f(message_group{sent, take(receives, group)});
  }
}

namespace detail {

/// Returns the elements begin .. begin + size of `region`, in row-major order, as blocks of the
/// shard that has the elements of `tile`.
inline std::vector<strided_block> blocks_of_range(box const& tile, box const& region,
                                                  std::int64_t begin, std::int64_t size) {
  strided_block const whole(region, tile, tile);
  if (whole.rank == 0) return {whole};
  std::vector<strided_block> blocks;
  auto visit = [&](int dim, std::int64_t count, std::int64_t offset, std::int64_t) {
    strided_block b;
    b.rank = whole.rank - dim;
    b.source_offset = b.target_offset = offset;
    b.elements = 1;
    for (int d = b.rank - 1; d >= 0; --d) {
      b.extents[d] = d == 0 ? count : whole.extents[dim + d];
      b.source_strides[d] = b.target_strides[d] = whole.source_strides[dim + d];
      if (b.extents[d] > 1 && b.source_strides[d] != b.elements)
        b.source_is_run = b.target_is_run = false;
      b.elements *= b.extents[d];
    }
    blocks.push_back(b);
  };
  ashlar::detail::for_each_part(whole, 0, begin, begin + size, whole.source_offset,
                                whole.source_offset, visit);
  return blocks;
}

}  // namespace detail

/// Carries out a group of messages by calls of `calls`. `shard` has the elements of box `tile`, of
/// `element_size` bytes each. Peers are ranks of the whole mesh.
template <calls Calls>
void issue_messages(message_group const& group, std::vector<unit_task> const& tasks,
                    box const& tile, std::byte* shard, std::size_t element_size, Calls& calls) {
  struct message {
    crossing_transfer const* what;
    std::vector<strided_block> blocks;
    std::byte* at;  ///< where the elements are, one after another
    bool is_packed;
  };
  auto const prepared = [&](crossing_transfer const& t) {
    message m{&t,
              detail::blocks_of_range(tile, tasks[static_cast<std::size_t>(t.task)].region, t.begin,
                                      t.size),
              nullptr, false};
    auto const first = m.blocks.front().source_offset;
    m.is_packed = !detail::follow(m.blocks, &strided_block::source_is_run,
                                  &strided_block::source_offset, first);
    m.at = m.is_packed ? calls.scratch(t.size)
                       : shard + first * static_cast<std::int64_t>(element_size);
    return m;
  };
  std::vector<message> sends, receives;
  for (auto const& t : group.sends) {
    sends.push_back(prepared(t));
    if (sends.back().is_packed) calls.pack(sends.back().blocks, shard, sends.back().at);
  }
  for (auto const& t : group.receives) receives.push_back(prepared(t));
  calls.group_start();
  for (auto const& m : sends) calls.send(m.at, m.what->size, m.what->to);
  for (auto const& m : receives) calls.receive(m.at, m.what->size, m.what->from);
  calls.group_end();
  for (auto const& m : receives)
    if (m.is_packed) calls.unpack(m.blocks, m.at, shard);
}

}  // namespace ashlar::nccl
