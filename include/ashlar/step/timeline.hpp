// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Predicts when each action of a program starts and ends if computations overlap with transfers. A
// move is a redistribution, and a transfer is one of its steps. A machine has two links: inside a
// node and between nodes.
//
//   computation   runs on the processor in the program's order
//   exchange      the processor waits while halos or rows of gradients are exchanged
//   begin_move    starts the move and does not wait; the steps of the move run one after another,
//                 each on the link of its mesh axes (transfer.hpp)
//   link          carries one transfer at a time, in the order in which moves begin
//   group         a group of ranks also runs its transfers in the order in which moves begin
//                 (comm/operation_queue.hpp)
//   end_move      waits until the last step of the move has ended
//   coding        The processor encodes and decodes the moves that have a wire (plan/wire.hpp). It
//                 encodes the first step in begin_move, and only then does the link carry it.
//                 All other coding counts in the end_move, although some of it runs earlier,
//                 between two steps of the move.
//
// The processor is idle only at an end_move and during exchanges of halos and rows. So `seconds` is
// the sum of `work` and `exposed`, where `exposed` is the idle time plus the time of coding. During
// a wait at an end_move, some link is busy all the time, because a transfer starts as soon as the
// transfers that it waits for have ended. The waiting time is charged to the moves of the transfers
// that run during the wait, and the time of coding to the move that is encoded or decoded. A move
// is never charged more than the time of its own transfers and of their coding. Hence
//
//   max(work, busiest link) <= seconds <= serial_seconds
//
// Each transfer takes as long as it would alone: the two links do not slow each other down. Sends
// to other parts of a pipeline, and receives, take no time here (pipeline/replay.hpp prices them).

#include <utility>

#include <ashlar/step/serial_seconds.hpp>
#include <ashlar/step/time_span.hpp>

