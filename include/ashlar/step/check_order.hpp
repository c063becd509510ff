// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Checks whether the programs of several ranks of one mesh can run together. Each program must be
// correct by itself (check.hpp). A move is a redistribution, and a transfer is one of its steps.
//
//   one order     All programs begin the transfers of each communication group in the same order.
//                 Each group has a queue. When a move begins, each of its communicating steps takes
//                 a ticket in the queue of its group. The tickets determine the order
//                 (comm/operation_queue.hpp).
//   no deadlock   All programs reach their ends in a simulation. There, a rank runs until it comes
//                 to the end_move of a move that has not ended. A transfer ends as soon as three
//                 things have happened: all ranks have begun it, the previous step of its move has
//                 ended, and the previous transfer of its group has ended. An exchange of halos or
//                 of rows is a transfer too. A rank that begins such an exchange waits until it has
//                 ended.
//
// One simulated run is enough, because the end of a transfer never prevents another transfer from
// ending.

#include <span>
#include <vector>

#include <ashlar/step/check.hpp>

namespace ashlar::search {
inline namespace step {

/// The first wrong action among the programs of several ranks.
struct order_fault {
  int which = -1;  ///< index of the wrong program, or -1 without a fault
  int action = -1;
  char const* what = "";

  constexpr bool found() const { return which >= 0; }
};

namespace step_detail {

/// Returns whether an action exchanges halos or rows with other ranks.
constexpr bool exchanges(program const& p, action const& a) {
  return a.halo >= 0 || (a.rows >= 0 && p.rows_of(a).members > 1);
}

/// The transfers of a program. For each group of ranks, the list has one entry (a ticket) per
/// transfer in this group. The entries are in the order in which these transfers run.
struct ticket_list {
  struct ticket {
    int action;  ///< the begin_move or the exchange that takes the ticket
    int move;    ///< index of the move, or -1 for an exchange of halos or rows
    int step;    ///< index of the step in the move's plan
  };
  std::vector<std::vector<ticket>> groups = std::vector<std::vector<ticket>>(std::size_t{1}
                                                                             << max_axes);

  constexpr explicit ticket_list(program const& p) {
    for (int i = 0; i < static_cast<int>(p.actions.size()); ++i) {
      action const& a = p.actions[static_cast<std::size_t>(i)];
      if (exchanges(p, a))
        groups[set_of(a.halo >= 0 ? p.halo_of(a).axes : p.rows_of(a).axes)].push_back({i, -1, 0});
      if (a.kind != action_kind::begin_move) continue;
      auto const& steps = p.path_of(p.move_of(a)).steps;
      for (int k = 0; k < steps.size(); ++k)
        if (communicates(steps[k].kind)) groups[set_of(steps[k].axes)].push_back({i, a.move, k});
    }
  }
};

/// Returns whether ticket s of program a and ticket t of program b stand for the same transfer.
constexpr bool same_transfer(program const& a, ticket_list::ticket const& s, program const& b,
                             ticket_list::ticket const& t) {
  if (s.move < 0 || t.move < 0) {
    auto const &h = a.actions[static_cast<std::size_t>(s.action)],
               &i = b.actions[static_cast<std::size_t>(t.action)];
    return s.move == t.move && h.kind == i.kind && h.phase == i.phase && h.element == i.element &&
           h.part == i.part && h.micro_batch == i.micro_batch &&
           (h.halo >= 0 ? a.halo_of(h) == b.halo_of(i) : a.rows_of(h) == b.rows_of(i));
  }
  auto const &m = a.moves[static_cast<std::size_t>(s.move)],
             &n = b.moves[static_cast<std::size_t>(t.move)];
  return s.step == t.step && m.phase == n.phase && m.element == n.element && m.what == n.what &&
         m.index == n.index && m.micro_batch == n.micro_batch && m.bucket == n.bucket &&
         a.path_of(m) == b.path_of(n);
}

/// Simulates the programs of several ranks side by side. Their lists of tickets must be equal.
class order_run {
 public:
  constexpr explicit order_run(std::span<program const> programs)
      : programs_(programs), at_(programs.size(), 0) {
    for (auto const& p : programs) {
      tickets_.emplace_back(p);
      ended_.emplace_back(p.moves.size(), 0);
      begun_.emplace_back(p.moves.size(), false);
      exchange_ended_.emplace_back(p.actions.size(), false);
    }
    over_.resize(tickets_[0].groups.size(), 0);
  }

  /// Runs the simulation. Returns the first program that waits forever, or no fault if all programs
  /// reach their ends.
  constexpr order_fault run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t r = 0; r < programs_.size(); ++r) moved = advance(r) || moved;
      moved = transfer() || moved;
    }
    for (std::size_t r = 0; r < programs_.size(); ++r)
      if (at_[r] < programs_[r].actions.size())
        return {static_cast<int>(r), static_cast<int>(at_[r]), "waits forever"};
    return {};
  }

