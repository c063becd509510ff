// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The messages of a crossing between ranks, in the order in which all ranks begin them. Each
// message carries a range of the elements of a unit task, in row-major order of the task's region.
// A message that passes on what another message brought comes after that message in the order. So
// ranks that carry out their messages in this order cannot deadlock.
//
// Successive messages form groups, which have the same numbers on all ranks. A message of a group
// passes on nothing that another message of the group brings, so the messages of a group may go at
// the same time. A group has the messages of at most rounds_of_group rounds of one stage in one
// period.

#include <ashlar/plan/crossing/plan_crossing.hpp>

namespace ashlar {

namespace detail {

/// One stage of a crossing: between nodes or inside one node (crossing.hpp). In each period, the
/// stage sends the same pieces of its shares as in the period before, but of the next chunk.
struct stage_of_crossing {
  port_schedule const* order;
  scratch<std::vector<int>> chains;    ///< the ranks along the chain of each share
  std::vector<crossing_piece> pieces;  ///< in the order of the rounds
  std::vector<int> groups;             ///< for each piece: its group, numbered within a period
};

/// The number of rounds in a group. Libraries such as NCCL limit the number of messages that can go
/// at the same time. In most rounds, a rank sends at most one message and receives at most one.
inline constexpr int rounds_of_group = 64;

constexpr int groups_of(port_schedule const& s) {
  return static_cast<int>(s.rounds.size() + rounds_of_group - 1) / rounds_of_group;
}

/// Returns a stage whose shares have the given chains of ranks. The stage has the pieces that rank
/// `only` sends or receives, or all pieces if `only` is negative.
template <class Chain>
constexpr stage_of_crossing stage_with(port_schedule const& s, Chain const& chain, int only) {
  stage_of_crossing stage{&s, scratch<std::vector<int>>(s.shares.size()), {}, {}};
  for (std::size_t i = 0; i < s.shares.size(); ++i) stage.chains.data()[i] = chain(i);
  for (std::size_t r = 0; r < s.rounds.size(); ++r)
    for (auto const& piece : s.rounds.data()[r].pieces) {
      auto const* const along = stage.chains.data()[piece.share].data() + piece.hop;
      if (only >= 0 && along[0] != only && along[1] != only) continue;
      stage.pieces.push_back(piece);
      stage.groups.push_back(static_cast<int>(r) / rounds_of_group);
    }
  return stage;
}

/// Calls f(transfer) for each message of a stage in one period. The groups of the period begin at
/// `first_group`.
template <class F>
constexpr void transfers_of_period(stage_of_crossing const& stage, int period, int chunks,
                                   int first_group, F const& f) {
  auto const& s = *stage.order;
  for (std::size_t i = 0; i < stage.pieces.size(); ++i) {
    auto const& piece = stage.pieces.data()[i];
    int const chunk = period - piece.hop;
    if (chunk < 0 || chunk >= chunks) continue;
    auto const& share = s.shares.data()[piece.share];
    // The chunk is a range of the share. If the piece covers a fraction of the whole share, it
    // covers the same fraction of the chunk.
    auto const own = balanced_part({share.begin, share.size}, chunks, chunk);
    auto const at = [&](std::int64_t position) {
      return own.begin +
             static_cast<std::int64_t>(double(own.size) * double(position) / double(share.size));
    };
    std::int64_t const begin = at(piece.begin);
    std::int64_t const end = piece.begin + piece.size == share.size ? own.end()
                                                                    : at(piece.begin + piece.size);
    if (end > begin)
      f(crossing_transfer{stage.chains.data()[piece.share].data()[piece.hop],
                          stage.chains.data()[piece.share].data()[piece.hop + 1], share.task, begin,
                          end - begin, first_group + stage.groups.data()[i]});
  }
}

}  // namespace detail

/// Calls f(transfer) for each message of a crossing, in order. If `only` is not negative, calls it
/// only for the messages that rank `only` sends or receives.
template <class F>
constexpr void for_each_transfer(crossing const& c, nodes_of_mesh const& nodes, F const& f,
                                 int only = -1) {
  auto const between = detail::stage_with(
      c.between, [&](std::size_t i) { return detail::ranks_between(c, i, nodes); }, only);
  std::vector<detail::stage_of_crossing> inside;
  int inside_hops = 0, inside_groups = 0;
  for (int n = 0; n < static_cast<int>(c.inside.size()); ++n) {
    auto const& own = c.inside.data()[n];
    inside_hops = std::max(inside_hops, own.hops);
    inside_groups = std::max(inside_groups, detail::groups_of(own));
    inside.push_back(detail::stage_with(
        own,
        [&](std::size_t i) {
          auto ranks = own.shares.data()[i].chain;
          for (int& r : ranks) r = nodes.rank(n, r);
          return ranks;
        },
        only));
  }
  int const periods = c.chunks + c.between.hops + inside_hops - 1;
  for (int period = 0; period < periods; ++period) {
    int const first_group = period * (detail::groups_of(c.between) + inside_groups);
    detail::transfers_of_period(between, period, c.chunks, first_group, f);
    // The stage inside nodes runs between.hops periods later. By then, a chunk from another node
    // has arrived, wherever the receiving node is in the chain of nodes.
    for (auto const& own : inside)
      detail::transfers_of_period(own, period - c.between.hops, c.chunks,
                                  first_group + detail::groups_of(c.between), f);
  }
}

}  // namespace ashlar
