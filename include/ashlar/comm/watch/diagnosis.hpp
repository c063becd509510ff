// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds out from the reports of all ranks why a rank waits, and says it in one paragraph. The
// watchdog prints the paragraph, and so does the program ashlar-flight, which reads flight records.
//
//   what the reports show                               what the paragraph says of the rank
//   a member gives no report                            its process is stopped, has ended, ...
//   a member has not begun the operation and waits      the operation in which it waits
//   a member has not begun the operation                its last operation; it makes no transfer
//   a member has begun another one by the same number   that operation
//   all members have begun the operation                the network does not carry the messages

#include <span>
#include <string>

#include <ashlar/config.hpp>
#include <ashlar/mesh/rank_report.hpp>
#include <ashlar/mesh/topology.hpp>

namespace ashlar::watch {

/// Returns the paragraph. `reports` has one report for each rank of `t`, in the order of ranks.
/// Returns an empty string if no rank waits.
ASHLAR_INLINE std::string diagnose(topology const& t, std::span<rank_report const> reports);

/// Returns a text such as "5.1 s" or "61 s".
ASHLAR_INLINE std::string waited_text(double seconds);

/// Returns a text such as "all-gather along gpu of ... (number 42 along gpu, step 7)".
ASHLAR_INLINE std::string place_of(reported_operation const& o);

}  // namespace ashlar::watch

#if ASHLAR_DEFINES(COMM)
#include <cstdio>
#include <vector>

#include <ashlar/mesh/text.hpp>

namespace ashlar::watch {

ASHLAR_INLINE std::string waited_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 10 ? "%.1f s" : "%.0f s", seconds);
  return text;
}

ASHLAR_INLINE std::string place_of(reported_operation const& o) {
  std::string text = o.text + " (number " + std::to_string(o.number);
  if (!o.axes.empty()) text += " along " + o.axes;
  if (o.step >= 0) text += ", step " + std::to_string(o.step);
  return text + ")";
}

namespace detail {

/// Returns the ranks of the group of `rank` along the axes of an operation. All ranks of the mesh
/// if the axes are empty.
inline std::vector<int> group_of(topology const& t, int rank, std::string const& axes) {
  axis_list list;
  for (int a = 0; a < t.axes(); ++a) {
    std::string const name(t.axis[a].name.view());
    for (std::size_t at = 0; at <= axes.size();) {
      auto const end = std::min(axes.find('+', at), axes.size());
      bool const is_found = axes.substr(at, end - at) == name;
      if (is_found) list.push_back(static_cast<signed char>(a));
      at = is_found ? axes.size() + 1 : end + 1;
    }
  }
  if (axes.empty()) list = all_axes(t.axes());
  std::vector<int> ranks;
  auto const here = t.coordinates_of(rank);
  for (int j = 0; j < t.group_size(list); ++j) ranks.push_back(t.rank_of(t.member(here, list, j)));
  return ranks;
}

inline std::uint64_t begun_of(rank_report const& r, std::string const& axes) {
  auto const found = r.begun.find(axes);
  return found == r.begun.end() ? 0 : found->second;
}

inline reported_operation const* find(rank_report const& r, reported_operation const& wanted) {
  for (auto const& o : r.operations)
    if (o.number == wanted.number && o.axes == wanted.axes) return &o;
  return nullptr;
}

/// Says where a rank is that has not come.
inline std::string whereabouts(rank_report const& r) {
  std::string const name = "Rank " + std::to_string(r.rank) + " has not come: ";
  if (auto const* const o = r.awaited(); r.is_waiting() && o != nullptr)
    return name + "it waits in " + place_of(*o) + ".";
  if (r.operations.empty()) return name + "it has made no transfer yet.";
  auto const& last = r.operations.back();
  return name + "it makes no transfer now. Its last one, " + place_of(last) + ", began " +
         waited_text(last.age) + " ago.";
}

}  // namespace detail

ASHLAR_INLINE std::string diagnose(topology const& t, std::span<rank_report const> reports) {
  constexpr int most_named = 3;
  rank_report const* longest = nullptr;
  for (auto const& r : reports)
    if (r.is_waiting() && r.awaited() && (!longest || r.waits > longest->waits)) longest = &r;
  if (longest == nullptr) return "";
  auto const& o = *longest->awaited();
  std::string text = "Rank " + std::to_string(longest->rank) + " has waited for " +
                     waited_text(longest->waits) + " in " + place_of(o) + ".";
  int named = 0, more = 0, silent = 0, waiting = 0;
  auto const say = [&](std::string const& sentence) {
    if (named < most_named) text += " " + sentence;
    else ++more;
    ++named;
  };
  for (int const rank : detail::group_of(t, longest->rank, o.axes)) {
    auto const& r = reports[static_cast<std::size_t>(rank)];
    if (!r.silence.empty()) {
      ++silent;
      say("Rank " + std::to_string(rank) + " does not answer: " + r.silence + ".");
    } else if (detail::begun_of(r, o.axes) < o.number) {
      if (r.is_waiting() && r.awaited() != nullptr) ++waiting;
      say(detail::whereabouts(r));
    } else if (auto const* const other = detail::find(r, o); other && other->text != o.text) {
      say("Rank " + std::to_string(rank) + " makes another call there: " + other->text + ".");
    }
  }
  if (more > 0) text += " The same holds for " + std::to_string(more) + " more of its group.";
  if (named == 0)
    return text + " All ranks of its group have come, so their messages do not arrive: look at "
                  "the network.";
  if (waiting > 0)
    // The ranks outside the group on which the waiting ranks wait may be the cause.
    for (auto const& r : reports)
      if (!r.silence.empty() &&
          text.find("Rank " + std::to_string(r.rank) + " does") == std::string::npos)
        text += " Rank " + std::to_string(r.rank) + " does not answer: " + r.silence + ".";
  if (silent == 0) text += " All ranks must make the same calls in the same order.";
  return text;
}

}  // namespace ashlar::watch
#endif