namespace ashlar::search {
inline namespace step {

/// The times of a move (a redistribution), in seconds. `begin` and `arrival` count from the start
/// of the step.
///
///   busy      the sum of the seconds of its transfers and of their coding; for a bucket, only the
///             first move of the bucket has this time, and the others have 0
///   exposed   the part of `busy` during which the processor waited, for this move or a later one,
///             or encoded or decoded this move
struct move_time {
  double begin = 0, arrival = 0;
  double busy = 0, exposed = 0;
};

/// The time of a transfer: one step of a move on a link. `before` is the index of the earlier
/// transfer for whose end this transfer has waited, or -1 if it has waited for none.
struct transfer_time {
  double start = 0, end = 0;  ///< seconds since the beginning of the step
  int move = 0;               ///< index of its move; for a bucket, of the bucket's first move
  int before = -1;
  link_tier tier = link_tier::intra_node;
};

/// The times of one element of the layer chain in a step, in seconds.
struct element_time {
  double work = 0, communication = 0, exposed = 0;  ///< seconds
  constexpr double hidden() const { return communication - exposed; }
};

struct timeline {
  double seconds = 0;
  double work = 0, communication = 0, exposed = 0;
  double busy[2]{};  ///< seconds that each link is busy, indexed by link_tier
  std::vector<time_span> actions;
  std::vector<move_time> moves;
  std::vector<element_time> elements;
  std::vector<transfer_time> transfers;  ///< in the order in which their links carry them

  constexpr double hidden() const { return communication - exposed; }
  constexpr double busiest_link() const { return busy[0] > busy[1] ? busy[0] : busy[1]; }
};

namespace step_detail {

class timeline_fold {
 public:
  constexpr timeline_fold(program const& p, machine const& m) : p_(p), machine_(m) {
    made_.actions.resize(p.actions.size());
    made_.moves.resize(p.moves.size());
    made_.elements.resize(static_cast<std::size_t>(p.elements));
    last_.resize(p.moves.size(), -1);
    coding_.resize(p.moves.size());
  }

  constexpr timeline run() {
    for (int i = 0; i < static_cast<int>(p_.actions.size()); ++i) {
      action const& a = p_.actions[static_cast<std::size_t>(i)];
      time_span& when = made_.actions[static_cast<std::size_t>(i)];
      when.start = now_;
      if (a.kind == action_kind::begin_move && i >= departed_) depart(i);
      if (a.kind == action_kind::end_move) {
        wait(last_[static_cast<std::size_t>(a.move)],
             made_.moves[static_cast<std::size_t>(a.move)].arrival);
        end_coding(a.move);
      }
      if (a.halo >= 0) wait_for_group(p_.halo_of(a).axes);
      if (a.rows >= 0) wait_for_group(p_.rows_of(a).axes);
      double const exchange = a.halo_seconds + a.rows_seconds;
      now_ += exchange;
      now_ += a.seconds;
      auto& own = made_.elements[static_cast<std::size_t>(a.element)];
      own.work += a.seconds;
      made_.work += a.seconds;
      own.communication += exchange;
      made_.communication += exchange;
      own.exposed += exchange;
      made_.exposed += exchange;
      when.end = now_;
    }
    made_.seconds = now_;
    return std::move(made_);
  }

 private:
  constexpr void depart(int i) {
    auto const together = departure::at(p_, i);
    departed_ = together.end;
    int const first = p_.actions[static_cast<std::size_t>(i)].move;
    auto const& path = p_.path_of(p_.moves[static_cast<std::size_t>(first)]);
    bool const alone = p_.moves[static_cast<std::size_t>(first)].bucket < 0;
    int last = -1;
    double begin = now_, arrival = now_, busy = 0, coding = 0;
    for (int k = 0; k < path.steps.size(); ++k) {
      auto const& s = path.steps[k];
      if (!communicates(s.kind)) continue;
      auto const takes = alone ? transfer_cost{link_seconds(s, path.extents, path.element_size,
                                                            p_.mesh, machine_),
                                               coding_seconds(s, path.extents, p_.mesh, machine_)}
                               : transfer_seconds(p_, together, k, machine_);
      if (last < 0) spend_on_coding(first, takes.coding.before);
      else coding += takes.coding.before;
      coding += takes.coding.after;
      last = carry(first, s, takes.link, last);
      arrival = made_.transfers[static_cast<std::size_t>(last)].end;
      busy += takes.sum();
    }
    together.for_each_move(p_, [&](int number) {
      last_[static_cast<std::size_t>(number)] = last;
      coding_[static_cast<std::size_t>(number)] = {first, 0};
      auto& own = made_.moves[static_cast<std::size_t>(number)];
      own.begin = begin;
      own.arrival = arrival;
    });
    coding_[static_cast<std::size_t>(first)].seconds = coding;
    made_.moves[static_cast<std::size_t>(first)].busy = busy;
    made_.elements[element_of(first)].communication += busy;
    made_.communication += busy;
  }

  /// Lets the processor encode or decode what move number `move` sends.
  constexpr void spend_on_coding(int move, double seconds) {
    now_ += seconds;
    made_.moves[static_cast<std::size_t>(move)].exposed += seconds;
    made_.elements[element_of(move)].exposed += seconds;
    made_.exposed += seconds;
  }
  /// Lets the processor do all encoding and decoding that is left for `move` and the moves that
  /// began together with it.
  constexpr void end_coding(int move) {
    int const first = coding_[static_cast<std::size_t>(move)].first;
    auto& left = coding_[static_cast<std::size_t>(first)].seconds;
    spend_on_coding(first, left);
    left = 0;
  }

  /// Adds a transfer and returns its index. The transfer starts once three earlier transfers have
  /// ended: the previous step of its move, the previous transfer on its link, and the previous
  /// transfer in its group of ranks.
  constexpr int carry(int move, redistribution_step const& s, double takes, int before) {
    auto const group = set_of(s.axes);
    auto const tier = static_cast<std::size_t>(tier_of(s, p_.mesh));
    double start = now_;
    int waits_for = -1;
    for (int const other : {before, on_link_[tier], in_group_[group]})
      if (other >= 0 && made_.transfers[static_cast<std::size_t>(other)].end > start) {
        start = made_.transfers[static_cast<std::size_t>(other)].end;
        waits_for = other;
      }
    made_.transfers.push_back({start, start + takes, move, waits_for, tier_of(s, p_.mesh)});
    made_.busy[tier] += takes;
    return on_link_[tier] = in_group_[group] = static_cast<int>(made_.transfers.size()) - 1;
  }

  /// Waits until the group of ranks along `axes` has ended its earlier transfers. An exchange of
  /// halos or rows in this group begins only then.
  constexpr void wait_for_group(axis_list const& axes) {
    int const last = in_group_[set_of(axes)];
    if (last >= 0) wait(last, made_.transfers[static_cast<std::size_t>(last)].end);
  }

  /// Waits until `arrival`, when transfer `last` has ended.
  constexpr void wait(int last, double arrival) {
    if (arrival <= now_) return;
    for (int k = last; k >= 0;) {
      transfer_time const& t = made_.transfers[static_cast<std::size_t>(k)];
      if (t.end <= now_) break;
      double const exposed = t.end - (t.start > now_ ? t.start : now_);
      made_.moves[static_cast<std::size_t>(t.move)].exposed += exposed;
      made_.elements[element_of(t.move)].exposed += exposed;
      k = t.before;
    }
    made_.exposed += arrival - now_;
    now_ = arrival;
  }

  constexpr std::size_t element_of(int move) const {
    return static_cast<std::size_t>(p_.moves[static_cast<std::size_t>(move)].element);
  }

  program const& p_;
  machine const& machine_;
  timeline made_;
  std::vector<int> last_;  // last transfer of each move
  /// For a move: `first` is the first of the moves that began together with it. Only the entry of
  /// this first move has `seconds`: those of all their encoding and decoding that is left.
  struct coding_left {
    int first = 0;
    double seconds = 0;
  };
  std::vector<coding_left> coding_;  // one per move
  int on_link_[2]{-1, -1};
  std::vector<int> in_group_ = std::vector<int>(std::size_t{1} << max_axes, -1);
  int departed_ = 0;
  double now_ = 0;
};

}  // namespace step_detail

/// Returns the timeline of a program on machine `m`. It is the same on all ranks. Expects a program
/// that `check` accepts.
constexpr timeline timeline_of(program const& p, machine const& m) {
  return step_detail::timeline_fold(p, m).run();
}

}  // namespace step
}  // namespace ashlar::search
