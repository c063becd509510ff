// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Checks whether a program is correct. Every pass must return a program that this check accepts. A
// move is a redistribution, which begins and ends with separate actions. An element is a layer, or
// the begin, turn or end of a residual, skip or branch.
//
//   values       Each value is made once, before it is read, unless it exists before the step. Each
//                value is released once, after its last reader. Values that outlast the step,
//                renewed parameters and gradients of parameters are never released (release.hpp).
//   moves        Each begins once and then ends once. In between, no action releases its source or
//                adds to it. Moves of one bucket begin one right after another and have the same
//                steps.
//   computations In each micro-batch an element runs the parts of its forward pass once, in order.
//                If it is recomputed, it runs them once more after the forward pass. It computes
//                dx at most once and the gradients of its parameters at most once. Every
//                micro-batch has the same computations.
//   sums         The gradient sum of a parameter gets one addend from every micro-batch, in the
//                order of the micro-batches. No action reads a sum before its last addend. If the
//                gradient is delayed, no action of this step reads the sum. Instead, actions read
//                the pending sum, which is the sum of the previous step.
//   parameters   Each is updated once, from its own gradient, after all readers of its old value.
//                If it is updated at one placement and stored at another, the stored value is
//                replaced once: after the update and after all readers of the old stored value. In
//                a program that renews first (program::renews_first) it is replaced before the
//                update and before all readers of the new stored value.
//   ties         The gradient of a tied parameter's later use is added once to the gradient of the
//                first use, before any action reads the gradient of the first use.
//   crossings    Each send and each receive begins once and then ends once.
//   halos        An exchange of halos makes its element's x with halo, or makes the element's dx
//                from dx with halo.
//   rows         An exchange of rows makes the gradient of a parameter from its sum.
//   memory       The memory in use never exceeds the limit, if there is a limit (high_water.hpp).
//
// These rules concern one rank's program. check_order.hpp checks the programs of several ranks
// against each other.

#include <vector>

#include <ashlar/step/computed.hpp>
#include <ashlar/step/fault.hpp>
#include <ashlar/step/high_water.hpp>
#include <ashlar/step/release.hpp>
#include <ashlar/step/transfer.hpp>

