// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The watchdog of a mesh: a thread of each rank that notices when its program waits for too long.
// The watchdog finds out why, and ends the job with a message, so that no job hangs silently. It
// never calls MPI.
//
//   1  The program's thread has waited for the timeout while no operation began or ended.
//   2  The watchdog asks the watchdogs of all ranks for their last operations (inquiry.hpp). If
//      any rank says that it does long work, the watchdog looks again after another timeout.
//   3  If a rank with a lower number answers that it has waited for too long too, that rank
//      reports.
//   4  The watchdog prints a paragraph that says who waits for whom (diagnosis.hpp), and writes a
//      flight record with the last operations of all ranks (record_file.hpp).
//   5  The watchdog tells the other ranks to end, and ends its own process with exit status 1. A
//      launcher such as mpirun then ends the rest. With ASHLAR_TIMEOUT=...,warn the rank keeps
//      waiting instead.
//
// On a device, step 1 is done by the transport's own watchdog (nccl/watchdog.hpp). It calls
// explain() of this watchdog, which carries out steps 2 to 4, but returns the paragraph instead of
// printing it.
//
// The watchdog also ends the job as soon as the next rank of the same host is killed
// (neighbour.hpp), and says what its own rank was doing then. A rank that destroys its mesh or
// finalizes MPI says so first (membership.hpp). From then on, its own watchdog ignores the end of
// other ranks.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ashlar/comm/watch/flight_record.hpp>
#include <ashlar/comm/watch/peer_socket.hpp>
#include <ashlar/comm/watch/settings.hpp>
#include <ashlar/config.hpp>
#include <ashlar/support/fork_watch.hpp>

namespace ashlar::watch {

class watchdog {
 public:
  /// Opens the socket. `record` must outlive this object. `is_one_host` tells whether all ranks of
  /// the mesh are on one host.
  watchdog(flight_record& record, topology const& t, settings const& s, bool is_one_host);
  watchdog(watchdog const&) = delete;
  watchdog& operator=(watchdog const&) = delete;
  /// In a child process (support/fork_watch.hpp), which has no copy of the thread, keeps the state
  /// forever.
  ~watchdog();

  /// Returns the port of the socket, which is a part of this rank's contact (contact.hpp).
  int port() const;

  /// Asks the other ranks why this rank waits, and writes a flight record. Returns sentences that
  /// state the causes and name the file. Returns std::nullopt if the caller should keep waiting,
  /// for example because a rank does long work. Returns an empty text if this watchdog's thread
  /// does not answer within three seconds. `why` is what the caller knows about the cause. Called
  /// by the thread of the transport's own watchdog.
  std::optional<std::string> explain(std::string const& why);

  /// Starts to watch. `acts` tells whether this object notices by itself that its rank waits. If
  /// not, it looks for the cause of a wait only when explain() is called. `ranks` has the contacts
  /// of all ranks.
  void start(bool acts, int rank, std::vector<contact> ranks,
             std::span<std::int32_t const, token_words> secret);

 private:
  struct state;
  std::unique_ptr<state> state_;
  fork_watch fork_;
};

}  // namespace ashlar::watch

#if ASHLAR_DEFINES(COMM)
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include <ashlar/comm/watch/diagnosis.hpp>
#include <ashlar/comm/watch/inquiry.hpp>
#include <ashlar/comm/watch/membership.hpp>
#include <ashlar/comm/watch/neighbour.hpp>

namespace ashlar::watch {

struct watchdog::state {
  using clock = std::chrono::steady_clock;
  using milliseconds = std::chrono::milliseconds;

  state(flight_record& r, topology const& t, settings const& s, bool is_one_host)
      : record(r), shape(t), wanted(s), socket(is_one_host) {}

