// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the CUDA graphs of a mesh, and the memory that graphs and other work use, on the fake CUDA
// (fake_cuda.hpp). A replayed step must need only a few host calls, and must give bitwise the same
// results as a step that the host submits again. Operations that cannot be captured must be
// refused. If one rank does not replay, the other ranks must get an error.

#include <atomic>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/nccl_mesh_cases.hpp>

#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/gather.hpp>

#include "fake_ranks.hpp"

namespace ashlar_test {
namespace {

using namespace std::chrono_literals;
using ashlar::parse_placement;
using ashlar::shape;

/// A program whose steps read an input and update a state. A step sums the state over the ranks and
/// redistributes the sum. Meanwhile it all-gathers the input asynchronously.
class program {
 public:
  explicit program(mesh const& m)
      : mesh_(m), x_(m, extents, parse_placement("S(0),B")),
        state_(m, extents, parse_placement("P,P")), whole_(m, extents, parse_placement("B,B")) {
    std::vector<std::int32_t> first(static_cast<std::size_t>(state_.local_elements()));
    for (std::size_t i = 0; i < first.size(); ++i)
      first[i] = static_cast<std::int32_t>(i) % 5 + m.rank();
    ashlar::cuda::upload(m.processor(), first.data(), state_.local_elements(), state_.data());
  }

  void set_input(int step) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(x_.local_elements()));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<std::int32_t>(i) * 7 + 100 * step + mesh_.rank();
    ashlar::cuda::upload(mesh_.processor(), values.data(), x_.local_elements(), x_.data());
  }
  void step() {
    auto moving = ashlar::redistribute_async(x_, parse_placement("B,B"));
    auto const sum = ashlar::redistribute(state_, parse_placement("S(1),B"));
    auto const turned = ashlar::redistribute(sum, parse_placement("S(0),S(1)"));
    auto const back = ashlar::redistribute(turned, parse_placement("P,P"));
    ashlar::cuda::copy_elements(mesh_.processor(), static_cast<std::int32_t const*>(back.data()),
                                back.local_elements(), state_.data());
    auto const arrived = moving.wait();
    ashlar::cuda::copy_elements(mesh_.processor(), static_cast<std::int32_t const*>(arrived.data()),
                                arrived.local_elements(), whole_.data());
  }
  /// Returns the results of the last step.
  std::vector<std::int32_t> values() const {
    auto all = download(whole_);
    auto const state = download(state_);
    all.insert(all.end(), state.begin(), state.end());
    return all;
  }

 private:
  static inline shape const extents{6, 5};
  mesh mesh_;
  device_tensor x_, state_, whole_;
};

ashlar::topology mesh_of(int ranks) {
  return {{"node", ranks == 4 ? 2 : 1}, {"gpu", ranks == 4 ? 2 : ranks}};
}

TEST_CASE("replayed steps and repeated steps agree bitwise") {
  constexpr int steps = 6;
  for (int ranks : {1, 2, 4})
    for (ashlar::nccl::sums const how :
         {ashlar::nccl::sums::library, ashlar::nccl::sums::ordered}) {
      fake::pause_up_to(60);
      fake::all_ranks(ranks, [&](world const& w) {
        mesh const m(w, mesh_of(ranks), ashlar::machines::workstation, how);
        std::vector<std::vector<std::int32_t>> expected;
        program anew(m), replayed(m);
        for (int i = 0; i < steps; ++i) {
          anew.set_input(i);
          anew.step();
          expected.push_back(anew.values());
        }
        replayed.set_input(0);
        replayed.step();
        require_that(replayed.values() == expected[0], "the first step");
        auto graph = m.capture([&] { replayed.step(); });
        require_that(replayed.values() == expected[0], "a capture does nothing");
        require_that(graph.operations() >= 4, "operations");
        for (int i = 1; i < steps; ++i) {
          replayed.set_input(i);
          graph.replay();
          // A step of another program runs between two replays. This step must not use the memory
          // of the graph.
          anew.step();
          if (replayed.values() != expected[static_cast<std::size_t>(i)])
            throw std::logic_error("step " + std::to_string(i));
        }
      });
      fake::pause_up_to(0);
    }
}

TEST_CASE("a replay is one call of the host, and repeated steps do not allocate memory") {
  fake::all_ranks(1, [&](world const& w) {
    mesh const m(w, {{"node", 1}, {"gpu", 1}});
    program p(m);
    p.step();
    int const memory = fake::calls_for_memory();
    int work = fake::calls_for_work();
    p.step();
    int const of_a_step = fake::calls_for_work() - work;
    CHECK(fake::calls_for_memory() == memory);
    auto graph = m.capture([&] { p.step(); });
    graph.replay();
    work = fake::calls_for_work();
    graph.replay();
    // One call launches the graph. The other calls are for events before and after the graph.
    CHECK(fake::calls_for_work() - work <= 4);
    CHECK(of_a_step > 8);
    CHECK(fake::calls_for_memory() == memory);
  });
}

