// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds out from the reports of all ranks why a rank waits, and explains it in one paragraph. The
// watchdog prints the paragraph, and so does the program ashlar-flight, which reads flight records.
//
//   Rank 0 has waited for 5.1 s in all-gather along gpu of ..., for rank 1. Rank 2 waits in a
//   barrier, for ranks 0 and 1. Rank 1 makes no transfer now: its last one, ..., began 5.2 s ago.
//
// A rank waits for the members of its operation's group that have not begun the operation, or that
// have begun another operation with the same number. If such a member gives no report, the
// paragraph says why.

#include <span>
#include <string>

#include <ashlar/config.hpp>
#include <ashlar/mesh/rank_report.hpp>
#include <ashlar/mesh/topology.hpp>

namespace ashlar::watch {

/// Returns the paragraph. `reports` has one report for each rank of `t`, in the order of ranks.
/// Returns an empty string if no rank waits in an operation.
ASHLAR_INLINE std::string diagnose(topology const& t, std::span<rank_report const> reports);

/// Returns a text such as "5.1 s" or "61 s".
ASHLAR_INLINE std::string waited_text(double seconds);

/// Returns a text such as "all-gather along gpu of ... (number 42 along gpu, step 7)".
ASHLAR_INLINE std::string place_of(reported_operation const& o);

}  // namespace ashlar::watch

#if ASHLAR_DEFINES(COMM)
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <set>
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
  if (auto const axes = o.axes.substr(0, o.axes.find('@')); !axes.empty()) text += " along " + axes;
  if (o.step >= 0) text += ", step " + std::to_string(o.step);
  return text + ")";
}

namespace detail {

/// Returns the ranks that take part in an operation of rank `rank`. `axes` are the names of its
/// axes, such as "node+gpu". For a part of a mesh, the ranks follow, as in "gpu@4,5"
/// (flight_record.hpp). If `axes` is empty, all ranks take part.
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
  if (auto at = axes.find('@'); at != std::string::npos) {
    for (; at < axes.size(); at = std::min(axes.find(',', at + 1), axes.size())) {
      int member = -1;
      std::from_chars(axes.data() + at + 1, axes.data() + axes.size(), member);
      if (member >= 0 && member < t.ranks()) ranks.push_back(member);
    }
    return ranks;
  }
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

/// Returns a text such as "rank 2", "ranks 0 and 2", or "ranks 0, 1, 2 and 5 more".
inline std::string ranks_text(std::set<int> const& ranks) {
  constexpr std::size_t most_named = 4;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  std::size_t named = 0;
  for (int const r : ranks) {
    if (named == most_named - 1 && ranks.size() > most_named)
      return text + " and " + std::to_string(ranks.size() - named) + " more";
    if (named > 0) text += named + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(r);
    ++named;
  }
  return text;
}

/// The ranks that wait in one operation, and the ranks for which they wait.
struct site {
  reported_operation operation;
  double waits = 0;
  std::set<int> ranks, missing;
};

/// Returns the operations in which ranks wait, the longest wait first.
inline std::vector<site> sites_of(topology const& t, std::span<rank_report const> reports) {
  std::vector<site> sites;
  for (auto const& r : reports) {
    auto const* const o = r.is_waiting() ? r.awaited() : nullptr;
    if (o == nullptr || o->number == 0) continue;
    auto found = std::find_if(sites.begin(), sites.end(), [&](site const& s) {
      return s.operation.text == o->text && s.operation.number == o->number;
    });
    if (found == sites.end()) found = sites.insert(sites.end(), {*o, r.waits, {}, {}});
    found->waits = std::max(found->waits, r.waits);
    found->ranks.insert(r.rank);
    for (int const m : group_of(t, r.rank, o->axes)) {
      auto const& member = reports[static_cast<std::size_t>(m)];
      auto const* const same = find(member, *o);
      bool const has_come = begun_of(member, o->axes) >= o->number &&
                            (same == nullptr || same->text == o->text);
      if (!has_come) found->missing.insert(m);
    }
  }
  std::stable_sort(sites.begin(), sites.end(),
                   [](site const& a, site const& b) { return a.waits > b.waits; });
  return sites;
}

}  // namespace detail

ASHLAR_INLINE std::string diagnose(topology const& t, std::span<rank_report const> reports) {
  constexpr std::size_t most_sites = 4, most_others = 3;
  auto const sites = detail::sites_of(t, reports);
  if (sites.empty()) return "";
  std::string text;
  std::set<int> missing;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    auto const& s = sites[i];
    missing.insert(s.missing.begin(), s.missing.end());
    if (i == most_sites) text += " Other ranks wait in other operations.";
    if (i >= most_sites) continue;
    auto ranks = detail::ranks_text(s.ranks);
    ranks[0] = 'R';
    bool const is_one = s.ranks.size() == 1;
    if (i == 0)
      text = ranks + (is_one ? " has" : " have") + " waited for " + waited_text(s.waits) + " in ";
    else text += " " + ranks + (is_one ? " waits in " : " wait in ");
    text += place_of(s.operation);
    text += s.missing.empty() ? ", for which all have come: look at the network."
                              : ", for " + detail::ranks_text(s.missing) + ".";
  }
  std::size_t said = 0, silent = 0;
  for (int const m : missing) {
    auto const& r = reports[static_cast<std::size_t>(m)];
    if (!r.silence.empty() || !r.work.empty()) ++silent;
    if (r.silence.empty() && r.is_waiting() && r.awaited() != nullptr) continue;
    if (++said > most_others) continue;
    text += " Rank " + std::to_string(m);
    if (!r.silence.empty()) {
      text += " does not answer: " + r.silence + ".";
    } else if (!r.work.empty()) {
      text += " " + r.work + ".";
    } else if (r.operations.empty()) {
      text += " has made no transfer yet.";
    } else {
      auto const& last = r.operations.back();
      text += " makes no transfer now: its last one, " + place_of(last) + ", began " +
              waited_text(last.age) + " ago.";
    }
  }
  if (said > most_others)
    text += " " + std::to_string(said - most_others) + " more are not in a transfer.";
  if (!missing.empty() && silent == 0)
    text += " All ranks must make the same calls in the same order.";
  return text;
}

}  // namespace ashlar::watch
#endif
