// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the complete NCCL transport without a GPU: ranks are threads, on the fake CUDA and NCCL of
// fake_cuda.hpp. Every kind of transfer must give the same result as the simulation in
// support/replay.hpp, although only events order the work of different streams. Overlapping
// transfers must never deadlock. If one rank does not take part, the other ranks must get an error.

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/replay.hpp>
#include <unistd.h>

#include <ashlar/comm/nccl/communicator.hpp>
#include <ashlar/comm/nccl/device_kernels.hpp>
#include <ashlar/device/cuda/array.hpp>
#include <ashlar/machine/presets.hpp>

#include "fake_ranks.hpp"

namespace ashlar_test {
namespace {

using namespace ashlar::nccl;
using namespace std::chrono_literals;
using ashlar::collective;

/// The transport of one rank, and the objects that it needs.
struct rank_of {
  int rank;
  ashlar::topology topology;
  world ranks;
  ashlar::cuda::stream compute;
  ashlar::cuda::pool memory;
  ashlar::operation_queue order;
  std::unique_ptr<communicator> transport;

  rank_of(world const& w, ashlar::topology const& t, sums how)
      : rank(w.rank()), topology(t), ranks(w),
        transport(std::make_unique<communicator>(ranks, t, order, compute, memory, device_kernels(),
                                                 how)) {}

  std::uint64_t ticket(ashlar::transfer const& x) {
    transport->open(x.axes);
    return order.take_ticket(x.axes);
  }
  ashlar::transfer of(ashlar::redistribution_step const& s, ashlar::shape const& extents) const {
    return ashlar::make_transfer(s, extents, topology, topology.coordinates_of(rank));
  }
};

template <class Body>
std::vector<std::string> run_ranks(ashlar::topology const& t, sums how, Body const& body,
                                   std::chrono::milliseconds deadline = 60s) {
  return fake::run_ranks(
      t.ranks(),
      [&](world const& w) {
        rank_of me(w, t, how);
        body(me);
      },
      deadline);
}
template <class Body>
void all_ranks(ashlar::topology const& t, sums how, Body const& body) {
  fake::all_ranks(t.ranks(), [&](world const& w) {
    rank_of me(w, t, how);
    body(me);
  });
}

index as_index(ashlar::shape const& extents) {
  index list;
  for (auto const e : extents.extent) list.push_back(static_cast<int>(e));
  return list;
}

/// A redistribution plan, and the expected shards of all ranks before and after each of its steps.
struct expected_plan {
  ashlar::shape extents;
  ashlar::redistribution_plan plan;
  // The shard of rank r after s steps is shards[s][r].
  std::vector<std::vector<std::vector<std::int32_t>>> shards;
};

expected_plan expect(ashlar::topology const& t, ashlar::shape const& extents, placement const& from,
                     placement const& to, std::mt19937& random) {
  expected_plan e{
      extents,
      ashlar::plan_redistribution(extents, 4, from, to, t, ashlar::machines::workstation),
      {}};
  basic_replay<std::int32_t> reference(as_index(extents), t);
  reference.start(random_integers(random, as_index(extents), -99, 99), from, random);
  auto const note = [&] {
    e.shards.emplace_back();
    for (int r = 0; r < t.ranks(); ++r) e.shards.back().push_back(reference.shard(r));
  };
  note();
  for (auto const& s : e.plan.steps) {
    reference.run(s);
    note();
  }
  return e;
}

using array = ashlar::cuda::array<std::int32_t>;

array upload(rank_of& me, std::vector<std::int32_t> const& values) {
  array a(me.memory, static_cast<std::int64_t>(values.size()), me.compute);
  a.copy_from(values.data());
  return a;
}
std::vector<std::int32_t> download(rank_of& me, array const& a) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(a.size()));
  a.copy_to(values.data());
  me.compute.synchronize();
  return values;
}
array empty_like(rank_of& me, std::vector<std::int32_t> const& values) {
  return {me.memory, static_cast<std::int64_t>(values.size()), me.compute};
}

