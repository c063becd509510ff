// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests, under stress, the rules by which the ranks of a node read each other's shards in shared
// memory (comm/shared/handshake.hpp). Threads of one process simulate the ranks. A thread sanitizer
// therefore detects every pair of accesses that the rules do not order. Each rank overwrites its
// source as soon as a transfer has ended.

#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/comm/shared/direct_transfer.hpp>
#include <ashlar/comm/shared/eager_transfer.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar;

constexpr std::int64_t array_bytes = 256 * 1024;

/// The simulated shared memory of a node.
struct node {
  explicit node(int ranks) {
    for (int r = 0; r < ranks; ++r) {
      slots.push_back(std::make_unique<shared::slot>());
      memory.push_back(std::make_unique<std::byte[]>(4 * array_bytes));
      stages.push_back(std::make_unique<std::byte[]>(2 * shared::stage_bytes));
      neighbours.states.push_back(slots.back().get());
      neighbours.ranks.push_back(static_cast<int>(neighbours.ranks.size()));
      neighbours.windows.push_back(memory.back().get());
      neighbours.stages.push_back(stages.back().get());
    }
    neighbours.most_staged = shared::stage_bytes;
  }
  std::vector<std::unique_ptr<shared::slot>> slots;
  std::vector<std::unique_ptr<std::byte[]>> memory, stages;
  shared::neighbourhood neighbours;
};

struct handshake_trial {
  redistribution_step s;
  shape extents;
  int root = -1;  ///< the root if this is a broadcast or reduce of the flat array, else -1

  transfer as_transfer(topology const& t, coordinates const& here) const {
    if (root < 0) return make_transfer(s, extents, t, here);
    return flat_rooted(s.kind, extents[0] * extents[1], {0}, t, here, root % t.group_size({0}));
  }
};

/// Returns one trial of each kind of step along the only axis, for small, empty and large tensors.
std::vector<handshake_trial> trials() {
  placement const rows{split(0)}, columns{split(1)}, whole{broadcast()}, sums{partial()};
  std::vector<handshake_trial> all;
  for (shape const& e : {shape{6, 5}, shape{0, 3}, shape{97, 211}}) {
    all.push_back({{collective::all_gather, {0}, rows, whole}, e});
    all.push_back({{collective::all_gather, {0}, columns, whole}, e});
    all.push_back({{collective::reduce_scatter, {0}, sums, rows}, e});
    all.push_back({{collective::reduce_scatter, {0}, sums, columns}, e});
    all.push_back({{collective::all_reduce, {0}, sums, whole}, e});
    all.push_back({{collective::all_to_all, {0}, rows, columns}, e});
    // In a broadcast or a reduce, some ranks need not wait for others, and may run ahead.
    for (int const root : {0, 1}) {
      all.push_back({{collective::broadcast, {0}, whole, whole}, e, root});
      all.push_back({{collective::reduce, {0}, sums, whole}, e, root});
    }
  }
  return all;
}

/// Returns the value that `rank` contributes for the element at global index `index`. If the
/// transfer reduces or has a root, each rank has its own values. In every other transfer, callers
/// pass rank 0 for all ranks, so that all ranks have the same values.
std::int32_t value(int round, std::int64_t index, int rank) {
  return static_cast<std::int32_t>(round * 131 + index * 7 + rank * 100003);
}

std::int64_t flat(shape const& e, box const& b, std::int64_t i) {
  if (b.rank() == 1) return b[0].begin + i;
  std::int64_t const columns = b[1].size;
  return (b[0].begin + i / columns) * e[1] + b[1].begin + i % columns;
}

/// Runs one rank through `rounds` transfers. Each transfer starts as soon as the previous one has
/// ended. Returns the number of wrong elements.
int play(node& n, int rank, int ranks, int rounds) {
  topology const t{{"gpu", ranks}};
  coordinates here{};
  here[0] = rank;
  auto const all = trials();
  std::mt19937 random(static_cast<unsigned>(rank));
  int wrong = 0;
  auto* const base = n.memory[static_cast<std::size_t>(rank)].get();
  for (int round = 1; round <= rounds; ++round) {
    auto const& trial = all[static_cast<std::size_t>(round * 5) % all.size()];
    auto const& extents = trial.extents;
    auto const what = trial.as_transfer(t, here);
    std::int64_t const at = (round % 2) * array_bytes;  // alternates between two buffers
    auto* const source = reinterpret_cast<std::int32_t*>(base + at);
    auto* const target = reinterpret_cast<std::int32_t*>(base + 2 * array_bytes + at);
    bool const reduces = what.reduces(), is_own = reduces || trial.root >= 0;
    for (std::int64_t i = 0; i < what.from.elements(); ++i)
      source[i] = value(round, flat(extents, what.from, i), is_own ? rank : 0);
    auto const epoch = static_cast<std::uint64_t>(round);
    auto const wait = [&](auto& transfer) {
      while (!transfer.advance())
        if (random() % 2 == 0) std::this_thread::yield();
    };
    bool as_messages = false;
    if (shared::eager_transfer::carries(what, element_type::i32, n.neighbours)) {
      shared::eager_transfer eager(what, element_type::i32, n.neighbours, epoch, source, target);
      wait(eager);
    } else {
      // In some rounds, rank 0's shard is not in shared memory. All ranks must then send messages
      // instead.
      bool const shares = round % 17 != 0 || rank != 0;
      shared::direct_transfer direct(what, element_type::i32, n.neighbours, epoch, target,
                                     shares ? at : shared::not_shared, 2 * array_bytes + at);
      wait(direct);
      as_messages = direct.must_be_messages();
      CHECK(as_messages == (round % 17 == 0));
    }
    // The transfer has ended for this rank, so it may overwrite its source.
    for (std::int64_t i = 0; i < what.from.elements(); ++i) source[i] = -1;
    bool const receives = trial.root < 0 || !reduces || rank == what.partner;
    if (as_messages || !receives) continue;
    for (std::int64_t i = 0; i < what.to.elements(); ++i) {
      std::int32_t expected = 0;
      for (int r = 0; r < (reduces ? ranks : 1); ++r)
        expected += value(round, flat(extents, what.to, i),
                          reduces  ? r
                          : is_own ? what.partner
                                   : 0);
      if (target[i] != expected) ++wrong;
    }
  }
  return wrong;
}

