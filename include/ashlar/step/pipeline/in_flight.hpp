// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Counts the micro-batches that a schedule has in flight in each stage. This number decides how
// many saved values of forward passes are in memory at a time. A part runs one pass at a time, so
// only the order of its passes counts, not their seconds:
//
//   ahead   forward pass begun, gradient of the input not ended
//   held    forward pass begun, gradients of the parameters not ended
//
// Both are largest while a forward pass runs. They differ only if the backward pass is split.
// split_backward.hpp limits the same two numbers, but as sums over all stages of a part.
//
// refuse_in_flight compares a schedule, for example a user's, with the number of micro-batches that
// fit into the memory of each stage.

#include <algorithm>
#include <string>
#include <vector>

#include <ashlar/step/pipeline/schedule.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::pipelines {

struct flight {
  int ahead = 0, held = 0;
  friend constexpr bool operator==(flight const&, flight const&) = default;
};

/// Returns the largest value of each of the two numbers in one stage. The two may occur at
/// different times. Expects a schedule without faults (check.hpp).
constexpr flight in_flight(schedule const& s, int stage) {
  int const chunk = s.chunk_of(stage);
  flight now, most;
  for (auto const& a : s.order.data()[s.position_of(stage)]) {
    if (a.chunk != chunk) continue;
    if (a.what == pass::forward) {
      most.ahead = std::max(most.ahead, ++now.ahead);
      most.held = std::max(most.held, ++now.held);
    }
    now.ahead -= makes_input_gradient(a.what);
    now.held -= makes_weight_gradient(a.what);
  }
  return most;
}

/// Returns in_flight(s, stage) of every stage.
constexpr std::vector<flight> in_flight(schedule const& s) {
  std::vector<flight> each;
  for (int stage = 0; stage < s.stages(); ++stage) each.push_back(in_flight(s, stage));
  return each;
}

/// Returns an error message about the first stage that holds (flight::held) more micro-batches than
/// `most` permits, or an empty text. `most` has a number for each stage; if it does not, the
/// message says this. Expects a schedule without faults (check.hpp).
inline std::string in_flight_fault(schedule const& s, std::vector<int> const& most) {
  if (static_cast<int>(most.size()) != s.stages())
    return std::to_string(most.size()) + " limits of micro-batches in flight are given, but the " +
           "schedule has " + std::to_string(s.stages()) + " stages. Give one for each stage.";
  for (int stage = 0; stage < s.stages(); ++stage) {
    int const needed = in_flight(s, stage).held, limit = most[static_cast<std::size_t>(stage)];
    if (needed > limit)
      return "stage " + std::to_string(stage) + " may have at most " + std::to_string(limit) +
             " micro-batches in flight, but the schedule needs " + std::to_string(needed) +
             ". Raise the limit, or choose a schedule that runs fewer forward passes ahead.";
  }
  return {};
}

/// Throws ashlar::error with the message of in_flight_fault, if there is one.
inline void refuse_in_flight(schedule const& s, std::vector<int> const& most) {
  if (auto const fault = in_flight_fault(s, most); !fault.empty())
    throw error("pipelines::refuse_in_flight", fault);
}

}  // namespace ashlar::pipelines