std::vector<expected_plan> some_plans(ashlar::topology const& t, std::size_t one_in) {
  std::mt19937 random(11);
  std::vector<expected_plan> plans;
  std::size_t n = 0;
  auto const all = all_placements(2, t.axes(), {ashlar::reduction::sum}, {1});
  for (ashlar::shape const& extents : {ashlar::shape{4, 12}, {5, 7}, {1, 3}})
    for (auto const& from : all)
      for (auto const& to : all)
        if (n++ % one_in == 0) plans.push_back(expect(t, extents, from, to, random));
  return plans;
}

TEST_CASE("plans run on streams that are ordered by events only") {
  for (ashlar::topology const& t :
       {ashlar::topology{{"node", 2}, {"gpu", 2}}, {{"node", 2}, {"gpu", 3}}}) {
    auto const plans = some_plans(t, 17);
    fake::pause_up_to(40);
    for (sums const how : {sums::library, sums::ordered})
      all_ranks(t, how, [&](rank_of& me) {
        auto const r = static_cast<std::size_t>(me.rank);
        for (auto const& e : plans) {
          array x = upload(me, e.shards[0][r]);
          for (int i = 0; i < e.plan.steps.size(); ++i) {
            auto const& after = e.shards[static_cast<std::size_t>(i) + 1][r];
            auto const& s = e.plan.steps[i];
            if (!communicates(s.kind)) {
              x = upload(me, after);
              continue;
            }
            auto const what = me.of(s, e.extents);
            array next = empty_like(me, after);
            me.transport->run({&what, ashlar::element_type::i32, x.data(), next.data(),
                               me.order.take_ticket(what.axes)});
            x = std::move(next);  // releases the old x while the transfer may still read it
          }
          if (download(me, x) != e.shards.back()[r])
            throw std::logic_error("a plan to " + ashlar::to_string(e.plan.to));
        }
      });
    fake::pause_up_to(0);
  }
}

TEST_CASE("transfers of two overlapping groups, polled in any order") {
  ashlar::topology const t{{"node", 2}, {"gpu", 2}};
  fake::pause_up_to(300);
  all_ranks(t, sums::library, [&](rank_of& me) {
    std::mt19937 random(static_cast<unsigned>(me.rank));  // gives each rank an order of its own
    for (int round = 0; round < 12; ++round) {
      std::vector<ashlar::transfer> what;
      std::vector<std::uint64_t> tickets;
      std::vector<array> from, to;
      for (int i = 0; i < 5; ++i) {
        ashlar::axis_list axes;
        axes.push_back(static_cast<signed char>(i % 2));
        what.push_back(ashlar::flat_all_reduce(6 + i, axes, t, t.coordinates_of(me.rank),
                                               ashlar::reduction::sum));
      }
      for (int i = 0; i < 5; ++i) {
        std::vector<std::int32_t> const mine(static_cast<std::size_t>(6 + i), me.rank + i);
        from.push_back(upload(me, mine));
        to.push_back(empty_like(me, mine));
        tickets.push_back(me.ticket(what[static_cast<std::size_t>(i)]));
      }
      // Each rank starts the transfers in a random order of its own. Orders differ in this way in
      // programs with several redistributions whose steps end at different times.
      std::vector<std::size_t> order{0, 1, 2, 3, 4};
      std::shuffle(order.begin(), order.end(), random);
      std::vector<std::unique_ptr<ashlar::pending_operation>> pending(5);
      for (auto const i : order)
        pending[i] = me.transport->start(
            {&what[i], ashlar::element_type::i32, from[i].data(), to[i].data(), tickets[i]});
      std::shuffle(order.begin(), order.end(), random);
      for (auto const i : order)
        while (!pending[i]->advance()) {
          me.order.poll();
          std::this_thread::yield();
        }
      for (int i = 0; i < 5; ++i) {
        auto const own = t.coordinates_of(me.rank);
        int expected = 0;
        for (int j = 0; j < 2; ++j) {
          auto c = own;
          c[static_cast<std::size_t>(i % 2)] = j;
          expected += t.rank_of(c) + i;
        }
        for (auto const v : download(me, to[static_cast<std::size_t>(i)]))
          if (v != expected)
            throw std::logic_error("round " + std::to_string(round) + " sum " + std::to_string(i) +
                                   " is " + std::to_string(v) + ", not " +
                                   std::to_string(expected));
      }
      if (round % 4 == 0) me.transport->barrier();
    }
  });
  fake::pause_up_to(0);
}