namespace ashlar::search {
inline namespace step {

namespace step_detail {

class program_check {
 public:
  constexpr explicit program_check(program const& p)
      : p_(p), values_(p.values.size()), moves_(p.moves.size(), stage::none),
        crossings_(p.crossings.size(), stage::none), begun_(p.moves.size(), 0),
        done_(static_cast<std::size_t>(p.elements) * static_cast<std::size_t>(p.micro_batches)) {
    for (std::size_t v = 0; v < values_.size(); ++v) values_[v].alive = p.values[v].is_given();
    mark(value_kind::pending, value_kind::sum, &value_state::is_delayed);
    if (p.renews_first)
      mark(value_kind::renewed, value_kind::stored, &value_state::is_renewed_first);
  }

  constexpr fault run() {
    for (at_ = 0; at_ < static_cast<int>(p_.actions.size()) && !found_.found(); ++at_)
      take(p_.actions[static_cast<std::size_t>(at_)]);
    if (!found_.found()) finish();
    return found_;
  }

 private:
  struct value_state {
    bool alive = false, made = false, released = false, read = false, is_added = false;
    bool is_renewed_first = false;  ///< a stored parameter that is renewed before it is read
    bool is_delayed = false;        ///< the sum of a gradient that a later step synchronizes
    int moving = 0;                 ///< number of pending moves that read this value
    int addends = 0;  ///< addends of a sum; for a parameter: how often it was updated or replaced
  };
  enum class stage : signed char { none, begun, ended };

  /// Sets `flag` for each value of kind `what` whose parameter also has a value of kind `because`.
  constexpr void mark(value_kind because, value_kind what, bool value_state::*flag) {
    for (auto const& is : p_.values)
      for (std::size_t v = 0; is.kind == because && v < values_.size(); ++v)
        if (value const& of = p_.values[v];
            of.kind == what && of.element == is.element && of.index == is.index)
          values_[v].*flag = true;
  }

  constexpr void demand(bool right, char const* what, int value = -1, int move = -1) {
    if (!right && !found_.found()) found_ = {at_, what, value, move};
  }
  constexpr value_state& state(int v) { return values_[static_cast<std::size_t>(v)]; }

  constexpr void take(action const& a) {
    if (a.kind == action_kind::release) {
      for (int const v : a.reads) release(v);
      return;
    }
    for (int const v : a.reads) read(v);
    switch (a.kind) {
      case action_kind::begin_send:
      case action_kind::begin_receive:
      case action_kind::end_send:
      case action_kind::end_receive: cross(a); break;
      case action_kind::begin_move: begin(a); break;
      case action_kind::end_move: end(a); break;
      case action_kind::update: break;
      case action_kind::exchange_halo:
      case action_kind::add_halo: exchange(a); break;
      case action_kind::add_gradient: add_use(a); break;
      case action_kind::exchange_rows: add_rows(a); break;
      default: compute(a);
    }
    if (a.kind != action_kind::add_gradient)
      for (int const v : a.adds) add(a, v);
    for (int const v : a.makes) make(a, v);
    last_begun_ = a.kind == action_kind::begin_move ? a.move : -1;
  }

  constexpr void read(int v) {
    value_state& s = state(v);
    demand(!s.released, "reads a value that is released already", v);
    demand(s.alive, "reads a value that nothing has made yet", v);
    value const& is = p_.value_of(v);
    if (is.kind == value_kind::sum)
      demand(s.addends == p_.micro_batches, "reads an incomplete sum", v);
    demand(!s.is_delayed, "reads the sum of a delayed gradient in its own step", v);
    if (is.kind == value_kind::stored && s.is_renewed_first)
      demand(s.addends == 1, "reads a parameter that is not renewed yet", v);
    else if (is.kind == value_kind::stored)
      demand(s.addends == 0, "reads a parameter that is updated already", v);
    if (is.kind == value_kind::master && p_.renews_first)
      demand(s.addends == 0, "reads a parameter that is updated already", v);
    else if (is.kind == value_kind::master)
      demand(s.addends == 1, "reads a parameter that is not updated yet", v);
    s.read = true;
  }

  constexpr void release(int v) {
    value_state& s = state(v);
    demand(is_released(p_.value_of(v)), "releases a value that outlasts the step", v);
    demand(!s.released, "releases a value twice", v);
    demand(s.alive, "releases a value that nothing has made yet", v);
    demand(s.moving == 0, "releases a value while a transfer reads it", v);
    s.alive = false;
    s.released = true;
  }

  constexpr void make(action const& a, int v) {
    value_state& s = state(v);
    value const& is = p_.value_of(v);
    demand(!is.is_given(), "makes a value that exists before the step", v);
    demand(!s.made, "makes a value that is made already", v);
    if (computes(a.kind)) {
      demand(is.element == a.element && is.micro_batch == a.micro_batch,
             "makes a value of another element or micro-batch", v);
      demand(is.again == (a.kind == action_kind::recompute),
             is.again ? "makes a value that only a recomputation makes"
                      : "recomputes a value that is not recomputed",
             v);
    }
    s.alive = s.made = true;
    if (is.kind == value_kind::renewed) replace(is, v);
  }

  /// Checks the value `is`, which replaces the stored value of its parameter.
  constexpr void replace(value const& is, int v) {
    for (std::size_t k = 0; k < values_.size(); ++k) {
      value const& old = p_.values[k];
      if (old.kind != value_kind::stored || old.element != is.element || old.index != is.index)
        continue;
      demand(values_[k].addends == 0, "replaces a parameter that is updated already", v);
      demand(values_[k].moving == 0, "replaces a parameter while a transfer reads it", v);
      ++values_[k].addends;
    }
  }

  constexpr void add(action const& a, int v) {
    value_state& s = state(v);
    value const& is = p_.value_of(v);
    demand(s.moving == 0, "adds to a value while a transfer reads it", v);
    demand(is.element == a.element, "adds to a value of another element", v);
    if (a.kind == action_kind::update) {
      demand((is.kind == value_kind::stored || is.kind == value_kind::master) && is.index == a.part,
             "updates another parameter", v);
      demand(s.addends == 0, "updates a parameter twice", v);
      for (int const g : a.reads)
        demand(p_.value_of(g).element == is.element && p_.value_of(g).index == is.index,
               "updates a parameter from the gradient of another", g);
    } else {
      demand(is.kind == value_kind::sum, "adds to a value that is not a sum", v);
      demand(!s.read, "adds to a sum that is read already", v);
      demand(s.addends >= a.micro_batch, "adds before the addends of earlier micro-batches", v);
      demand(s.addends <= a.micro_batch, "adds a micro-batch's addend twice", v);
    }
    ++s.addends;
  }

  /// Returns whether a value is the sum of a gradient, of this step or of the previous step.
  static constexpr bool is_sum(value const& is) {
    return is.kind == value_kind::sum || is.kind == value_kind::pending;
  }
  /// Checks an action that adds the gradient of a tied parameter's later use to that of the first
  /// use.
  constexpr void add_use(action const& a) {
    demand(a.reads.size() == 1 && a.adds.size() == 1, "adds other than one gradient to one");
    if (found_.found()) return;
    int const from = a.reads[0], to = a.adds[0];
    value_state &s = state(to), &addend = state(from);
    value const &is = p_.value_of(to), &added = p_.value_of(from);
    demand(added.kind == value_kind::addend || is_sum(added),
           "adds a value that is no gradient of a later use", from);
    demand(is.kind == value_kind::gradient || is_sum(is), "adds to a value that is no gradient",
           to);
    demand(is.element == a.element && is.index == a.part, "adds to the gradient of another", to);
    demand(s.alive, "adds to a value that nothing has made yet", to);
    demand(is.kind != value_kind::sum || s.addends == p_.micro_batches, "adds to an incomplete sum",
           to);
    demand(!s.read, "adds to a gradient that is read already", to);
    demand(s.moving == 0, "adds to a value while a transfer reads it", to);
    demand(!addend.is_added, "adds the gradient of a later use twice", from);
    addend.is_added = true;
  }

  constexpr void begin(action const& a) {
    demand(moves_[static_cast<std::size_t>(a.move)] == stage::none, "begins a move twice", -1,
           a.move);
    program_move const& m = p_.move_of(a);
    demand(a.reads.size() == 1 && a.reads[0] == m.from, "begins a move of another value", m.from,
           a.move);
    moves_[static_cast<std::size_t>(a.move)] = stage::begun;
    ++state(m.from).moving;
    if (m.bucket >= 0) begin_bucket(a, m);
  }
  constexpr void begin_bucket(action const& a, program_move const& m) {
    program_move const* before = last_begun_ >= 0 ? &p_.moves[static_cast<std::size_t>(last_begun_)]
                                                  : nullptr;
    bool const goes_on = before != nullptr && before->bucket == m.bucket;
    demand(m.bucket < static_cast<int>(begun_.size()), "has a bucket number that is too high", -1,
           a.move);
    if (found_.found()) return;
    demand(goes_on || !begun_[static_cast<std::size_t>(m.bucket)],
           "begins a move apart from the others of its bucket", -1, a.move);
    demand(!goes_on || travel_together(p_.path_of(*before), p_.path_of(m)),
           "puts moves of different steps into one bucket", -1, a.move);
    begun_[static_cast<std::size_t>(m.bucket)] = true;
  }

  constexpr void end(action const& a) {
    stage& s = moves_[static_cast<std::size_t>(a.move)];
    demand(s != stage::none, "ends a move that has not begun", -1, a.move);
    demand(s != stage::ended, "ends a move twice", -1, a.move);
    program_move const& m = p_.move_of(a);
    demand(a.makes.size() == 1 && a.makes[0] == m.to, "ends a move with another value", m.to,
           a.move);
    if (s == stage::begun) --state(m.from).moving;
    s = stage::ended;
  }

  constexpr void cross(action const& a) {
    auto const index = static_cast<std::size_t>(a.crossing);
    program_crossing const& c = p_.crossings[index];
    bool const begins = a.kind == action_kind::begin_send || a.kind == action_kind::begin_receive;
    demand(c.is_send == (a.kind == action_kind::begin_send || a.kind == action_kind::end_send),
           "sends what it receives, or receives what it sends", c.value);
    demand(crossings_[index] == (begins ? stage::none : stage::begun),
           begins ? "begins a crossing twice" : "ends a crossing that is not under way", c.value);
    crossings_[index] = begins ? stage::begun : stage::ended;
    auto const& touched = c.is_send ? a.reads : a.makes;
    int const expected = c.is_send || !begins ? 1 : 0;
    demand(touched.size() == expected && (expected == 0 || touched[0] == c.value),
           "sends or receives another value", c.value);
  }

  /// Checks an exchange of halos: x becomes x with its halo, or dx with its halo becomes dx.
  constexpr void exchange(action const& a) {
    bool const back = a.kind == action_kind::add_halo;
    demand(a.reads.size() == 1 && a.makes.size() == 1, "exchanges a halo of several values");
    if (found_.found()) return;
    value const &from = p_.value_of(a.reads[0]), &to = p_.value_of(a.makes[0]);
    demand(to.kind == (back ? value_kind::dx : value_kind::x_halo) && to.element == a.element &&
               to.micro_batch == a.micro_batch,
           "exchanges a halo into another value", a.makes[0]);
    demand(!back || (from.kind == value_kind::dx_halo && from.element == a.element &&
                     from.micro_batch == a.micro_batch),
           "adds the halo of another gradient", a.reads[0]);
  }

  /// Checks an exchange of rows, which makes a parameter's gradient from its sum.
  constexpr void add_rows(action const& a) {
    demand(a.reads.size() == 1 && a.makes.size() == 1, "exchanges the rows of several values");
    if (found_.found()) return;
    value const &from = p_.value_of(a.reads[0]), &to = p_.value_of(a.makes[0]);
    demand(from.kind == value_kind::sum && from.element == a.element && from.index == a.part,
           "exchanges the rows of a value that is not the parameter's sum", a.reads[0]);
    demand(to.kind == value_kind::gradient && to.element == a.element && to.index == a.part,
           "exchanges rows into another value than the parameter's gradient", a.makes[0]);
  }

  constexpr void compute(action const& a) {
    bool last = false;  // a forward pass makes y in its last part
    for (int const v : a.makes) last = last || p_.value_of(v).kind == value_kind::y;
    if (auto const* wrong = done(a.element, a.micro_batch).take(a, last)) demand(false, wrong);
  }
  constexpr computed& done(int element, int micro_batch) {
    return done_[static_cast<std::size_t>(micro_batch) * static_cast<std::size_t>(p_.elements) +
                 static_cast<std::size_t>(element)];
  }

  /// Checks that moves and crossings have ended, that values are made, complete and released, and
  /// that all micro-batches have the same computations.
  constexpr void finish() {
    for (std::size_t k = 0; k < moves_.size(); ++k) {
      demand(moves_[k] != stage::none, "never begins a move", -1, static_cast<int>(k));
      demand(moves_[k] == stage::ended, "never ends a move", -1, static_cast<int>(k));
    }
    for (std::size_t k = 0; k < crossings_.size(); ++k)
      demand(crossings_[k] == stage::ended, "never ends a crossing", p_.crossings[k].value);
    for (std::size_t k = 0; k < values_.size(); ++k) {
      value_state const& s = values_[k];
      value const& is = p_.values[k];
      int const v = static_cast<int>(k);
      demand(is.is_given() || s.made, "never makes a value", v);
      demand(!is_released(is) || s.released, "never releases a value", v);
      demand(is.kind != value_kind::sum || s.addends == p_.micro_batches, "omits addends of a sum",
             v);
      bool const is_updated = is.kind == value_kind::stored || is.kind == value_kind::master;
      demand(!is_updated || s.addends == 1, "never updates a parameter", v);
      demand((!is_sum(is) && is.kind != value_kind::addend) || s.is_delayed || s.read,
             "never uses a gradient", v);
    }
    for (int b = 1; b < p_.micro_batches; ++b)
      for (int i = 0; i < p_.elements; ++i)
        demand(done(i, b) == done(i, 0), "does not compute the same in every micro-batch");
  }

  program const& p_;
  std::vector<value_state> values_;
  std::vector<stage> moves_, crossings_;
  std::vector<int> begun_;  // per bucket: whether it has begun
  // The move that the previous action begins (releases do not count), or -1.
  int last_begun_ = -1;
  std::vector<computed> done_;
  fault found_;
  int at_ = 0;
};

}  // namespace step_detail

/// Returns the first wrong action of a program. If the program obeys the rules at the top of this
/// file, the result has no fault. `limit` is the most memory that a rank may use, in bytes; 0 means
/// no limit. The check takes time proportional to the number of actions. Each parameter that is
/// delayed or renewed adds time proportional to the number of values.
constexpr fault check(program const& p, std::int64_t limit = 0) {
  fault found = step_detail::program_check(p).run();
  if (found.found() || limit <= 0) return found;
  auto const most = high_water(p);
  if (most.peak > limit) found = {most.fullest, "holds more memory than the limit allows", -1, -1};
  return found;
}

}  // namespace step
}  // namespace ashlar::search
