// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a program on two ranks in all possible interleavings of the ranks' actions. The explorer
// does not use the rules of check.hpp. It computes with symbols instead of tensors, and compares
// the final symbols with those of a reference program. Both ranks are in the group of every axis.
// Each group performs its transfers one after another. A ticket is a rank's place in the queue of a
// group.
//
//   computation   sets its values to symbols of its inputs; the values must not exist yet
//   adds          appends to the symbol, so that the number and the order of addends matter
//   begin_move    lends its source to the transfer, so that no action may release or change the
//                 source, and takes a ticket of its group for every step that communicates
//   a step ends   at any time after both ranks have its ticket, the earlier tickets of its group
//                 have ended, and the earlier steps of the move have ended
//   end_move      waits for the last step, then sets the target to the symbol of both ranks' data
//   halo          takes a ticket and waits until both ranks have it, then sets its value to a symbol
//                 of its input
//
// A run is wrong in each of these cases:
// - It reads a value that does not exist, or creates or releases a value twice.
// - It changes or releases a value during its transfer.
// - The tickets of the two ranks at the same place in a queue belong to different steps or moves.
// - There is a deadlock.
// - A value is left over at the end.
// - A parameter, sum or gradient has a different symbol than in the reference program.

#include <cstdint>
#include <set>
#include <vector>

#include "step_programs.hpp"

namespace ashlar_test {

/// Returns the stored parameter that value v replaces, or -1 if it replaces none.
inline int replaced_by(search::program const& p, int v) {
  auto const& is = p.value_of(v);
  for (std::size_t k = 0; is.kind == search::value_kind::renewed && k < p.values.size(); ++k)
    if (p.values[k].kind == search::value_kind::stored && p.values[k].element == is.element &&
        p.values[k].index == is.index)
      return static_cast<int>(k);
  return -1;
}

class explorer {
 public:
  /// Runs `first` and `second` on the two ranks. Both have the values and moves of `reference`, but
  /// may have other actions.
  explorer(search::program const& reference, search::program const& first,
           search::program const& second)
      : reference_(reference), programs_{&first, &second} {
    for (int r = 0; r < 2; ++r) {
      tickets_[r].resize(groups);
      for (auto const& a : programs_[r]->actions) {
        if (a.halo >= 0) tickets_[r][group_of(a)].push_back({halo_ticket(a), 0});
        if (a.kind == search::action_kind::begin_move) {
          auto const& steps = reference_.path_of(reference_.move_of(a)).steps;
          for (int k = 0; k < steps.size(); ++k)
            if (communicates(steps[k].kind)) tickets_[r][group_of(steps[k])].push_back({a.move, k});
        }
      }
    }
  }

  /// Explores all interleavings. Returns a description of what goes wrong in one interleaving, or
  /// an empty text. `right` holds the symbols that must exist at the end, as symbols() returns
  /// them.
  std::string explore(std::vector<std::uint64_t> const& right) {
    std::vector<state> open{initial()};
    seen_.insert(key_of(open[0]));
    while (!open.empty() && wrong_.empty()) {
      state const s = open.back();
      open.pop_back();
      bool goes_on = false;
      auto const next = [&](state const& t) {
        goes_on = true;
        if (wrong_.empty() && seen_.insert(key_of(t)).second) open.push_back(t);
      };
      for (int r = 0; r < 2; ++r)
        if (can_act(s, r)) {
          state t = s;
          act(t, r);
          next(t);
        }
      for (unsigned g = 0; g < groups && wrong_.empty(); ++g)
        if (can_end(s, g)) {
          state t = s;
          for (int r = 0; r < 2; ++r) {
            auto const& over = tickets_[r][g][static_cast<std::size_t>(s.ended[g])];
            if (over.move >= 0)
              t.rank[r].steps[static_cast<std::size_t>(over.move)] = over.step + 1;
          }
          ++t.ended[g];
          next(t);
        }
      if (!goes_on && wrong_.empty()) finish(s, right);
    }
    return wrong_;
  }