  flight_record& record;
  topology shape;
  settings wanted;
  peer_socket socket;
  std::optional<membership> present;  // set by start()
  neighbour next;
  int rank = 0;
  inquiry question{shape, wanted, socket};
  double waits = -1;   // result of the last tick, without the time that is excused
  double excused = 0;  // seconds for which this process was stopped
  bool acts = true;
  bool has_reported = false;  // whether the present wait has been reported
  double next_look = 0;       // seconds of waiting at which the cause is sought again
  std::mutex mutex;           // guards the next three members
  std::condition_variable is_explained;
  std::optional<std::string> asked;
  std::optional<std::optional<std::string>> explained;  // empty until there is an answer
  std::atomic<bool> is_done{false};
  std::thread thread;

  void watch() {
    auto const pause = std::clamp(wanted.timeout / 20, milliseconds(10), milliseconds(500));
    while (!is_done) {
      receive(pause);
      if (!acts) answer_thread();
      else if (waits < seconds(wanted.timeout)) has_reported = false, next_look = 0;
      else if (!has_reported && waits >= next_look) find_cause();
    }
  }

  static double seconds(milliseconds time) { return std::chrono::duration<double>(time).count(); }

  /// Waits for one message for at most `time`, and does what it asks for.
  void receive(milliseconds time) {
    auto const begun = clock::now();
    if (present->has_left()) next.observe_none();
    auto const m = socket.receive(next.has_ended() ? milliseconds(0) : time, next.descriptor());
    // If this process was stopped for a while, the other ranks perhaps were, too. This time does
    // not count as waiting.
    auto const stopped = clock::now() - begun - time - std::chrono::seconds(1);
    if (stopped.count() > 0) excused += std::chrono::duration<double>(stopped).count();
    double const full = record.tick();
    if (full < excused) excused = std::max(full, 0.0);
    waits = full < 0 ? full : full - excused;
    if (!m) {
      if (next.has_ended() && !present->has_left()) report_end_of_neighbour();
      return;
    }
    switch (m->what) {
      case peer_socket::kind::question:
        socket.send(m->from, peer_socket::kind::answer, to_lines(own_report()));
        break;
      case peer_socket::kind::answer: question.add_answer(m->from, m->text); break;
      case peer_socket::kind::end: std::_Exit(1);
      case peer_socket::kind::leave: next.left(m->from); break;
      case peer_socket::kind::wake: break;
    }
  }

  /// Called when the neighbour's process has ended. Ends the job, unless the neighbour has left the
  /// mesh. If the launcher is ending all processes, it also ends this one during the pause below.
  void report_end_of_neighbour() {
    int const ended = next.rank();
    std::this_thread::sleep_for(milliseconds(20));
    for (auto m = socket.receive(milliseconds(0)); m; m = socket.receive(milliseconds(0))) {
      if (m->what == peer_socket::kind::end) std::_Exit(1);
      if (m->what == peer_socket::kind::leave) next.left(m->from);
    }
    if (next.rank() != ended) return;
    auto const& c = socket.ranks()[static_cast<std::size_t>(ended)];
    std::string text = "Rank " + std::to_string(ended) + " was killed: its process " +
                       std::to_string(c.process) + " on " + c.host_name.data() +
                       " has ended, by a signal, for want of memory or by exit().";
    auto const report = own_report();
    if (auto const* const o = report.awaited())
      text += " Rank " + std::to_string(rank) + " is in " + place_of(*o) + ".";
    std::fprintf(stderr, "[rank %d] error: mesh: %s\n", rank, text.c_str());
    end_job();
  }

  [[noreturn]] void end_job() {
    std::fflush(stderr);
    std::this_thread::sleep_for(milliseconds(20));  // for the launcher to read the message
    for (int r = 0; r < shape.ranks(); ++r)
      if (r != rank) socket.send(r, peer_socket::kind::end);
    std::_Exit(1);
  }

  rank_report own_report() const {
    auto const& self = socket.ranks()[static_cast<std::size_t>(rank)];
    rank_report r = record.report(rank, waits);
    r.host = self.host_name.data();
    if (r.host.empty()) r.host = "localhost";
    r.process = self.process;
    return r;
  }

