// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// NCCL's unique id: 128 bytes that rank 0 distributes, and by which NCCL's ranks find each other.
// This file does not include nccl.h, so that the distribution can be tested without NCCL. The
// environment variable ASHLAR_NCCL_TIMEOUT sets the time limit for the distribution and for the
// creation of NCCL's communicators, in seconds (default 600).

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>

#include <ashlar/support/error.hpp>

namespace ashlar::nccl {

using unique_id = std::array<std::byte, 128>;

/// Returns the time limit from ASHLAR_NCCL_TIMEOUT.
inline std::chrono::milliseconds timeout_from_environment() {
  char const* const given = std::getenv("ASHLAR_NCCL_TIMEOUT");
  if (given == nullptr || *given == '\0') return std::chrono::minutes(10);
  std::string const text = given;
  long seconds = 0;
  auto const end = text.data() + text.size();
  auto const [stop, failed] = std::from_chars(text.data(), end, seconds);
  if (failed != std::errc() || stop != end || seconds < 1 || seconds > 1'000'000)
    throw error("nccl", "ASHLAR_NCCL_TIMEOUT is '" + text + "'. Give seconds from 1 to 1000000.");
  return std::chrono::seconds(seconds);
}

namespace detail {

/// Returns rank 0's `id` on every rank. `meeting` distributes the id: rank 0 calls
/// meeting.give(id), and the other ranks call meeting.take().
template <class Meeting>
unique_id share_id_at(Meeting meeting, int rank, unique_id const& id) {
  if (rank != 0) return meeting.take();
  meeting.give(id);
  return id;
}

}  // namespace detail

}  // namespace ashlar::nccl
