// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8

// Tests asynchronous redistributions. Values and bytes must equal those of blocking
// redistributions, also while other transfers are pending, and whatever the order in which a rank
// waits for its transfers. Also tests results with static placements, handles that are destroyed
// without a call of wait(), and that repeated redistributions allocate no memory.

#include <chrono>
#include <random>
#include <thread>

#include <doctest/doctest.h>
#include <support/allocations.hpp>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/traffic_check.hpp>

#include <ashlar/tensor/matmul.hpp>
#include <ashlar/tensor/redistribute_async.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::sbp;

dense numbers(index extents, unsigned seed) {
  std::mt19937 random(seed);
  return random_integers(random, std::move(extents), -50, 50);
}

std::vector<ashlar::placement> some_placements(int axes) {
  std::vector<ashlar::placement> all;
  ashlar::axis_placement const roles[] = {ashlar::split(0), ashlar::split(1), ashlar::broadcast(),
                                          ashlar::partial()};
  for (auto const& first : roles)
    for (auto const& last : roles) {
      ashlar::placement p = ashlar::placement::all_broadcast(axes);
      p.axis[0] = first;
      if (axes > 1) {
        p.axis[axes - 1] = last;
        if (first.is_split() && last.is_split() && first.dim == last.dim)
          p.axis[axes - 1].depth = 1;
      }
      if (p.axis[0].is_split()) p.axis[0].depth = 0;
      if (axes > 1 && p.axis[axes - 1].is_split() && p.axis[axes - 1].depth < 0)
        p.axis[axes - 1].depth = 0;
      if (std::find(all.begin(), all.end(), p) == all.end()) all.push_back(p);
    }
  return all;
}

}  // namespace

