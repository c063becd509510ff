// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The messages of a crossing between ranks, in the order in which all ranks begin them. Each message
// has a range of the elements of a unit task, in row-major order of the task's region. A rank that
// sends what it has received itself comes later in the order than the message that brought it, so
// ranks that carry out their messages in this order never wait for each other in a circle.

#include <ashlar/plan/crossing/crossing.hpp>

namespace ashlar {

struct crossing_transfer {
  int from = 0, to = 0;  ///< ranks of the whole mesh
  int task = 0;
  std::int64_t begin = 0, size = 0;
  friend constexpr bool operator==(crossing_transfer const&, crossing_transfer const&) = default;
};

namespace detail {

/// Calls f(transfer) for each message of a stage in one period. `rank_at(share, k)` returns the rank
/// that has place k in the chain of a share.
template <class RankAt, class F>
constexpr void transfers_of_period(port_schedule const& s, int period, int chunks,
                                   RankAt const& rank_at, F const& f) {
  for (auto const& round : s.rounds)
    for (auto const& piece : round.pieces) {
      int const chunk = period - piece.hop;
      if (chunk < 0 || chunk >= chunks) continue;
      auto const& share = s.shares.data()[piece.share];
      // The chunk is a range of the share. The piece is the same part of the chunk as of the share.
      auto const own = balanced_part({share.begin, share.size}, chunks, chunk);
      auto const at = [&](std::int64_t position) {
        return own.begin +
               static_cast<std::int64_t>(double(own.size) * double(position) / double(share.size));
      };
      std::int64_t const begin = at(piece.begin);
      std::int64_t const end = piece.begin + piece.size == share.size
                                   ? own.end()
                                   : at(piece.begin + piece.size);
      if (end > begin)
        f(crossing_transfer{rank_at(piece.share, piece.hop), rank_at(piece.share, piece.hop + 1),
                            share.task, begin, end - begin});
    }
}

}  // namespace detail

/// Calls f(transfer) for each message of a crossing, in order.
template <class F>
constexpr void for_each_transfer(crossing const& c, topology const& whole, F const& f) {
  detail::nodes_of_mesh const nodes(whole);
  auto const node_rank = [&](int share, int place) {
    auto const& own = c.between.shares.data()[share];
    auto const& task = c.tasks.data()[own.task];
    int const node = own.chain.data()[place];
    if (place > 0)
      return entry_of(nodes.in_node(task.receivers, node), static_cast<std::size_t>(own.task));
    auto const owners = nodes.in_node(task.owners, node);
    return owners.data()[static_cast<std::size_t>(share) % owners.size()];
  };
  int inside_hops = 0;
  for (auto const& node : c.inside) inside_hops = std::max(inside_hops, node.hops);
  int const periods = c.chunks + c.between.hops + inside_hops - 1;
  for (int period = 0; period < periods; ++period) {
    detail::transfers_of_period(c.between, period, c.chunks, node_rank, f);
    for (int n = 0; n < static_cast<int>(c.inside.size()); ++n) {
      auto const& own = c.inside.data()[n];
      // What comes from another node has arrived before, whatever its place in the chain of nodes.
      detail::transfers_of_period(
          own, period - c.between.hops, c.chunks,
          [&](int share, int place) {
            return nodes.rank(n, own.shares.data()[share].chain.data()[place]);
          },
          f);
    }
  }
}

}  // namespace ashlar