 private:
  /// Returns the index of the first communicating step of a move, from index `step` on. Returns the
  /// number of steps if no such step is left.
  constexpr int through_local(std::size_t r, int move, int step) const {
    auto const& steps =
        programs_[r].path_of(programs_[r].moves[static_cast<std::size_t>(move)]).steps;
    while (step < steps.size() && !communicates(steps[step].kind)) ++step;
    return step;
  }
  constexpr bool is_over(std::size_t r, int move) const {
    auto const& p = programs_[r];
    int const steps = p.path_of(p.moves[static_cast<std::size_t>(move)]).steps.size();
    return through_local(r, move, ended_[r][static_cast<std::size_t>(move)]) == steps;
  }

  constexpr bool advance(std::size_t r) {
    auto const& actions = programs_[r].actions;
    std::size_t const before = at_[r];
    for (; at_[r] < actions.size(); ++at_[r]) {
      action const& a = actions[at_[r]];
      if (a.kind == action_kind::begin_move) begun_[r][static_cast<std::size_t>(a.move)] = true;
      if (a.kind == action_kind::end_move && !is_over(r, a.move)) break;
      if (exchanges(programs_[r], a) && !exchange_ended_[r][at_[r]]) break;
    }
    return at_[r] != before;
  }

  constexpr bool transfer() {
    bool moved = false;
    for (std::size_t g = 0; g < over_.size(); ++g)
      while (over_[g] < tickets_[0].groups[g].size() && can_end(g)) {
        for (std::size_t r = 0; r < programs_.size(); ++r) {
          auto const& t = tickets_[r].groups[g][over_[g]];
          if (t.move < 0) exchange_ended_[r][static_cast<std::size_t>(t.action)] = true;
          else ended_[r][static_cast<std::size_t>(t.move)] = t.step + 1;
        }
        ++over_[g];
        moved = true;
      }
    return moved;
  }
  constexpr bool can_end(std::size_t g) const {
    for (std::size_t r = 0; r < programs_.size(); ++r) {
      auto const& t = tickets_[r].groups[g][over_[g]];
      if (t.move < 0) {
        if (at_[r] != static_cast<std::size_t>(t.action)) return false;
        continue;
      }
      auto const move = static_cast<std::size_t>(t.move);
      if (!begun_[r][move] || through_local(r, t.move, ended_[r][move]) != t.step) return false;
    }
    return true;
  }

  std::span<program const> programs_;
  std::vector<ticket_list> tickets_;
  std::vector<std::size_t> at_;          // current action of each program
  std::vector<std::vector<int>> ended_;  // number of ended steps of each program's moves
  std::vector<std::vector<int>> begun_;
  std::vector<std::vector<int>> exchange_ended_;  // per action: whether its exchange has ended
  std::vector<std::size_t> over_;                 // number of ended transfers of each group
};

}  // namespace step_detail

/// Returns the first action that prevents the programs from running together, or no fault. Expects
/// programs that `check` accepts.
constexpr order_fault check_order(std::span<program const> programs) {
  if (programs.size() < 2) return {};
  std::vector<step_detail::ticket_list> tickets;
  for (auto const& p : programs) tickets.emplace_back(p);
  order_fault first;
  for (std::size_t r = 1; r < programs.size(); ++r) {
    for (std::size_t g = 0; g < tickets[0].groups.size(); ++g) {
      auto const &own = tickets[r].groups[g], &other = tickets[0].groups[g];
      std::size_t k = 0;
      while (k < own.size() && k < other.size() &&
             step_detail::same_transfer(programs[r], own[k], programs[0], other[k]))
        ++k;
      if (k == own.size() && k == other.size()) continue;
      int const at = k < own.size() ? own[k].action : static_cast<int>(programs[r].actions.size());
      if (!first.found() || at < first.action)
        first = {static_cast<int>(r), at,
                 "begins a transfer out of order within its group of ranks"};
    }
    if (first.found()) return first;
  }
  return step_detail::order_run(programs).run();
}

}  // namespace step
}  // namespace ashlar::search
