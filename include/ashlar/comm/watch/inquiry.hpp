// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds out why a rank waits: its watchdog asks the watchdogs of all ranks for their last
// operations. They answer while their programs compute or wait. A rank that does not answer within
// a second is silent. For example, its process may be stopped or may have ended.
//
// The answers tell whether this rank should keep waiting because another rank does long work
// (comm/long_work.hpp). They also tell whether a rank with a lower number reports the wait instead
// of this rank, and what the report says (diagnosis.hpp). watchdog.hpp decides when to ask, and
// what to do then.

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <ashlar/comm/watch/peer_socket.hpp>
#include <ashlar/comm/watch/settings.hpp>
#include <ashlar/config.hpp>
#include <ashlar/mesh/rank_report.hpp>
#include <ashlar/mesh/topology.hpp>

namespace ashlar::watch {

class inquiry {
 public:
  /// A function that waits for one message for at most the given time. If the message is an answer,
  /// the function passes it to add_answer.
  using receiver = std::function<void(std::chrono::milliseconds)>;

  /// All arguments must outlive this object.
  inquiry(topology const& t, settings const& s, peer_socket const& socket)
      : shape_(t), wanted_(s), socket_(socket) {}

  /// Asks all ranks for their reports, and waits for the answers for up to a second. Returns early
  /// if `is_done` becomes true. `own` is the report of this rank.
  void ask(rank_report const& own, receiver const& receive, std::atomic<bool> const& is_done);
  /// Keeps the answer of a rank if ask() has been called since the last forget(). `lines` is the
  /// rank's report as text.
  void add_answer(int rank, std::string const& lines);
  /// Drops the answers. Answers that come later are not kept.
  void forget() { answers_.clear(); }

  /// Returns the lowest rank that has waited for too long, if it is lower than this rank, or -1.
  int lower_reporter() const;
  /// Returns whether this rank, which has waited for `waits` seconds, should keep waiting. After
  /// ten timeouts, the result is false. Before that, it is true if any rank does long work and has
  /// not itself waited for half a timeout. It is also true if the mesh has other hosts and none of
  /// their ranks answers, because such a rank may do long work of which this rank cannot know.
  bool must_wait_on(double waits) const;
  /// Returns the diagnosis of the answers, and writes the flight record (record_file.hpp). `why` is
  /// what the caller knows about the cause, or empty; the flight record contains it if the answers
  /// give no diagnosis. `waits` is the number of seconds for which this rank has waited.
  std::string findings(std::string const& why, double waits) const;

 private:
  bool has_answered(int rank) const {
    return !answers_[static_cast<std::size_t>(rank)].host.empty();
  }
  bool all_answered() const;
  double timeout() const { return std::chrono::duration<double>(wanted_.timeout).count(); }

  topology const& shape_;
  settings const& wanted_;
  peer_socket const& socket_;
  int rank_ = 0;                      // this rank, which asks
  std::vector<rank_report> answers_;  // the reports of all ranks; empty if nothing was asked
};

}  // namespace ashlar::watch

#if ASHLAR_DEFINES(COMM)
#include <ashlar/comm/watch/diagnosis.hpp>
#include <ashlar/comm/watch/record_file.hpp>

namespace ashlar::watch {

ASHLAR_INLINE bool inquiry::all_answered() const {
  for (int r = 0; r < shape_.ranks(); ++r)
    if (!has_answered(r)) return false;
  return true;
}

ASHLAR_INLINE void inquiry::ask(rank_report const& own, receiver const& receive,
                                std::atomic<bool> const& is_done) {
  using clock = std::chrono::steady_clock;
  using milliseconds = std::chrono::milliseconds;
  int const ranks = shape_.ranks();
  rank_ = own.rank;
  answers_.assign(static_cast<std::size_t>(ranks), {});
  answers_[static_cast<std::size_t>(rank_)] = own;
  for (int attempt = 0; attempt < 4 && !all_answered() && !is_done; ++attempt) {
    for (int r = 0; r < ranks; ++r)
      if (!has_answered(r)) socket_.send(r, peer_socket::kind::question);
    auto const end = clock::now() + milliseconds(250);
    while (!all_answered() && clock::now() < end && !is_done) receive(milliseconds(20));
  }
  auto const& contacts = socket_.ranks();
  for (int r = 0; r < ranks; ++r) {
    auto& a = answers_[static_cast<std::size_t>(r)];
    a.rank = r;
    if (a.host.empty())
      a.silence = state_of_process(contacts[static_cast<std::size_t>(r)],
                                   contacts[static_cast<std::size_t>(rank_)]);
  }
}

ASHLAR_INLINE void inquiry::add_answer(int rank, std::string const& lines) {
  if (answers_.empty()) return;
  auto& place = answers_[static_cast<std::size_t>(rank)];
  place = report_from_lines(lines);
  place.rank = rank;
}

ASHLAR_INLINE int inquiry::lower_reporter() const {
  for (int r = 0; r < rank_; ++r)
    if (answers_[static_cast<std::size_t>(r)].waits >= timeout()) return r;
  return -1;
}

ASHLAR_INLINE bool inquiry::must_wait_on(double waits) const {
  auto const& contacts = socket_.ranks();
  int working = 0, remote = 0, silent = 0;
  for (auto const& a : answers_) {
    working += !a.work.empty() && a.waits < timeout() / 2;
    auto const host = contacts[static_cast<std::size_t>(a.rank)].host;
    if (host == contacts[static_cast<std::size_t>(rank_)].host) continue;
    ++remote;
    silent += !a.silence.empty();
  }
  // If no other host answers, the reason may be that the network does not carry the questions.
  bool const is_cut_off = remote > 0 && silent == remote;
  return waits < 10 * timeout() && (working > 0 || is_cut_off);
}

ASHLAR_INLINE std::string inquiry::findings(std::string const& why, double waits) const {
  std::string text = diagnose(shape_, answers_);
  if (text.empty() && why.empty())
    text = "Rank " + std::to_string(rank_) + " has waited for " + waited_text(waits) +
           " outside of transfers.";
  auto const file = write_flight_file(wanted_.folder, rank_,
                                      flight_text(shape_, text.empty() ? why : text, answers_));
  if (!text.empty()) text += ' ';
  text += "ASHLAR_TIMEOUT sets the seconds after which this is said, or off.";
  return file.empty() ? text : text + ' ' + file;
}

}  // namespace ashlar::watch
#endif