TEST_CASE("a barrier may come while a redistribution is pending on some ranks only") {
  for (auto const on : {transport::shared_memory, transport::messages}) {
    auto const m = mesh_on(on, {{"gpu", world_size()}});
    auto const values = numbers({13, 10}, 7);
    auto const x = placed<float, 2>(m, values, ashlar::placement{ashlar::split(0)});
    for (int round = 0; round < 8; ++round) {
      // A rank that comes late finds the data of the others, so its redistribution ends at once.
      // The redistributions of the other ranks may still be pending in the barrier.
      if (m.rank() % 2 == round % 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      auto moving = redistribute_async(x, ashlar::placement{ashlar::broadcast()});
      m.barrier();
      auto const y = moving.wait();
      CHECK(wrong_with(y, values) == "");
    }
  }
}

TEST_CASE("all pairs pending at once, polled in any order, arrive as blocking ones do") {
  for (auto const on : {transport::shared_memory, transport::messages})
    for (auto const& m : all_meshes_on(on)) {
      auto const all = some_placements(m.axes());
      auto const values = numbers({13, 10}, 7);
      std::mt19937 random(11);  // all ranks must draw the same numbers
      for (auto const& from : all) {
        auto const x = placed<float, 2>(m, values, from);
        exchanges expected;
        auto const expect = [&](ashlar::placement const& to) {
          for (auto const& e : predicted(m, plan_redistribution(x, to).plan)) expected.push_back(e);
        };
        for (auto const& to : all) expect(to);
        auto const& among = all[random() % all.size()];
        expect(among);
        traffic_check const traffic(m, on);
        std::vector<ashlar::moving_tensor<ashlar::tensor<float, 2>>> moving;
        for (auto const& to : all) moving.push_back(redistribute_async(x, to));
        auto const blocking = redistribute(x, among);
        CHECK(wrong_with(blocking, values) == "");
        std::vector<std::size_t> order(all.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        // Each rank waits in a different order.
        std::shuffle(order.begin(), order.end(), std::mt19937(unsigned(m.rank())));
        std::vector<ashlar::tensor<float, 2>> arrived(all.size());
        for (auto const i : order) arrived[i] = moving[i].wait();
        CHECK(traffic.difference(expected, false) == "");
        for (std::size_t i = 0; i < all.size(); ++i) {
          CHECK(arrived[i].placement() == all[i]);
          CHECK_MESSAGE(wrong_with(arrived[i], values) == "", to_string(from)
                                                                  << " to " << to_string(all[i]));
        }
        CHECK(m.operations().idle());
      }
    }
}

TEST_CASE("test() alone completes a transfer; a dropped handle completes it, too") {
  for (auto const on : {transport::shared_memory, transport::messages}) {
    auto const m = mesh_on(on, {{"gpu", world_size()}});
    auto const values = numbers({64, 48}, 3);
    auto const x = placed<double, 2>(m, values, {ashlar::partial()});
    traffic_check traffic(m, on);
    auto moving = redistribute_async(x, sbp<B>{});
    while (!moving.test()) std::this_thread::yield();
    CHECK(traffic.difference(predicted(m, plan_redistribution(x, sbp<B>{}).plan)) == "");
    CHECK(wrong_with(moving.wait(), values) == "");
    traffic.clear();
    { auto const dropped = redistribute_async(x, sbp<S<1>>{}); }
    CHECK(traffic.difference(predicted(m, plan_redistribution(x, sbp<S<1>>{}).plan)) == "");
    CHECK(m.operations().idle());
    static_assert(std::same_as<decltype(moving.wait()), ashlar::tensor<double, 2, sbp<B>>>);
  }
}

TEST_CASE("a product between begin and end lets the transfer progress") {
  for (auto const on : {transport::shared_memory, transport::messages}) {
    auto const m = mesh_on(on, {{"gpu", world_size()}});
    auto const values = numbers({160, 120}, 5);
    auto const left = numbers({700, 30}, 6), right = numbers({30, 40}, 8);
    auto const x = placed<double, 2>(m, values, {ashlar::split(0)});
    auto const a = placed<double, 2>(m, left, {ashlar::broadcast()});
    auto const b = placed<double, 2>(m, right, {ashlar::broadcast()});
    auto const expected = matmul(a, b);
    traffic_check const traffic(m, on);
    auto moving = redistribute_async(x, sbp<S<1>>{});
    auto const c = matmul(a, b);
    CHECK(wrong_with(moving.wait(), values) == "");
    CHECK(traffic.difference(predicted(m, plan_redistribution(x, sbp<S<1>>{}).plan)) == "");
    CHECK(std::equal(c.local_addends().begin(), c.local_addends().end(),
                     expected.local_addends().begin()));
  }
}

TEST_CASE("repeated redistributions allocate no new memory") {
  for (auto const on : {transport::shared_memory, transport::messages})
    for (auto const& m : all_meshes_on(on, bandwidth_bound)) {  // plans have many steps here
      // When the allocator merges free blocks, it allocates memory for its own lists. It merges
      // only if the used memory would exceed twice the peak use. This large block raises the peak
      // so far that no blocks are merged below.
      m.memory().release(m.memory().allocate(8 << 20), 8 << 20);
      auto const values = numbers({64, 48}, 3);
      auto const x = placed<float, 2>(m, values,
                                      ashlar::placement::all_broadcast(m.axes())
                                          .with(0, ashlar::partial())
                                          .with_split(m.axes() - 1, 0));
      for (auto const& to : some_placements(m.axes())) {
        auto const move = [&] {
          auto moving = redistribute_async(x, to);
          return moving.wait();
        };
        {
          traffic_check const traffic(m, on);
          CHECK(wrong_with(move(), values) == "");
          CHECK(traffic.difference(predicted(m, plan_redistribution(x, to).plan)) == "");
        }
        // A free list of the mesh's allocator allocates memory whenever it holds more blocks than
        // ever before. After these runs, no free list grows any more.
        for (int i = 0; i < 5; ++i) (void)redistribute(move(), x.placement());
        int const before = allocations;
        auto const moved = move();
        int const by_moving = allocations - before;
        CHECK_MESSAGE(by_moving == 0, std::string(to_string(on)) << ", to " << to_string(to));
        (void)redistribute(moved, x.placement());
        CHECK(allocations == before);
      }
    }
}

TEST_CASE("a placement that does not fit is refused before anything begins") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = placed<float, 1>(m, numbers({5}, 1), {ashlar::split(0)});
  CHECK(has(message_of([&] { redistribute_async(x, ashlar::placement{ashlar::split(1)}); }),
            "redistribute"));
  CHECK(m.operations().idle());
}

}  // namespace ashlar_test
