// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The order in which one part of a pipeline runs its passes, and begins and ends its transfers. It
// follows the common order of all parts (lower.hpp), from which three rules lead to the order of
// one part:
//
//   begin_receive   If receives do not begin ahead: at the transfer's own place. If they do: take
//                   the passes of one sender that send to this part. The receives from the first of
//                   these passes begin at the start of the step. The receives from each later pass
//                   begin where the common order has the first transfer of the pass before it
//   end_sends       The sends of a pass to another part end right before the next pass that sends
//                   to the same part begins its first send
//   begin_send      at the transfer's own place, which is right after the pass
//
// step/build_stage.hpp gives the reasons for these rules, and search/pipeline_memory.hpp counts the
// tensors that are in memory because of them. A receive ends before the pass that reads its tensor,
// and the last sends to each part end after the last pass. These ends have no lines here.

#include <deque>
#include <map>

#include <ashlar/step/pipeline/lower.hpp>

namespace ashlar::pipelines {

enum class part_event { pass, begin_receive, end_sends, begin_send };

struct part_line {
  part_event event = part_event::pass;
  /// The pass or the transfer. For end_sends, only `target` has a meaning: the part whose sends
  /// end.
  lowered_line line;
};

/// Returns the lines of the part at `position`. `lines` are in the common order. They may lack the
/// passes of other parts, and transfers between other parts.
inline std::vector<part_line> order_of_part(std::vector<lowered_line> const& lines, int position,
                                            bool receives_ahead) {
  std::vector<part_line> made;
  std::map<int, std::deque<lowered_line const*>> arriving;  // by sender: receives still to begin
  for (auto const& line : lines)
    if (line.is_transfer && line.target == position) arriving[line.position].push_back(&line);
  // Begins the next receive from a part. If receives begin ahead, also begins the receives of the
  // other tensors that the same pass sends to this part.
  auto const receive_next = [&](int from) {
    auto& own = arriving[from];
    if (own.empty()) return;
    auto const pass = own.front()->what;
    do {
      made.push_back({part_event::begin_receive, *own.front()});
      own.pop_front();
    } while (receives_ahead && !own.empty() && own.front()->what == pass);
  };
  if (receives_ahead)
    for (auto const& sender : arriving) receive_next(sender.first);
  std::map<int, action> arrived;  // by sender: the pass whose result its last transfer carries
  std::map<int, int> sent_after;  // by receiver: the number of the last pass that sent to it
  int passes = 0;
  for (auto const& line : lines) {
    if (!line.is_transfer && line.position == position) {
      ++passes;
      made.push_back({part_event::pass, line});
    } else if (line.is_transfer && line.position == position) {
      if (auto& after = sent_after[line.target]; after != passes) {
        made.push_back({part_event::end_sends, line});
        after = passes;
      }
      made.push_back({part_event::begin_send, line});
    } else if (line.is_transfer && line.target == position) {
      auto const [last, is_first] = arrived.try_emplace(line.position, line.what);
      if (is_first || !receives_ahead || !(last->second == line.what)) receive_next(line.position);
      last->second = line.what;
    }
  }
  return made;
}

}  // namespace ashlar::pipelines
