// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the letters (messages) that ranks send each other in a training with stale parameters
// (comm/stale_exchange.hpp). Threads of one process simulate the ranks. A thread sanitizer
// therefore detects data races between a rank's own work and its handler of letters. At random
// steps, a rank delays its own work and only answers the letters of other ranks.

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/stale_reads.hpp>

#include <ashlar/comm/stale_exchange.hpp>

namespace ashlar_test {
namespace {

/// The letters that have been sent to one rank.
struct letter_box {
  struct letter {
    int from, kind;
    std::vector<std::byte> text;
  };
  std::mutex mutex{};
  std::deque<letter> letters{};
};

/// The mailbox of a thread that simulates a rank.
class thread_mailbox {
 public:
  thread_mailbox(int rank, std::vector<std::unique_ptr<letter_box>>& boxes)
      : rank_(rank), boxes_(&boxes) {}
  void expect(int, int, std::size_t) {}
  template <class Fill>
  void send(int to, int kind, std::size_t bytes, Fill const& fill) {
    letter_box::letter made{rank_, kind, std::vector<std::byte>(bytes)};
    fill(std::span(made.text));
    auto& box = *(*boxes_)[static_cast<std::size_t>(to)];
    std::lock_guard const lock(box.mutex);
    box.letters.push_back(std::move(made));
  }
  /// Gives the letters that have arrived to the handler.
  template <class Handler>
  void advance(Handler const& take) {
    auto& own = *(*boxes_)[static_cast<std::size_t>(rank_)];
    while (true) {
      letter_box::letter next;
      {
        std::lock_guard const lock(own.mutex);
        if (own.letters.empty()) return;
        next = std::move(own.letters.front());
        own.letters.pop_front();
      }
      take(next.from, next.kind, std::span<std::byte const>(next.text));
    }
  }

 private:
  int rank_;
  std::vector<std::unique_ptr<letter_box>>* boxes_;
};

/// Runs the steps of one rank. Returns the number of its reads, and the number of wrong reads of
/// each kind (support/stale_reads.hpp).
stale_read_counts steps_of_thread(int rank, int ranks, int staleness, int steps,
                                  std::vector<std::unique_ptr<letter_box>>& boxes,
                                  std::atomic<int>& finished) {
  thread_mailbox letters(rank, boxes);
  counting_worker<thread_mailbox> worker(rank, ranks, staleness);
  worker.exchange.open(letters);
  auto const serve = [&] {
    letters.advance([&](int from, int kind, auto text) { worker.exchange.take(from, kind, text); });
    std::this_thread::yield();
  };
  std::mt19937 random(static_cast<unsigned>(rank));
  for (int step = 0; step < steps; ++step) {
    if (random() % 8 == 0)
      for (auto n = random() % 200; n > 0; --n) serve();
    worker.begin_step(step, serve);
    worker.end_step(step);
  }
  worker.settle(steps, serve);
  for (++finished; finished < ranks;) serve();  // other ranks still read values of this rank
  return worker.counts;
}

}  // namespace

TEST_CASE("threads as ranks read what the staleness requires, and nothing torn") {
  for (int const ranks : {2, 4})
    for (int const staleness : {0, 1, 4, ashlar::sync::asynchronous}) {
      CAPTURE(ranks);
      CAPTURE(staleness);
      std::vector<std::unique_ptr<letter_box>> boxes;
      for (int r = 0; r < ranks; ++r) boxes.push_back(std::make_unique<letter_box>());
      std::vector<stale_read_counts> counts(static_cast<std::size_t>(ranks));
      std::atomic<int> finished = 0;
      std::vector<std::thread> threads;
      constexpr int steps = 60;
      for (int r = 0; r < ranks; ++r)
        threads.emplace_back([&, r] {
          counts[static_cast<std::size_t>(r)] = steps_of_thread(r, ranks, staleness, steps, boxes,
                                                                finished);
        });
      for (auto& t : threads) t.join();
      for (auto const& c : counts) {
        CHECK(c.reads == steps * ranks);
        CHECK(c.torn == 0);
        CHECK(c.too_old == 0);
        CHECK(c.unsettled == 0);
      }
    }
}

TEST_CASE("values of two versions are refused") {
  std::vector<std::unique_ptr<letter_box>> boxes;
  boxes.push_back(std::make_unique<letter_box>());
  thread_mailbox letters(0, boxes);
  counting_worker<thread_mailbox> worker(0, 1, 0);
  worker.exchange.open(letters);
  std::vector<std::byte> torn(16 + counting_worker<thread_mailbox>::elements * 4 + 8);
  torn.front() = std::byte{1};
  CHECK(message_of([&] { worker.exchange.take(0, 2, torn); }) ==
        "stale_exchange: the values of rank 0 are of version 1 at their beginning and of 0 at "
        "their end.");
}

}  // namespace ashlar_test