  /// Returns the symbols that exist at the end if program p runs on both ranks, or an empty list if
  /// that run goes wrong.
  static std::vector<std::uint64_t> symbols(search::program const& p) {
    explorer self(p, p, p);
    self.keep_ = true;
    if (auto const wrong = self.explore({}); !wrong.empty()) return {};
    return self.kept_;
  }

 private:
  static constexpr unsigned groups = 8;  // subsets of three axes
  struct ticket {
    int move, step;
  };
  struct cell {
    bool alive = false;
    int held = 0;  // number of pending transfers that read the value
    std::uint64_t symbol = 0;
  };
  struct rank_state {
    std::size_t at = 0;
    std::vector<cell> values;
    std::vector<int> steps;          // by move: the number of steps that have ended
    std::vector<signed char> moves;  // by move: 0, begun or ended
    std::vector<std::uint64_t> sent;
    int taken[groups]{};
  };
  struct state {
    rank_state rank[2];
    int ended[groups]{};
  };

  static unsigned group_of(ashlar::axis_list const& axes) {
    unsigned set = 0;
    for (auto const a : axes) set |= 1u << a;
    return set;
  }
  static unsigned group_of(ashlar::redistribution_step const& s) { return group_of(s.axes); }
  unsigned group_of(search::action const& halo) const {
    return group_of(reference_.halo_of(halo).axes);
  }
  /// Returns a negative number that stands for an exchange of halos, as indices stand for moves.
  static int halo_ticket(search::action const& a) { return -1 - a.makes[0]; }
  /// Returns whether the next action of rank r exchanges halos in group g.
  bool waits_in(state const& s, int r, unsigned g) const {
    auto const& own = s.rank[r];
    if (own.at == programs_[r]->actions.size()) return false;
    auto const& a = programs_[r]->actions[own.at];
    return a.halo >= 0 && group_of(a) == g;
  }
  static std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    return (a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2))) * 1099511628211ull;
  }
  void say(bool wrong, char const* what) {
    if (wrong && wrong_.empty()) wrong_ = what;
  }

  state initial() const {
    state s;
    for (auto& rank : s.rank) {
      rank.values.resize(reference_.values.size());
      for (std::size_t v = 0; v < rank.values.size(); ++v)
        if (reference_.values[v].is_given()) rank.values[v] = {true, 0, mixed(17, v)};
      rank.steps.resize(reference_.moves.size());
      rank.moves.resize(reference_.moves.size());
      rank.sent.resize(reference_.moves.size());
    }
    return s;
  }
  /// Returns a key that identifies a state of the exploration: how many actions each rank has run,
  /// and how many transfers of each group have ended. These numbers determine all other members.
  static std::vector<int> key_of(state const& s) {
    std::vector<int> key{static_cast<int>(s.rank[0].at), static_cast<int>(s.rank[1].at)};
    key.insert(key.end(), s.ended, s.ended + groups);
    return key;
  }

  int next_step(int move, int step) const {
    auto const& steps = reference_.path_of(reference_.moves[static_cast<std::size_t>(move)]).steps;
    while (step < steps.size() && !communicates(steps[step].kind)) ++step;
    return step;
  }
  bool can_act(state const& s, int r) const {
    auto const& own = s.rank[r];
    if (own.at == programs_[r]->actions.size()) return false;
    auto const& a = programs_[r]->actions[own.at];
    if (a.halo >= 0) return s.ended[group_of(a)] > own.taken[group_of(a)];
    if (a.kind != search::action_kind::end_move) return true;
    auto const k = static_cast<std::size_t>(a.move);
    auto const& steps = reference_.path_of(reference_.moves[k]).steps;
    return own.moves[k] != 0 && next_step(a.move, own.steps[k]) == steps.size();
  }
  bool can_end(state const& s, unsigned g) {
    auto const n = static_cast<std::size_t>(s.ended[g]);
    for (int r = 0; r < 2; ++r)
      if (s.rank[r].taken[g] + (waits_in(s, r, g) ? 1 : 0) <= s.ended[g]) return false;
    auto const &a = tickets_[0][g][n], &b = tickets_[1][g][n];
    say(a.move != b.move || a.step != b.step, "tickets of different moves meet");
    for (int r = 0; r < 2; ++r) {
      auto const& t = tickets_[r][g][n];
      if (t.move < 0) continue;
      if (next_step(t.move, s.rank[r].steps[static_cast<std::size_t>(t.move)]) != t.step)
        return false;
    }
    return true;
  }

  void act(state& s, int r) {
    auto& own = s.rank[r];
    auto const& a = programs_[r]->actions[own.at++];
    auto const at = [&](int v) -> cell& { return own.values[static_cast<std::size_t>(v)]; };
    auto const k = static_cast<std::size_t>(a.move < 0 ? 0 : a.move);
    for (int const v : a.reads) say(!at(v).alive, "a value that does not exist");
    std::uint64_t symbol = mixed(static_cast<std::uint64_t>(a.kind == search::action_kind::recompute
                                                                ? search::action_kind::forward
                                                                : a.kind),
                                 static_cast<std::uint64_t>(a.element * 8 + a.part));
    for (int const v : a.reads) symbol = mixed(symbol, at(v).symbol);
    switch (a.kind) {
      case search::action_kind::release:
        for (int const v : a.reads) {
          say(at(v).held > 0, "a value released while a transfer has it");
          say(!at(v).alive, "a value that does not exist");
          at(v).alive = false;
        }
        return;
      case search::action_kind::begin_move:
        say(own.moves[k] != 0, "a move that begins twice");
        own.moves[k] = 1;
        own.sent[k] = at(a.reads[0]).symbol;
        ++at(a.reads[0]).held;
        for (auto const& step : reference_.path_of(reference_.move_of(a)).steps)
          if (communicates(step.kind)) ++own.taken[group_of(step)];
        return;
      case search::action_kind::end_move: {
        say(own.moves[k] != 1, "a move that ends twice");
        own.moves[k] = 2;
        --at(reference_.move_of(a).from).held;
        bool const local = reference_.path_of(reference_.move_of(a)).is_local();
        symbol = mixed(mixed(own.sent[k], local ? own.sent[k] : s.rank[1 - r].sent[k]),
                       static_cast<std::uint64_t>(reference_.move_of(a).path));
        break;
      }
      case search::action_kind::exchange_halo:
      case search::action_kind::add_halo: ++own.taken[group_of(a)]; break;
      default: break;
    }
    for (int const v : a.adds) {
      say(at(v).held > 0, "a value changed while a transfer has it");
      at(v).symbol = mixed(at(v).symbol, symbol);
    }
    for (int const v : a.makes) {
      if (int const old = replaced_by(reference_, v); old >= 0) {
        say(at(old).held > 0, "a value replaced while a transfer has it");
        at(old).symbol = mixed(at(old).symbol, symbol);
      }
      say(at(v).alive, "a value made twice");
      at(v) = {true, 0, mixed(symbol, static_cast<std::uint64_t>(reference_.value_of(v).kind))};
    }
  }

  void finish(state const& s, std::vector<std::uint64_t> const& right) {
    std::vector<std::uint64_t> found;
    for (int r = 0; r < 2; ++r) {
      say(s.rank[r].at != programs_[r]->actions.size(), "no action can proceed");
      for (auto const m : s.rank[r].moves) say(m == 1, "a move that does not end");
      for (std::size_t v = 0; v < s.rank[r].values.size(); ++v) {
        auto const& c = s.rank[r].values[v];
        if (is_released(reference_.values[v])) say(c.alive, "a value left alive");
        else found.push_back(c.symbol);
      }
    }
    if (keep_) kept_ = found;
    else say(found != right, "another result");
  }

  search::program const& reference_;
  search::program const* programs_[2];
  std::vector<std::vector<ticket>> tickets_[2];
  std::set<std::vector<int>> seen_;
  std::string wrong_;
  bool keep_ = false;
  std::vector<std::uint64_t> kept_;
};

}  // namespace ashlar_test