TEST_CASE("a dropped transfer is waited for, and a running one waits for its turn") {
  ashlar::topology const t{{"gpu", 3}};
  all_ranks(t, sums::ordered, [&](rank_of& me) {
    auto const what = ashlar::flat_all_reduce(7, {0}, t, t.coordinates_of(me.rank),
                                              ashlar::reduction::max);
    array const from = upload(me, std::vector<std::int32_t>(7, 10 * me.rank));
    array first = empty_like(me, std::vector<std::int32_t>(7)),
          second = empty_like(me, std::vector<std::int32_t>(7));
    auto const ticket = me.ticket(what);
    auto const pending = me.transport->start(
        {&what, ashlar::element_type::i32, from.data(), first.data(), ticket});
    me.transport->run({&what, ashlar::element_type::i32, first.data(), second.data(),
                       me.order.take_ticket(what.axes)});
    if (download(me, second) != std::vector<std::int32_t>(7, 20)) throw std::logic_error("values");
  });
}

TEST_CASE("a barrier waits for all ranks") {
  ashlar::topology const t{{"gpu", 4}};
  std::atomic<int> come = 0;
  all_ranks(t, sums::library, [&](rank_of& me) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10 * me.rank));
    ++come;
    me.transport->barrier();
    if (come != 4) throw std::logic_error("a rank passed the barrier");
  });
}