TEST_CASE("operations that cannot be captured are refused, and the mesh stays usable") {
  std::atomic<bool> asked = false;
  fake::all_ranks(2, [&](world const& w) {
    mesh const m(w, mesh_of(2));
    program p(m);
    p.set_input(0);
    p.step();
    auto const before = p.values();
    auto const refusal = [&](auto const& work) {
      return message_of([&] { (void)m.capture(work); });
    };
    auto const says = [&](std::string const& text, char const* part) {
      if (!has(text, part)) throw std::logic_error(text + " has no " + part);
    };
    says(refusal([&] { p.set_input(1); }), "upload: a CUDA graph is being captured");
    says(refusal([&] { (void)p.values(); }), "captured");
    says(refusal([&] { m.barrier(); }), "barrier: a CUDA graph is being captured");
    says(refusal([&] {
           double x[] = {1};
           m.all_reduce(std::span<double>(x));
         }),
         "a CUDA graph is being captured");
    says(refusal([&] { (void)m.capture([] {}); }), "captures cannot be nested");
    says(refusal([&] { throw ashlar::error("program", "its own"); }), "its own");
    device_tensor const x(m, {4, 4}, parse_placement("B,S(0)"));
    {
      // Rank 1 starts the redistribution only after rank 0 has tried to capture. So during this
      // attempt, the redistribution is certainly pending on rank 0.
      if (w.rank() == 1) asked.wait(false);
      auto moving = ashlar::redistribute_async(x, parse_placement("B,B"));
      if (w.rank() == 0) {
        auto const text = refusal([&] {});
        asked = true;
        asked.notify_all();
        says(text, "a redistribution is pending. Wait for it before");
      }
      moving.wait();
    }
    if (p.values() != before) throw std::logic_error("something was done");
    auto graph = m.capture([&] { p.step(); });
    graph.replay();
    p.set_input(0);
    m.barrier();
  });
  // If a transfer is started in a capture, it must be waited for in the same capture. A wait after
  // the capture is an error, because the captured transfer has not run.
  fake::all_ranks(2, [&](world const& w) {
    mesh const m(w, mesh_of(2));
    device_tensor const x(m, {4, 4}, parse_placement("B,S(0)"));
    auto left = ashlar::redistribute_async(x, parse_placement("B,B"));
    left.wait();
    std::string text = message_of([&] {
      (void)m.capture([&] { left = ashlar::redistribute_async(x, parse_placement("B,B")); });
    });
    require_that(has(text, "Wait for it within"), "left behind");
    text = message_of([&] { left.wait(); });
    require_that(has(text, "has not run: wait for it within the captured part"),
                 "waited for after");
  });
}

TEST_CASE("a rank does not replay: the others name the replay and stop") {
  auto const said = fake::run_ranks(
      2,
      [&](world const& w) {
        mesh const m(w, mesh_of(2));
        program p(m);
        p.step();
        auto graph = m.capture([&] { p.step(); });
        graph.replay();
        (void)p.values();
        if (w.rank() == 1) std::this_thread::sleep_for(1200ms);
        for (int i = 0; i < 400; ++i) {
          graph.replay();
          (void)p.values();  // returns because the watchdog aborts the communicators
        }
        if (w.rank() == 0) throw std::logic_error("nothing happened");
      },
      400ms);
  CHECK(has(said[0], "a replay of a graph has not ended within 0.4 s."));
  CHECK(has(said[0], ", for rank 1. Rank 1 makes no transfer now: its last one, a replay"));
  CHECK(has(said[1], "nccl: "));
  CHECK(fake::live_graphs() == 0);
  CHECK(fake::live_communicators() == 0);
}

TEST_CASE("memory: allocation counts, blocks of a graph, and requests above the free memory") {
  ashlar::cuda::stream stream;
  ashlar::cuda::pool pool;
  ashlar::cuda::arena memory(pool, stream);
  void* const a = memory.allocate(1000);
  void* const b = memory.allocate(0);
  CHECK(b != nullptr);
  CHECK(memory.bytes_in_use() == 1024 + 512);
  memory.release(a, 1000);
  CHECK(memory.allocate(1010) == a);  // 1010 and 1000 bytes have the same size class
  memory.release(a, 1010);
  CHECK(memory.peak_bytes() == 1024 + 512);

  int const graph = memory.begin_private();
  CHECK(memory.allocate(1000) == a);
  void* const grown = memory.allocate(1000);
  memory.release(a, 1000);
  memory.release(b, 0);  // captured work may use b, so b now belongs to the graph
  CHECK(memory.allocate(1000) == a);
  memory.end_private();
  memory.release(a, 1000);
  memory.release(grown, 1000);
  void* const other = memory.allocate(1000);
  CHECK(other != a);
  CHECK(other != grown);
  void* const small = memory.allocate(10);
  CHECK(small != b);
  memory.free_private(graph);
  void* const again = memory.allocate(1000);
  CHECK((again == a || again == grown));
  for (void* const block : {other, again}) memory.release(block, 1000);
  memory.release(small, 10);
  CHECK(memory.bytes_in_use() == 0);

  fake::machine little;
  little.memory = 1 << 20;
  fake::set_machine(little);
  // The request of 900 KiB is more than the free memory. It succeeds because the arena first
  // returns its free blocks to the driver.
  void* const half = memory.allocate(1 << 19);
  memory.release(half, 1 << 19);
  void* const most = memory.allocate(900 << 10);
  std::string const text = message_of([&] { memory.allocate(1 << 19); });
  CHECK(has(text, "requested 524288 bytes"));
  CHECK(has(text, "of 1048576 are free"));
  CHECK(has(text, "this mesh uses "));
  memory.release(most, 900 << 10);
  {
    // The other arena keeps half of the memory in a free block. It must return this block, so that
    // the request of 900 KiB succeeds.
    ashlar::cuda::arena other_memory(pool, stream);
    other_memory.release(other_memory.allocate(1 << 19), 1 << 19);
    void* const taken = memory.allocate(900 << 10);
    CHECK(other_memory.bytes_held() == 0);
    memory.release(taken, 900 << 10);
  }
  fake::set_machine({});
}

}  // namespace
}  // namespace ashlar_test
