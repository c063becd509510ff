// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests parts of a mesh of fake GPU ranks (fake_cuda.hpp), and crossings of tensors between the
// parts: the values, the messages that NCCL gets and their order, work that runs during crossings,
// and faults.

#include <support/message_of.hpp>
#include <support/nccl_mesh_cases.hpp>

#include <ashlar/plan/crossing/transfers.hpp>
#include <ashlar/tensor/cross_mesh_async.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/gather.hpp>

#include "fake_ranks.hpp"
#include "numbers.hpp"
#include "recorded_messages.hpp"

namespace ashlar_test {
namespace {

using namespace std::chrono_literals;
using ashlar::shape;
using ashlar::topology;

/// Two parts of a mesh: its first ranks, and the others in reverse order.
struct two_parts {
  mesh whole, a, b;

  two_parts(world const& w, topology const& all, topology const& one, topology const& two)
      : whole(w, all), a(whole.part(ranks(0, one.ranks(), false), one)),
        b(whole.part(ranks(one.ranks(), two.ranks(), true), two)) {}

 private:
  static std::vector<int> ranks(int first, int count, bool reverse) {
    std::vector<int> list;
    for (int r = 0; r < count; ++r) list.push_back(first + (reverse ? count - 1 - r : r));
    return list;
  }
};

/// Returns whether members of the tensor's part have these values, and other ranks have none.
template <class Tensor, class T>
bool has_values(Tensor const& x, std::vector<T> const& values) {
  auto const found = ashlar::to_full(x);
  return x.mesh().is_here() ? found == values : found.empty();
}

/// Moves a tensor from placements on one part to placements on the other part, and back. Returns
/// the number of wrong results. Checks that the messages and their bytes are those of the plan.
template <class T>
int wrong_crossings(two_parts const& m, shape const& extents, std::size_t step) {
  auto const values = numbers<T>(extents);
  auto const from = all_placements(2, m.a.axes(), {ashlar::reduction::sum});
  auto const to = all_placements(2, m.b.axes(), {ashlar::reduction::sum});
  int wrong = 0;
  fake::take_messages("ashlar crossings", m.whole.rank());
  for (std::size_t k = 0; k < from.size() * to.size(); k += step) {
    auto const& p = from[k / to.size()];
    auto const& q = to[k % to.size()];
    auto const x = ashlar::from_full<2>(m.a, extents, p, std::span<T const>(values));
    auto const plan = plan_redistribution(x, m.b, q).plan;
    std::int64_t planned = 0, received = 0;
    for_each_transfer(plan.across, m.whole.topology(), [&](ashlar::crossing_transfer const& t) {
      if (t.to == m.whole.rank()) planned += t.size * static_cast<std::int64_t>(sizeof(T));
    });
    auto const y = ashlar::redistribute(x, m.b, q);
    auto const messages = fake::take_messages("ashlar crossings", m.whole.rank());
    for (auto const& one : messages)
      if (!one.sends) received += static_cast<std::int64_t>(one.bytes);
    wrong += received != planned;
    wrong += !(messages == recorded_messages(prepared_for(plan, m.whole.topology(), m.whole.rank()),
                                             sizeof(T)));
    wrong += !has_values(y, values) || !(y.placement() == q);
    wrong += !has_values(ashlar::redistribute(y, m.a, p), values);
    fake::take_messages("ashlar crossings", m.whole.rank());
  }
  return wrong;
}

/// Runs body(whole mesh, its two parts) on all ranks.
template <class Body>
void on_parts(topology const& whole, topology const& one, topology const& two, Body const& body) {
  fake::all_ranks(whole.ranks(), [&](world const& w) { body(two_parts(w, whole, one, two)); });
}

}  // namespace

TEST_CASE("every placement crosses to every placement of another part, and back") {
  fake::pause_up_to(30);
  on_parts({{"rank", 2}}, {{"gpu", 1}}, {{"gpu", 1}}, [](auto const& m) {
    CHECK(wrong_crossings<float>(m, {5, 7}, 1) == 0);
  });
  on_parts({{"rank", 3}}, {{"gpu", 1}}, {{"gpu", 2}}, [](auto const& m) {
    CHECK(wrong_crossings<ashlar::bfloat16>(m, {4, 7}, 1) == 0);
  });
  on_parts({{"rank", 4}}, {{"gpu", 2}}, {{"gpu", 2}}, [](auto const& m) {
    for (shape const& extents : {shape{5, 7}, {1, 3}, {0, 2}})
      CHECK(wrong_crossings<float>(m, extents, 1) == 0);
  });
  on_parts({{"node", 2}, {"gpu", 3}}, {{"gpu", 2}}, {{"node", 2}, {"gpu", 2}}, [](auto const& m) {
    CHECK(wrong_crossings<double>(m, {6, 5}, 7) == 0);
  });
  fake::pause_up_to(0);
}

TEST_CASE("many chunks, which the ranks of the target pass on") {
  fake::pause_up_to(30);
  fake::all_ranks(6, [](world const& w) {
    mesh const whole(w, {{"node", 2}, {"gpu", 3}}, {{1e-12, 1e-9}, {1e-11, 1e-8}, 1e11, 1e10, 0});
    auto const parts = whole.split("node");
    auto const copies = placement::all_broadcast(1);
    auto const values = numbers<std::int32_t>({40, 30});
    auto const x = ashlar::from_full<2>(parts[0], {40, 30}, copies,
                                        std::span<std::int32_t const>(values));
    auto const plan = plan_redistribution(x, parts[1], copies).plan.across;
    CHECK(plan.chunks > 1);
    bool passes_on = false;
    for_each_transfer(plan, whole.topology(), [&](ashlar::crossing_transfer const& t) {
      passes_on = passes_on || t.from >= 3;
    });
    CHECK(passes_on);
    CHECK(has_values(ashlar::redistribute(x, parts[1], copies), values));
  });
  fake::pause_up_to(0);
}

TEST_CASE("tensors cross in the background while both parts compute and communicate") {
  fake::pause_up_to(200);
  on_parts({{"node", 2}, {"gpu", 2}}, {{"gpu", 2}}, {{"gpu", 2}}, [](auto const& m) {
    auto const placements = all_placements(2, 1);
    auto const values = numbers<double>({5, 7});
    std::minstd_rand random(static_cast<unsigned>(m.whole.rank()));
    for (auto const& p : placements)
      for (auto const& q : placements) {
        auto const x = ashlar::from_full<2>(m.a, {5, 7}, p, std::span<double const>(values));
        auto const y = ashlar::from_full<2>(m.b, {5, 7}, q, std::span<double const>(values));
        auto there = redistribute_async(x, m.b, q);
        auto back = redistribute_async(y, m.a, p);
        // The source, a temporary copy, is released while it still crosses.
        auto again = redistribute_async(x.clone(), m.b, p);
        CHECK(has_values(redistribute(x, q), values));
        CHECK(has_values(redistribute(y, p), values));
        for (auto k = random() % 40; k > 0; --k) m.whole.progress();
        for (int turn = 0; turn < 1000 && !there.test(); ++turn) m.whole.progress();
        CHECK(has_values(back.wait(), values));
        CHECK(has_values(again.wait(), values));
        CHECK(has_values(there.wait(), values));
      }
    m.whole.barrier();
  });
  fake::pause_up_to(0);
}

TEST_CASE("parts of parts, and transfers of parts beside those of the whole mesh") {
  fake::pause_up_to(60);
  fake::all_ranks(4, [](world const& w) {
    mesh const whole(w, {{"stage", 2}, {"gpu", 2}});
    auto const stages = whole.split("stage");
    auto const values = numbers<float>({6, 8});
    auto const rows = placement::all_broadcast(1).with_split(0, 0),
               copies = placement::all_broadcast(1);
    for (int turn = 0; turn < 5; ++turn) {
      auto const all = ashlar::from_full<2>(whole, {6, 8},
                                            placement::all_broadcast(2).with_split(0, 1),
                                            std::span<float const>(values));
      auto pending = redistribute_async(all, placement::all_broadcast(2));
      for (auto const& own : stages) {
        auto const x = ashlar::from_full<2>(own, {6, 8}, rows, std::span<float const>(values));
        auto gathered = redistribute_async(x, copies);
        CHECK(has_values(redistribute(x, placement::all_broadcast(1).with_split(0, 1)), values));
        CHECK(has_values(gathered.wait(), values));
        double sums[] = {1, double(whole.rank())};
        own.all_reduce(std::span<double>(sums));
        int const first = own.as_part().ranks[0];
        CHECK(sums[0] == (own.is_here() ? 2 : 1));
        CHECK(sums[1] == (own.is_here() ? 2 * first + 1 : whole.rank()));
        own.barrier();
        auto const inner = own.part({1}, {{"gpu", 1}});
        CHECK(inner.is_here() == (own.is_here() && own.rank() == 1));
        auto const outer = own.part({0}, {{"gpu", 1}});
        auto const alone = ashlar::from_full<2>(inner, {6, 8}, copies,
                                                std::span<float const>(values));
        CHECK(has_values(redistribute(alone, outer, rows), values));
      }
      CHECK(has_values(pending.wait(), values));
    }
  });
  fake::pause_up_to(0);
}

TEST_CASE("a crossing within a capture is refused") {
  fake::all_ranks(2, [](world const& w) {
    two_parts const m(w, {{"gpu", 2}}, {{"gpu", 1}}, {{"gpu", 1}});
    auto const x = ashlar::from_full<1>(m.a, {2}, placement::all_broadcast(1),
                                        std::span<float const>(std::vector<float>{1, 2}));
    auto const cross = [&] { redistribute(x, m.b, placement::all_broadcast(1)); };
    cross();
    CHECK(has(message_of([&] { (void)m.whole.capture(cross); }),
              "a tensor cannot cross to another part of the mesh within a captured part. Run a "
              "pipeline without a graph."));
    cross();
  });
}

TEST_CASE("a rank that does not come to a crossing is named") {
  auto const said = fake::run_ranks(
      3,
      [](world const& w) {
        two_parts const m(w, {{"gpu", 3}}, {{"gpu", 2}}, {{"gpu", 1}});
        auto const values = numbers<float>({4, 4});
        auto const x = ashlar::from_full<2>(m.a, {4, 4}, placement::all_broadcast(1),
                                            std::span<float const>(values));
        if (w.rank() == 2) {
          std::this_thread::sleep_for(1500ms);
          throw std::logic_error("rank 2 did something else");
        }
        (void)redistribute(x, m.b, placement::all_broadcast(1));
        while (true) {
          m.whole.barrier();  // returns when the watchdog aborts the communicators, then throws
          std::this_thread::sleep_for(5ms);
        }
      },
      400ms);
  std::string all;
  for (auto const& text : said) all += text + "\n";
  INFO(all);
  // Rank 1 has nothing to send and waits for rank 2 in the barrier. Rank 0 or rank 1 reports the
  // timeout.
  CHECK(has(all, " has not ended within 0.4 s."));
  CHECK(has(all, " in a crossing between two parts (number 1), for rank 2."));
  CHECK(fake::live_communicators() == 0);
}

}  // namespace ashlar_test
