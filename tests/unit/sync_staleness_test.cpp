// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests owners of parameters in stale training (sync/parameter_owner.hpp) by simulation: messages
// take random times, and workers stall at random. The test itself records which gradients the
// values of an owner contain. It tests three properties:
//
// - No read misses a gradient that the staleness bound requires. Some reads are as stale as the
//   bound permits.
// - With a staleness of 0, every read has the bits of synchronous training.
// - No worker waits forever.

#include <algorithm>
#include <deque>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/sync/parameter_owner.hpp>

namespace ashlar_test {
namespace {

namespace sync = ashlar::sync;

/// Returns the gradient that a worker sends to an owner for a step, as one number. The numbers
/// differ, and the bits of their sum depend on the order of the addends.
float number_of(int owner, int worker, std::int64_t step) {
  std::mt19937 random(static_cast<unsigned>(step * 64 + worker * 8 + owner));
  return std::uniform_real_distribution<float>(-1, 1)(random);
}

/// An owner of two values. The first value is minus the sum of the number_of() of all gradients in
/// its updates. The second value is the number of these gradients.
struct simulated_owner {
  sync::parameter_owner<float> serves;
  float values[2]{};
  /// For each worker: the steps whose gradients the values contain.
  std::vector<std::vector<std::int64_t>> book{};
};

struct message_to_owner {
  std::int64_t step;
  bool is_read;
};
struct answer_to_worker {
  float values[2];
  std::vector<std::vector<std::int64_t>> book;
};

struct simulated_worker {
  std::int64_t step = 0;
  int missing = 0;  ///< answers that it waits for
  int stalls = 0;   ///< how often it does nothing when its turn comes, before it goes on
};

struct reads_of_simulation {
  std::int64_t reads = 0, stalest = 0, deferred = 0;
  /// The number of required gradients that reads miss, plus the number of wrong values that reads
  /// get. A value is wrong if it does not fit the owner's book or, with a staleness of 0, if it is
  /// not that of synchronous training.
  int faults = 0;
};

/// Simulates `steps` steps of workers that are owners too. The messages between a worker and an
/// owner keep their order.
class stale_simulation {
 public:
  stale_simulation(int workers, int staleness, unsigned seed)
      : staleness_(staleness), random_(seed), workers_(static_cast<std::size_t>(workers)) {
    auto const n = workers_.size();
    for (std::size_t i = 0; i < n; ++i)
      owners_.push_back({sync::parameter_owner<float>(workers, staleness, 2), {}, {}});
    for (auto& o : owners_) o.book.resize(n);
    to_owner_.resize(n * n);
    to_worker_.resize(n * n);
  }