TEST_CASE("a missing rank: the others name the operation and stop") {
  ashlar::topology const t{{"gpu", 3}};
  auto const folder = std::filesystem::temp_directory_path() /
                      ("ashlar_records_" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  ::setenv("ASHLAR_FLIGHT_RECORDS", folder.c_str(), 1);
  auto const said = run_ranks(
      t, sums::library,
      [&](rank_of& me) {
        auto const what = ashlar::flat_all_reduce(9, {0}, t, t.coordinates_of(me.rank),
                                                  ashlar::reduction::sum);
        array x = upload(me, std::vector<std::int32_t>(9, 1));
        auto const go = [&] {
          me.transport->run({&what, ashlar::element_type::i32, x.data(), x.data(),
                             me.order.take_ticket(what.axes)});
        };
        go();
        if (me.rank == 1) {
          std::this_thread::sleep_for(1200ms);
          go();  // runs after the other ranks have given up
          me.compute.synchronize();
          me.transport->barrier();
          return;
        }
        go();
        me.compute.synchronize();  // returns because the watchdog aborts the communicator
        while (true) {
          me.transport->barrier();
          std::this_thread::sleep_for(5ms);
        }
      },
      400ms);
  // Ranks 0 and 2 wait for rank 1. The rank that first detects the timeout aborts its communicator,
  // and names the operation in its error. Because of this abort, the other rank may get an error of
  // NCCL instead.
  std::string const late = "all-reduce along gpu of 9 int32 sum has not ended within 0.4 s.";
  CHECK((has(said[0], late) || has(said[2], late)));
  ::unsetenv("ASHLAR_FLIGHT_RECORDS");
  for (int r : {0, 2}) {
    std::ifstream file(folder / ("ashlar_flight_" + std::to_string(r) + "_" +
                                 std::to_string(::getpid()) + ".json"));
    std::string const record((std::istreambuf_iterator<char>(file)), {});
    CHECK(has(record, R"("number": 2, "axes": "gpu")"));
    CHECK(has(record, "all-reduce along gpu of 9 int32 sum"));
  }
  std::filesystem::remove_all(folder);
  CHECK(has(said[0], "nccl: "));
  CHECK(has(said[2], "nccl: "));
  CHECK(has(said[1], "nccl: "));
  CHECK(fake::live_streams() == 0);
  CHECK(fake::live_communicators() == 0);
}

TEST_CASE("a fault of a communicator is an error of the next call") {
  ashlar::topology const t{{"gpu", 2}};
  std::atomic<int> ready = 0;
  auto const said = run_ranks(t, sums::library, [&](rank_of& me) {
    me.transport->barrier();
    if (++ready == 2) fake::fail_communicators(ncclSystemError);
    for (int i = 0; i < 2000; ++i) {
      me.transport->barrier();
      std::this_thread::sleep_for(2ms);
    }
  });
  fake::fail_communicators(ncclSuccess);
  for (int r = 0; r < 2; ++r) {
    CHECK(has(said[static_cast<std::size_t>(r)], "NCCL_SOCKET_IFNAME"));
    CHECK(has(said[static_cast<std::size_t>(r)], "rank " + std::to_string(r)));
  }
  CHECK(fake::live_communicators() == 0);
}

TEST_CASE("a group of messages whose end fails is not ended again") {
  ashlar::topology const t{{"gpu", 1}};
  all_ranks(t, sums::library, [&](rank_of& me) {
    ashlar::cuda::arena memory(me.memory, me.compute);
    auto const kernels = device_kernels();
    auto const said = message_of([&] {
      library_calls empty(*me.ranks.all, 1, ashlar::element_type::i32, memory, me.compute.get(),
                          kernels, {0, "gpu", "a test"});
      empty.group_start();
      fake::fail_group(ncclSystemError);
      empty.group_end();
    });
    if (!has(said, "a test")) throw std::logic_error(said);
    me.transport->barrier();
  });
}

TEST_CASE("split groups: their members, and one communicator for all ranks of the mesh") {
  ashlar::topology const t{{"pod", 2}, {"one", 1}, {"gpu", 2}};
  auto const at = [&](int rank, ashlar::axis_list const& axes) {
    return split_of(t, t.coordinates_of(rank), axes);
  };
  CHECK(at(3, {2}).color == 2);
  CHECK(at(3, {2}).key == 1);
  CHECK(at(1, {0}).color == 1);
  CHECK(at(3, {0}).key == 1);
  CHECK(at(2, {0, 2}).is_whole);
  CHECK(at(2, {1, 0, 2}).is_whole);
  CHECK_FALSE(at(2, {2, 0}).is_whole);
  CHECK(at(2, {2, 0}).key == 1);  // axis 2 (gpu) is the outer axis of the group
  CHECK_FALSE(at(2, {2}).is_whole);
  all_ranks(t, sums::library, [&](rank_of& me) {
    groups all(me.ranks, t);
    auto& whole = all.of({0, 2});
    if (&whole != me.ranks.all.get()) throw std::logic_error("a split of the whole mesh");
    if (&all.of({2}) != &all.of({2})) throw std::logic_error("split twice");
    if (fake::live_communicators() < 2) throw std::logic_error("no split");
    me.transport->barrier();
  });
}

TEST_CASE("an operation may wait for its peers for longer than the deadline of communicators") {
  ashlar::nccl::handle all(fake::new_id(), 0, 1, std::chrono::milliseconds(20));
  fake::fail_communicators(ncclInProgress);
  std::thread peers([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    fake::fail_communicators(ncclSuccess);
  });
  CHECK(message_of([&] { all.settle({0, "gpu", "all-gather"}); }) == "nothing was thrown");
  peers.join();
}

}  // namespace
}  // namespace ashlar_test
