// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Finds the messages that NCCL must get for a crossing, by a dry run
// (comm/nccl/recorded_calls.hpp). Tests compare them with the messages that the fake NCCL has
// logged.

#include <vector>

#include <ashlar/comm/nccl/issue_crossing.hpp>
#include <ashlar/comm/nccl/recorded_calls.hpp>

#include "fake_cuda.hpp"

namespace ashlar_test {

/// Returns the messages of one rank for the crossing `c`. `element_size` is in bytes.
inline std::vector<fake::logged_message> recorded_messages(ashlar::prepared_crossing const& c,
                                                           std::size_t element_size) {
  using namespace ashlar::nccl;
  std::vector<recorded_call> calls;
  auto const& plan = c.plan;
  auto const type = carrier_of(element_size);
  recorded_calls record(type, calls, [](std::int64_t) { return static_cast<std::byte*>(nullptr); });
  // The messages do not depend on which box of the tensor the rank's shard has, so `tile` is the
  // whole tensor.
  ashlar::box tile;
  for (auto const n : plan.before.extents.extent) tile.dim.push_back({0, n});
  for_each_group(c, [&](message_group const& group) {
    issue_messages(group, plan.across.tasks, tile, nullptr, element_size, record);
  });
  std::vector<fake::logged_message> messages;
  int depth = 0;
  for (auto const& call : calls) {
    depth += (call.kind == call_kind::group_start) - (call.kind == call_kind::group_end);
    bool const sends = call.kind == call_kind::send;
    if (sends || call.kind == call_kind::receive)
      messages.push_back(
          {sends, call.peer, static_cast<std::size_t>(call.count * size_of(call.type)), depth});
  }
  return messages;
}

}  // namespace ashlar_test