/// Calls advance() once and stores its result in `done`. Returns the message of the error that it
/// throws, or "nothing was thrown".
std::string told(shared::direct_transfer& direct, bool& done) {
  return message_of([&] { done = direct.advance(); });
}

}  // namespace

TEST_CASE("no rank reads a shard before it is written or overwrites one that is still read") {
  for (int const ranks : {1, 2, 3, 5}) {
    node n(ranks);
    std::vector<int> wrong(static_cast<std::size_t>(ranks), -1);
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r)
      threads.emplace_back([&, r] { wrong[static_cast<std::size_t>(r)] = play(n, r, ranks, 400); });
    for (auto& thread : threads) thread.join();
    for (int const w : wrong) CHECK(w == 0);
  }
}

TEST_CASE(
    "ranks that wait for an abandoned rank get an error; transfers it had completed stay valid") {
  int const ranks = 3;
  std::string const expected = "all-reduce: an exception on rank 41 ended this mesh, and other "
                               "ranks wait for that rank. Create a new mesh.";
  topology const t{{"gpu", ranks}};
  shape const extents{97, 211};  // large enough for an all-reduce in two halves
  redistribution_step const sum{collective::all_reduce, {0}, {partial()}, {broadcast()}};
  std::vector<transfer> whats;
  for (int r = 0; r < ranks; ++r) {
    coordinates here{};
    here[0] = r;
    whats.push_back(make_transfer(sum, extents, t, here));
  }
  enum class gives_up { before, after_it_arrived, after_it_left, when_it_has_ended };
  for (auto const when : {gives_up::before, gives_up::after_it_arrived, gives_up::after_it_left,
                          gives_up::when_it_has_ended}) {
    node n(ranks);
    auto const begin = [&](std::size_t r) {
      return shared::direct_transfer(whats[r], element_type::i32, n.neighbours, 1,
                                     n.memory[r].get() + 2 * array_bytes, 0, 2 * array_bytes);
    };
    auto first = begin(0), second = begin(1);
    CHECK_FALSE(first.advance());
    if (when != gives_up::before) {
      auto last = begin(2);
      CHECK_FALSE(last.advance());  // rank 2 reduces its part of the array
      if (when != gives_up::after_it_arrived) {
        first.advance(), second.advance();
        // Rank 2 copies the other parts and leaves. After this, no rank waits for rank 2.
        CHECK_FALSE(last.advance());
        if (when == gives_up::when_it_has_ended) {
          first.advance(), second.advance();
          CHECK(last.advance());
        }
      }
    }
    n.slots[2]->abandon(41);
    bool const counts = when == gives_up::after_it_left || when == gives_up::when_it_has_ended;
    bool first_done = false, second_done = false;
    std::string first_told, second_told;
    for (int i = 0; i < 3; ++i) {  // repeated, because ranks 0 and 1 also wait for each other
      first_told = told(first, first_done);
      second_told = told(second, second_done);
    }
    CHECK(first_told == (counts ? "nothing was thrown" : expected));
    CHECK(second_told == (counts ? "nothing was thrown" : expected));
    CHECK(first_done == counts);
    CHECK(second_done == counts);
  }
}

TEST_CASE("a small transfer waits for the ranks it reads from, and for no rank two epochs behind") {
  int const ranks = 3;
  topology const t{{"gpu", ranks}};
  node n(ranks);
  std::int32_t values[ranks][4], taken[ranks][4]{};
  std::vector<transfer> whats;
  for (int r = 0; r < ranks; ++r) {
    coordinates here{};
    here[0] = r;
    whats.push_back(flat_rooted(collective::broadcast, 4, {0}, t, here, 0));
    for (int i = 0; i < 4; ++i) values[r][i] = 10 * r + i;
  }
  auto const begin = [&](std::size_t r, std::uint64_t epoch) {
    return shared::eager_transfer(whats[r], element_type::i32, n.neighbours, epoch, values[r],
                                  taken[r]);
  };
  auto root = begin(0, 1), leaf = begin(1, 1);
  CHECK_FALSE(leaf.advance());  // the root has not arrived
  CHECK(root.advance());        // the root waits for no other rank
  values[0][0] = -1;            // the root may overwrite its shard
  CHECK(leaf.advance());
  CHECK(taken[1][0] == 0);
  CHECK(taken[1][3] == 3);
  auto const again = [&] {
    auto next = begin(0, 2);
    // An epoch is the number of a transfer. The root may reuse its staging buffer in epoch 2 only
    // when all ranks have reached epoch 1. Rank 2 has not reached epoch 1.
    CHECK_FALSE(next.advance());
  };
  again();
  n.slots[2]->abandon(7);
  auto next = begin(0, 2);
  bool done = false;
  std::string const message = message_of([&] { done = next.advance(); });
  CHECK(message ==
        "broadcast: an exception on rank 7 ended this mesh, and other ranks wait for that "
        "rank. Create a new mesh.");
  CHECK_FALSE(done);
}

}  // namespace ashlar_test
