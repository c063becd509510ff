// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Orders a crossing so that its busiest port is hardly ever idle, apart from the first and last
// periods:
//
//   1. The tasks (port_task.hpp) are divided among their senders (sender_shares.hpp).
//   2. The receivers of each share form a chain. Every receiver but the last sends the share on,
//      which its port can do while it receives. The port that has to send most comes last.
//   3. The traffic of all hops is divided into rounds (open_shop.hpp).
//
// No receiver passes on more than it receives. So if no port is both a sender and a receiver, the
// rounds take at most a hundredth longer than the lower bound that sender_shares.hpp computes. With
// K chunks, the crossing then takes 1 + (hops - 1) / K times the bound, apart from latency, because
// the chains have to fill first.

#include <ashlar/plan/crossing/open_shop.hpp>
#include <ashlar/plan/crossing/port_schedule.hpp>
#include <ashlar/plan/crossing/sender_shares.hpp>

namespace ashlar {

constexpr port_schedule pipelined_order(port_problem const& p) {
  port_schedule s;
  auto const received = p.most_received();
  auto const divided = share_senders(p, received);
  s.least_elements = std::max(received, divided.least_load);

  auto const ports = static_cast<std::size_t>(p.ports);
  scratch<std::int64_t> sends(ports);
  for (auto const& share : divided.shares) sends.data()[share.sender] += share.size;
  scratch<std::int64_t> traffic(ports * ports);
  for (auto const& share : divided.shares) {
    auto const& t = p.tasks.data()[share.task];
    crossing_share c{share.task, share.begin, share.size, {share.sender}};
    std::size_t last = 0;
    for (std::size_t k = 1; k < t.receivers.size(); ++k)
      if (sends.data()[t.receivers.data()[k]] >= sends.data()[t.receivers.data()[last]]) last = k;
    // Chains of successive shares mostly begin at different receivers, so that their first hops go
    // to different ports.
    for (std::size_t k = 1; k < t.receivers.size(); ++k)
      c.chain.push_back(t.receivers.data()[(last + k) % t.receivers.size()]);
    for (std::size_t k = 1; k < c.chain.size(); ++k) sends.data()[c.chain.data()[k]] += c.size;
    c.chain.push_back(t.receivers.data()[last]);
    for (std::size_t k = 1; k < c.chain.size(); ++k)
      traffic.data()[static_cast<std::size_t>(c.chain.data()[k - 1]) * ports +
                     static_cast<std::size_t>(c.chain.data()[k])] += c.size;
    s.hops = std::max(s.hops, static_cast<int>(c.chain.size()) - 1);
    s.shares.push_back(static_cast<crossing_share&&>(c));
  }

  // The hops of all shares from one port to another. The hops before number `first`, and `done`
  // elements of hop number `first`, are in earlier rounds.
  struct lane {
    std::vector<crossing_piece> hops;
    std::size_t first = 0;
    std::int64_t done = 0;
  };
  scratch<lane> lanes(traffic.size());
  for (std::size_t i = 0; i < s.shares.size(); ++i) {
    auto const& c = s.shares.data()[i];
    for (std::size_t k = 1; k < c.chain.size(); ++k)
      lanes
          .data()[static_cast<std::size_t>(c.chain.data()[k - 1]) * ports +
                  static_cast<std::size_t>(c.chain.data()[k])]
          .hops.push_back({static_cast<int>(i), static_cast<int>(k) - 1, 0, c.size});
  }
  std::vector<port_traffic> pairs;
  for (std::size_t i = 0; i < traffic.size(); ++i)
    if (traffic.data()[i] > 0)
      pairs.push_back(
          {static_cast<int>(i / ports), static_cast<int>(i % ports), traffic.data()[i]});
  for (auto const& round : rounds_of(p.ports, pairs)) {
    crossing_round r{length_of(round), {}};
    for (auto const& t : round) {
      auto& own =
          lanes.data()[static_cast<std::size_t>(t.from) * ports + static_cast<std::size_t>(t.to)];
      for (std::int64_t left = t.size; left > 0;) {
        auto const& hop = own.hops.data()[own.first];
        auto const size = std::min(left, hop.size - own.done);
        r.pieces.push_back({hop.share, hop.hop, own.done, size});
        left -= size;
        own.done += size;
        if (own.done == hop.size) ++own.first, own.done = 0;
      }
    }
    s.rounds.push_back(static_cast<crossing_round&&>(r));
  }
  return s;
}

}  // namespace ashlar
