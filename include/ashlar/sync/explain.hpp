// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Reports how the gradients of a plan are synchronized, as tables with a line for each parameter:
//
//   explain(problem, plan, machine)            all parameters of a plan
//   explain(problem, before, after, machine)   all parameters of the plan `after`. A parameter that
//                                              has another strategy in the plan `before` gets a
//                                              second line for `before`.
//   diff(problem, before, after, machine)      only the parameters whose strategies differ
//
// In wide tables the placements of a parameter are on a line of their own. Equal parameters with
// equal placements share a line. The columns are:
//
//   received   bytes that the busiest rank receives in a step
//   seconds    seconds of the parameter's redistributions, one after the other
//   exposed    the part of these seconds for which ranks wait: with problem::overlap from the
//              timeline of the program, otherwise all of them

#include <string>
#include <utility>
#include <vector>

#include <ashlar/search/overlap/overlap_breakdown.hpp>
#include <ashlar/search/text.hpp>
#include <ashlar/step/build.hpp>
#include <ashlar/sync/owners.hpp>
#include <ashlar/sync/update_clock.hpp>

namespace ashlar::sync {

/// Returns the name of a parameter's strategy, such as "all-reduce", "ZeRO-1 along gpu", "owner
/// along gpu, read at use", "rows" if the gradient is in rows, or "local" if every rank has the
/// whole gradient of what it stores.
inline std::string strategy_text(search::parameter_choice const& p, topology const& t) {
  if (p.in_rows) return "rows";
  auto const& at = p.updated_at();
  std::string axes;
  bool owned = false, other = false;
  for (int a = 0; a < at.axes(); ++a) {
    if (at[a] == stored_as_used(p)[a]) continue;
    owned = owned || at[a].is_owned();
    other = other || !(at[a].is_owned() || at[a].is_split());
    axes += (axes.empty() ? " along " : ",") + std::string(t.axis[a].name.view());
  }
  bool const copies = p.is_updated_apart();
  if (axes.empty()) return copies ? "other" : p.grad.has_partial() ? "all-reduce" : "local";
  if (other) return "other" + axes;
  if (owned) return copies ? "owner" + axes : "owner" + axes + ", read at use";
  return (copies ? "ZeRO-1" : "ZeRO-3") + axes;
}

namespace detail {

/// A parameter of a report, or the sums of several equal parameters.
struct explained_parameter {
  std::string name;
  shape extents;
  search::parameter_choice placements;
  int count = 1;
  double received = 0, seconds = 0, exposed = 0;
  /// The parts of `seconds` and `exposed` that synchronize delayed gradients.
  double delayed_seconds = 0, delayed_exposed = 0;
};

struct explained_plan {
  std::vector<explained_parameter> parameters;  ///< the parameters in the order of the net
  double seconds = 0;                           ///< the seconds of a step
  double received = 0;  ///< bytes that the busiest rank receives for all these parameters
};

inline explained_plan explained(search::problem net, search::plan const& chosen, machine const& m) {
  net.interleaved = chosen.interleaved;
  explained_plan made;
  std::vector<std::vector<int>> index(static_cast<std::size_t>(net.size()));
  for (int i = 0; i < net.size(); ++i)
    for (int k = 0; k < chosen[i].parameters.size(); ++k) {
      auto const& spec = net.spec(i).parameters[k];
      index[static_cast<std::size_t>(i)].push_back(static_cast<int>(made.parameters.size()));
      made.parameters.push_back({std::string(net.spec(i).name.text) + "." + spec.name.text,
                                 spec.extents, chosen[i].parameters[k]});
    }
  search::program p;
  search::timeline when;
  if (net.overlap) {
    auto overlap = search::overlap_of(net, chosen, m);
    p = std::move(overlap.made);
    when = std::move(overlap.when);
    made.seconds = when.seconds;
  } else {
    p = build(net, chosen, m);
    made.seconds = serial_seconds(p, m).seconds();
  }
  for (std::size_t k = 0; k < p.moves.size(); ++k) {
    auto const& move = p.moves[k];
    if (move.what != search::moved::parameter) continue;
    auto& own = made.parameters[static_cast<std::size_t>(
        index[static_cast<std::size_t>(move.element)][static_cast<std::size_t>(move.index)])];
    auto const& path = p.path_of(move);
    double received = 0;
    for (auto const& s : path.steps)
      received += double(search::transfer_traffic(path, s, p.mesh).elements) *
                  s.unit_bytes(path.element_size);
    own.received += received;
    made.received += received;
    double const exposed = net.overlap ? when.moves[k].exposed : path.seconds;
    own.seconds += path.seconds;
    own.exposed += exposed;
    if (p.value_of(move.from).kind != search::value_kind::pending) continue;
    own.delayed_seconds += path.seconds;
    own.delayed_exposed += exposed;
  }
  for (auto const& a : p.actions) {
    if (a.rows < 0) continue;
    auto& own = made.parameters[static_cast<std::size_t>(
        index[static_cast<std::size_t>(a.element)][static_cast<std::size_t>(a.part)])];
    own.received += double(a.rows_bytes);
    made.received += double(a.rows_bytes);
    own.seconds += a.rows_seconds;
    own.exposed += a.rows_seconds;
  }
  return made;
}

inline std::string route_text(search::parameter_choice const& p) {
  return to_string(p.grad) + " -> " + to_string(p.updated_at()) + " -> " + to_string(p.store) +
         " -> " + to_string(p.use);
}

/// A line of a table: a parameter in the plan `after` (now), and in the plan `before` if its
/// strategy differs.
struct explained_line {
  explained_parameter now, before;
  bool differs = false;
};

constexpr bool same_strategy(search::parameter_choice const& a, search::parameter_choice const& b) {
  return a.store == b.store && a.update == b.update && a.in_rows == b.in_rows && a.wire == b.wire &&
         a.delay == b.delay;
}

/// Returns a line for each group of equal parameters, with their sums. If `only_changes`, leaves
/// out parameters whose strategy is the same in both plans.
inline std::vector<explained_line> folded(explained_plan const& after, explained_plan const& before,
                                          bool only_changes) {
  std::vector<explained_line> lines;
  for (std::size_t i = 0; i < after.parameters.size(); ++i) {
    auto const &now = after.parameters[i], &old = before.parameters[i];
    bool const differs = !same_strategy(now.placements, old.placements);
    if (only_changes && !differs) continue;
    explained_line* same = nullptr;
    for (auto& it : lines)
      if (it.now.name == now.name && it.now.extents == now.extents &&
          it.now.placements == now.placements && it.before.placements == old.placements)
        same = &it;
    if (same == nullptr) {
      lines.push_back({now, old, differs});
      continue;
    }
    for (auto [to, from] : {std::pair{&same->now, &now}, std::pair{&same->before, &old}}) {
      to->count += from->count;
      to->received += from->received;
      to->seconds += from->seconds;
      to->exposed += from->exposed;
    }
  }
  return lines;
}

inline std::vector<std::string> cells(explained_parameter const& p, topology const& t,
                                      bool is_before) {
  std::string const times = p.count > 1 ? " x " + std::to_string(p.count) : "";
  return {is_before ? "  before" : p.name + times,
          is_before ? "" : to_string(p.extents),
          strategy_text(p.placements, t) +
              (p.placements.wire.is_exact() ? "" : ", " + to_string(p.placements.wire)) +
              (p.placements.delay > 0 ? ", delay " + std::to_string(p.placements.delay) : ""),
          route_text(p.placements),
          bytes_text(p.received),
          search::detail::seconds_or_dash(p.seconds),
          search::detail::seconds_or_dash(p.exposed)};
}

inline std::string table(std::vector<explained_line> const& lines, topology const& t) {
  std::vector<std::vector<std::string>> rows{{"parameter", "extents", "strategy",
                                              "grad -> update -> store -> use", "received",
                                              "seconds", "exposed"}};
  for (auto const& it : lines) {
    rows.push_back(cells(it.now, t, false));
    if (it.differs) rows.push_back(cells(it.before, t, true));
  }
  constexpr std::size_t route = 3, most_columns = 100;
  auto const text_of = [&](bool in_row) {
    std::vector<std::size_t> widths(rows[0].size(), 0);
    for (auto const& row : rows)
      for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
    std::string text;
    for (auto const& row : rows) {
      std::string line;
      for (std::size_t c = 0; c < row.size(); ++c) {
        if (c == route && !in_row) continue;
        if (c > 0) line += "  ";
        line += c <= route ? search::detail::padded(row[c], widths[c])
                           : search::detail::right(row[c], widths[c]);
      }
      text += line + '\n';
      if (!in_row) text += "    " + row[route] + '\n';
      if (in_row && line.size() > most_columns) return std::string();
    }
    return text;
  };
  auto const narrow = text_of(true);
  return narrow.empty() ? text_of(false) : narrow;
}

/// Returns what delays change, as a line of a report: how old the gradients of updates are, and how
/// much of their synchronization runs during the passes of the next step.
inline std::string delays_text(explained_plan const& now, bool overlap) {
  int delayed = 0, least = search::most_delay, most = 0;
  double seconds = 0, exposed = 0;
  for (auto const& p : now.parameters) {
    if (p.placements.delay == 0) continue;
    ++delayed;
    least = std::min(least, p.placements.delay);
    most = std::max(most, p.placements.delay);
    seconds += p.delayed_seconds;
    exposed += p.delayed_exposed;
  }
  auto const all = static_cast<int>(now.parameters.size());
  std::string const steps = std::to_string(least) +
                            (most > least ? " to " + std::to_string(most) : "") +
                            (most == 1 ? " step old" : " steps old");
  std::string const start = "delays:          the updates of " + std::to_string(delayed) + " of " +
                            std::to_string(all) + " parameters take gradients that are " + steps;
  if (!overlap) return start + "; nothing overlaps here\n";
  return start + ";\n                 " + seconds_text(seconds - exposed) + " of " +
         seconds_text(seconds) +
         " of their synchronization run under the passes of the next step\n";
}

/// Returns the line that says which gradients of other ranks may be missing in the values that a
/// rank reads.
inline std::string staleness_text(int steps) {
  return "staleness:       a rank reads values that miss gradients of " +
         (steps == asynchronous ? std::string("any number of steps")
                                : "at most " + std::to_string(steps) + " steps") +
         " of the others; the seconds are those of synchronous steps\n";
}

/// Returns the report that the function `caller` returns. Error messages name this function.
inline std::string report(char const* caller, search::problem const& net,
                          search::plan const& before, search::plan const& after, machine const& m,
                          bool only_changes) {
  check_plan_of(caller, net, before);
  check_plan_of(caller, net, after);
  auto const now = explained(net, after, m), old = explained(net, before, m);
  bool const compares = !(before.choices == after.choices);
  std::string text = "synchronization: " + seconds_text(now.seconds) + " a step, " +
                     bytes_text(now.received) + " received, " + bytes_text(double(after.memory)) +
                     " of memory\n";
  if (search::is_plain_step(after, 0)) {
    auto const plain = explained(net, search::without_wires(after), m);
    text += "plain steps:     the first " + std::to_string(after.plain_steps) +
            " steps have no wires, " + seconds_text(plain.seconds) + " each, " +
            bytes_text(plain.received) + " received\n";
  }
  if (compares)
    text += "before:          " + seconds_text(old.seconds) + " a step, " +
            bytes_text(old.received) + " received, " + bytes_text(double(before.memory)) +
            " of memory\n";
  if (before.plain_steps != after.plain_steps)
    text += "plain steps:     " + std::to_string(before.plain_steps) + " before, " +
            std::to_string(after.plain_steps) + " now\n";
  if (auto const owned = balance_of(net, after); owned.most > 0)
    text += "owners:          the busiest rank owns " + std::to_string(owned.most) +
            " elements, at least " + std::to_string(owned.bound) + " in any dealing\n";
  if (search::is_stale(after)) text += staleness_text(after.staleness);
  if (search::has_delays(after)) text += delays_text(now, net.overlap);
  auto const lines = folded(now, old, only_changes);
  if (lines.empty()) return text + "no parameter differs\n";
  return text + table(lines, after.mesh);
}

}  // namespace detail

/// Returns a table of how the parameters of a plan are synchronized. Communicates nothing. Throws
/// ashlar::error if the plan is of another net.
template <int N>
std::string explain(search::basic_problem<N> const& net, search::basic_plan<N> const& chosen,
                    machine const& m) {
  auto const plan = with_capacity<search::dynamic_size>(chosen);
  return detail::report("sync::explain", any_length(net), plan, plan, m, false);
}

/// Returns the table of plan `after`, with a second line for each parameter that has another
/// strategy in the plan `before`. Communicates nothing. Errors are those of `explain`.
template <int N>
std::string explain(search::basic_problem<N> const& net, search::basic_plan<N> const& before,
                    search::basic_plan<N> const& after, machine const& m) {
  return detail::report("sync::explain", any_length(net),
                        with_capacity<search::dynamic_size>(before),
                        with_capacity<search::dynamic_size>(after), m, false);
}

/// Returns the lines of explain(net, before, after, m) for parameters whose strategy differs.
/// Communicates nothing. Throws ashlar::error if a plan is of another net.
template <int N>
std::string diff(search::basic_problem<N> const& net, search::basic_plan<N> const& before,
                 search::basic_plan<N> const& after, machine const& m) {
  return detail::report("sync::diff", any_length(net), with_capacity<search::dynamic_size>(before),
                        with_capacity<search::dynamic_size>(after), m, true);
}

}  // namespace ashlar::sync