  void ask() {
    auto const receive_one = [this](milliseconds time) { receive(time); };
    question.ask(own_report(), receive_one, is_done);
  }

  void find_cause() {
    ask();
    if (is_done || waits < seconds(wanted.timeout)) return;
    next_look = waits + seconds(wanted.timeout);
    if (question.must_wait_on(waits)) return;
    if (question.lower_reporter() >= 0 && !wanted.only_warns) {
      // A rank with a lower number reports the wait, and then ends this process by a message. So
      // this thread only waits for that message.
      auto const end = clock::now() + std::chrono::seconds(3);
      while (clock::now() < end && !is_done && waits >= seconds(wanted.timeout))
        receive(milliseconds(50));
      if (is_done || waits < seconds(wanted.timeout)) return;
    }
    has_reported = true;
    if (question.lower_reporter() < 0 || !wanted.only_warns) {
      std::fprintf(stderr, "[rank %d] %s: mesh: %s\n", rank,
                   wanted.only_warns ? "warning" : "error", question.findings("", waits).c_str());
      if (!wanted.only_warns) end_job();
    }
    question.forget();
  }

  /// Answers a call of explain() by another thread.
  void answer_thread() {
    std::string why;
    {
      std::lock_guard const lock(mutex);
      if (!asked) return;
      why = *asked;
    }
    ask();
    int const reporter = question.lower_reporter();
    std::optional<std::string> text;
    if (!question.must_wait_on(waits))
      text = reporter < 0 ? question.findings(why, waits)
                          : "Rank " + std::to_string(reporter) + " says more.";
    question.forget();
    std::lock_guard const lock(mutex);
    asked.reset();
    explained.emplace(std::move(text));
    is_explained.notify_all();
  }
};

ASHLAR_INLINE watchdog::watchdog(flight_record& record, topology const& t, settings const& s,
                                 bool is_one_host)
    : state_(new state(record, t, s, is_one_host)) {}

ASHLAR_INLINE int watchdog::port() const { return state_->socket.port(); }

ASHLAR_INLINE std::optional<std::string> watchdog::explain(std::string const& why) {
  auto& s = *state_;
  std::unique_lock lock(s.mutex);
  s.explained.reset();
  s.asked = why;
  s.socket.send(s.rank, peer_socket::kind::wake);
  s.is_explained.wait_for(lock, std::chrono::seconds(3), [&] { return s.explained.has_value(); });
  return s.explained.value_or("");
}

ASHLAR_INLINE void watchdog::start(bool acts, int rank, std::vector<contact> ranks,
                                   std::span<std::int32_t const, token_words> secret) {
  auto& s = *state_;
  s.acts = acts;
  s.rank = rank;
  s.socket.introduce(rank, std::move(ranks), secret);
  s.next.observe(rank, s.socket.ranks());
  s.present.emplace(s.socket, rank);
  // The new thread inherits this mask, which blocks all signals, so that the program's thread gets
  // them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    s.thread = std::thread([&s] {
      try {
        s.watch();
      } catch (std::exception const& e) {  // for example if memory is exhausted
        std::fprintf(stderr, "[rank %d] warning: mesh: the watchdog has ended: %s\n", s.rank,
                     e.what());
      }
    });
  } catch (std::system_error const&) {  // too many threads: this rank is not watched
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ASHLAR_INLINE watchdog::~watchdog() {
  auto& s = *state_;
  if (s.socket.ranks().empty()) return;  // it was never started
  if (fork_.is_in_child()) {
    (void)state_.release();
    return;
  }
  s.is_done = true;
  s.socket.send(s.rank, peer_socket::kind::wake);
  if (s.thread.joinable()) s.thread.join();
  s.present.reset();
}

}  // namespace ashlar::watch
#endif
