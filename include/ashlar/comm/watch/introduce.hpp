// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Starts the watchdogs of a new mesh: the ranks exchange their contacts over the mesh's transport.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <ashlar/comm/agreement_in_maxima.hpp>
#include <ashlar/comm/watch/watchdog.hpp>
#include <ashlar/config.hpp>
#include <ashlar/placement/axis_placement.hpp>

namespace ashlar::watch {

/// Returns the watchdog of rank `rank`, or null if the mesh has one rank, or if ASHLAR_TIMEOUT is
/// off on some rank. `wanted` are this rank's settings. `acts` tells whether the watchdog notices
/// waits itself (watchdog::start). `reduce(op, span)` replaces values by their sums or maxima over
/// all ranks. Collective over the mesh: an all-reduce of 24 bytes, and an all-reduce of 16 bytes
/// plus 72 bytes for each rank of the mesh.
template <class Reduce>
std::shared_ptr<watchdog> introduce(flight_record& record, topology const& t, int rank,
                                    settings const& wanted, bool acts, Reduce const& reduce) {
  if (t.ranks() == 1) return nullptr;
  contact own = own_contact();
  auto const host = bounds_of(own.host);
  std::array<std::int64_t, 3> most{host[0], host[1], wanted.is_on() ? 0 : 1};
  reduce(reduction::max, std::span<std::int64_t>(most));
  if (most[2] == 1) return nullptr;
  bool const is_one_host = all_agree({most[0], most[1]});
  auto made = std::make_shared<watchdog>(record, t, wanted, is_one_host);
  own.port = made->port();

  // Each rank fills in its own part of the numbers and leaves the other parts 0. So the sums
  // contain the parts of all ranks.
  constexpr auto words = static_cast<std::size_t>(contact::words);
  auto const ranks = static_cast<std::size_t>(t.ranks());
  std::vector<std::int32_t> numbers(ranks * words + token_words);
  std::span<std::int32_t> const all(numbers);
  auto const part = [&](std::size_t r) { return all.subspan(r * words).first<words>(); };
  auto const secret = all.last<token_words>();
  auto const packed = pack(own);
  std::copy(packed.begin(), packed.end(), part(static_cast<std::size_t>(rank)).begin());
  if (rank == 0) draw_token(secret);
  reduce(reduction::sum, all);

  std::vector<contact> contacts;
  for (std::size_t r = 0; r < ranks; ++r) contacts.push_back(unpack(part(r)));
  made->start(acts, rank, std::move(contacts), secret);
  return made;
}

}  // namespace ashlar::watch
