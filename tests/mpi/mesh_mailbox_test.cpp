// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8
// thorough: ASHLAR_STALE_STEPS=200 2 3 4 6 8

// Tests the letters of a training with stale parameters (comm/stale_exchange.hpp) in the mailbox of
// a mesh. Ranks stall at random. The values of the parameters show which gradients they contain
// (support/stale_reads.hpp). Also tests that
//
// - ranks that wait in a transfer or in a barrier answer the letters of other ranks,
// - a communication log does not record letters, because letters are not transfers,
// - a rank can be ahead of another rank by the steps that the staleness permits, but by no more.

#include <cstdlib>
#include <limits>
#include <random>
#include <thread>

#include <doctest/doctest.h>
#include <support/mailed_worker.hpp>
#include <support/placed.hpp>

#include <ashlar/comm/communication_log.hpp>

namespace ashlar_test {
namespace {

/// Lets another rank use this rank's core.
void let_others_run() { std::this_thread::yield(); }

}  // namespace

TEST_CASE("ranks read by mail what the staleness requires, and nothing torn") {
  for (auto const on : {transport::messages, transport::shared_memory})
    for (int const staleness : {0, 1, 4, ashlar::sync::asynchronous}) {
      if (on == transport::shared_memory && staleness != 1) continue;  // letters go by MPI on both
      CAPTURE(to_string(on));
      CAPTURE(staleness);
      auto const m = mesh_on(on, {{"gpu", world_size()}});
      ashlar::communication_log const log(m);
      worker_with_mail own(m, staleness, let_others_run);
      std::mt19937 random(static_cast<unsigned>(m.rank()));
      char const* const wanted = std::getenv("ASHLAR_STALE_STEPS");
      int const steps = wanted == nullptr ? 24 : std::atoi(wanted);
      std::int64_t sum = 0;
      for (int step = 0; step < steps; ++step) {
        if (random() % 8 == 0)
          for (auto n = random() % 200; n > 0; --n) own.serve();
        own.step(step);
        if (step == steps / 2) {  // a rank that waits here must answer ranks that are not here yet
          sum = m.rank();
          m.all_reduce(std::span(&sum, 1));
          m.barrier();
        }
      }
      own.settle(steps);
      CHECK(sum == m.ranks() * (m.ranks() - 1) / 2);
      auto const& found = own.worker.counts;
      CHECK(found.reads == steps * m.ranks());
      CHECK(found.torn == 0);
      CHECK(found.too_old == 0);
      CHECK(found.unsettled == 0);
      CHECK(log.records().size() == 1);
    }
}

TEST_CASE("while a rank stalls, the others go on by the staleness and no further") {
  if (world_size() == 1) return;
  for (int const staleness : {0, 1, 4}) {
    CAPTURE(staleness);
    auto const m = mesh_on(transport::messages, {{"gpu", world_size()}});
    worker_with_mail own(m, staleness, let_others_run);
    constexpr int begin = 3, steps = 12;
    auto const least_of_others = [&] {
      auto least = std::numeric_limits<std::int64_t>::max();
      for (int r = 1; r < m.ranks(); ++r)
        least = std::min(least, own.worker.exchange.owner().clock().contained(r));
      return least;
    };
    for (int step = 0; step < steps; ++step) {
      if (m.rank() == 0 && step == begin && staleness > 0) {
        // Rank 0 has not computed its gradient of step 3, so the other ranks may begin their steps
        // up to 3 + staleness. The loop would never end if the other ranks stopped earlier.
        while (least_of_others() < begin + staleness + 1) own.serve();
        for (int n = 0; n < 200; ++n) own.serve();
        CHECK(own.worker.exchange.owner().clock().complete() == begin);
        for (int r = 1; r < m.ranks(); ++r)
          CHECK(own.worker.exchange.owner().clock().contained(r) == begin + staleness + 1);
      }
      own.step(step);
    }
    own.settle(steps);
    CHECK(own.worker.counts.too_old == 0);
  }
}

}  // namespace ashlar_test