  reads_of_simulation run(std::int64_t steps) {
    auto const n = static_cast<int>(workers_.size());
    int unfinished = n;
    for (std::int64_t idle = 0; unfinished > 0; ++idle) {
      if (idle == 100'000) FAIL("workers wait for each other");
      int const w = pick(n), o = pick(n), kind = pick(3);
      if (kind == 0 && deliver_to_owner(w, o)) idle = 0;
      if (kind == 1 && deliver_to_worker(w, o)) idle = 0;
      auto& own = workers_[static_cast<std::size_t>(w)];
      if (kind != 2 || own.missing > 0 || own.step == steps) continue;
      idle = 0;
      if (own.stalls > 0) {
        --own.stalls;
        continue;
      }
      if (pick(8) == 0) own.stalls = pick(400);
      for (int k = 0; k < n; ++k) {
        queue(to_owner_, w, k).push_back({own.step, false});
        queue(to_owner_, w, k).push_back({own.step + 1, true});
      }
      own.missing = n;
      if (++own.step == steps) --unfinished;
    }
    for (auto const& o : owners_) found_.deferred += o.serves.deferred();
    return found_;
  }

 private:
  int pick(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  template <class Queue>
  Queue& queue(std::vector<Queue>& all, int worker, int owner) {
    return all[static_cast<std::size_t>(worker) * workers_.size() +
               static_cast<std::size_t>(owner)];
  }

  bool deliver_to_owner(int w, int o) {
    auto& from = queue(to_owner_, w, o);
    if (from.empty()) return false;
    auto const m = from.front();
    from.pop_front();
    auto& own = owners_[static_cast<std::size_t>(o)];
    auto const answer = [&](int to) {
      answer_to_worker a{{own.values[0], own.values[1]}, own.book};
      queue(to_worker_, to, o).push_back(std::move(a));
    };
    if (m.is_read) {
      own.serves.read(w, m.step, staleness_, answer);
      return true;
    }
    float const gradient[2] = {number_of(o, w, m.step), 1};
    arrived_.push_back({o, w, m.step});
    own.serves.push(
        w, m.step, gradient,
        [&](std::span<float const> sum, std::int64_t step) {
          CHECK(step == m.step);
          own.values[0] -= sum[0];
          own.values[1] += sum[1];
          std::erase_if(arrived_, [&](gradient_of const& g) {
            if (g.owner == o) own.book[static_cast<std::size_t>(g.worker)].push_back(g.step);
            return g.owner == o;
          });
        },
        answer);
    return true;
  }

  bool deliver_to_worker(int w, int o) {
    auto& from = queue(to_worker_, w, o);
    if (from.empty()) return false;
    auto const a = from.front();
    from.pop_front();
    auto& own = workers_[static_cast<std::size_t>(w)];
    --own.missing;
    ++found_.reads;
    // Computes from the definition what the values must contain, without the class under test.
    std::int64_t counted = 0, oldest = own.step;
    for (int v = 0; v < static_cast<int>(a.book.size()); ++v) {
      auto const& steps = a.book[static_cast<std::size_t>(v)];
      counted += std::ssize(steps);
      auto const due = v == w ? own.step : own.step - staleness_;
      for (std::int64_t s = 0; s < due; ++s)
        if (std::find(steps.begin(), steps.end(), s) == steps.end()) ++found_.faults;
      oldest = std::min(oldest, std::ssize(steps));
      if (staleness_ == 0 && std::ssize(steps) != own.step) ++found_.faults;
    }
    if (a.values[1] != static_cast<float>(counted)) ++found_.faults;
    if (staleness_ == 0 && a.values[0] != synchronous(o, own.step)) ++found_.faults;
    found_.stalest = std::max(found_.stalest, own.step - oldest);
    return true;
  }

  /// Returns the first value of an owner before a step of synchronous training.
  float synchronous(int owner, std::int64_t step) {
    auto const n = static_cast<int>(workers_.size());
    auto& known = synchronous_[owner];
    if (known.empty()) known.push_back(0);
    while (std::ssize(known) <= step) {
      auto const s = std::ssize(known) - 1;
      float sum = number_of(owner, 0, s);
      for (int w = 1; w < n; ++w) sum += number_of(owner, w, s);
      known.push_back(known.back() - sum);
    }
    return known[static_cast<std::size_t>(step)];
  }

  struct gradient_of {
    int owner, worker;
    std::int64_t step;
  };

  int staleness_;
  std::mt19937 random_;
  std::vector<simulated_worker> workers_;
  std::vector<simulated_owner> owners_;
  std::vector<std::deque<message_to_owner>> to_owner_;
  std::vector<std::deque<answer_to_worker>> to_worker_;
  std::vector<gradient_of> arrived_;  // gradients that are in no update yet
  std::vector<float> synchronous_[8];
  reads_of_simulation found_;
};

}  // namespace

TEST_CASE("no read misses a gradient that the staleness requires") {
  std::int64_t reads = 0;
  for (int const workers : {1, 2, 3, 5, 8})
    for (int const staleness : {0, 1, 4, sync::asynchronous}) {
      CAPTURE(workers);
      CAPTURE(staleness);
      auto const found = stale_simulation(workers, staleness, 7).run(260);
      CHECK(found.faults == 0);
      reads += found.reads;
      // The simulation reaches the limits: some reads wait, and some are as stale as they may be.
      if (workers > 1 && staleness <= 4) CHECK(found.deferred > 0);
      if (workers > 1 && staleness <= 4) CHECK(found.stalest == staleness);
      if (staleness == sync::asynchronous) CHECK(found.deferred == 0);
      if (workers > 2 && staleness == sync::asynchronous) CHECK(found.stalest > 4);
    }
  CHECK(reads >= 100'000);
}

TEST_CASE("a longer staleness defers fewer reads") {
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  for (int const staleness : {0, 1, 4, 16}) {
    auto const deferred = stale_simulation(8, staleness, 3).run(100).deferred;
    CHECK(deferred < before);
    before = deferred;
  }
}

TEST_CASE("a clock refuses gradients out of their order") {
  sync::update_clock clock(2, 1);
  CHECK(clock.receive(1, 0));
  CHECK(message_of([&] { clock.receive(1, 2); }) ==
        "update_clock: rank 1 sent the gradient of step 2, but that of step 1 is its next one.");
  CHECK(message_of([&] { clock.receive(1, 0); }) ==
        "update_clock: rank 1 sent the gradient of step 0, but that of step 1 is its next one.");
  CHECK(clock.may_read(1, 1));
  CHECK(!clock.may_read(1, 2));  // its own gradient of step 1 is missing
  clock.receive(1, 1);
  CHECK(!clock.may_read(1, 2));  // worker 0's gradient of step 0 is missing
  clock.receive(0, 0);
  CHECK(clock.may_read(1, 2));
  CHECK(!clock.may_read(1, 2, 0));
  for (int const workers : {0, 1})
    CHECK(message_of([&] {
            sync::update_clock(workers, workers == 0 ? 1 : -1);
          }).find("write 1 worker or more and a staleness of 0 or more.") != std::string::npos);
}

TEST_CASE("a clock continues with the numbers of updates that a longer training has") {
  for (int const staleness : {0, 2}) {
    sync::update_clock clock(3, staleness);
    for (std::int64_t step = 0; step < 4; ++step)
      for (int w = 0; w < 3; ++w) clock.receive(w, step);
    sync::update_clock other(3, staleness);
    other.continue_at(4);
    CHECK(other.version() == clock.version());
    CHECK(other.complete() == clock.complete());
    for (int w = 0; w < 3; ++w) CHECK(other.contained(w) == clock.contained(w));
    CHECK(other.may_read(0, 4, 0));
  }
}

}  // namespace ashlar_test
