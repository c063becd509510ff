// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests parts of a mesh of fake GPU ranks (fake_cuda.hpp), and crossings of tensors between the
// parts: the values, the messages that NCCL gets and their order, work that runs during crossings,
// and faults.

#include <support/device_crossings.hpp>
#include <support/message_of.hpp>

#include "fake_ranks.hpp"
#include "recorded_messages.hpp"

namespace ashlar_test {
namespace {

using namespace std::chrono_literals;
using ashlar::shape;
using ashlar::topology;

/// Moves tensors between the two parts, for one in `one_in` pairs of placements. Returns the number
/// of crossings with wrong values, plus those in which this rank received another number of bytes
/// than planned, plus those with other messages than planned.
template <class T>
int wrong_values_or_messages(two_parts const& m, shape const& extents, std::size_t one_in) {
  auto const& t = m.whole.topology();
  int const here = m.whole.rank();
  fake::take_messages("ashlar crossings", here);
  return wrong_crossings<T>(m, extents, one_in, [&](auto const& plan) {
    std::int64_t planned = 0, received = 0;
    for_each_transfer(plan.across, t, [&](ashlar::crossing_transfer const& one) {
      if (one.to == here) planned += one.size * static_cast<std::int64_t>(sizeof(T));
    });
    auto const messages = fake::take_messages("ashlar crossings", here);
    for (auto const& one : messages)
      if (!one.sends) received += static_cast<std::int64_t>(one.bytes);
    return (received != planned) +
           !(messages == recorded_messages(prepared_for(plan, t, here), sizeof(T)));
  });
}

/// Runs body(two_parts) as all ranks of a mesh with the axes `whole`, whose two parts have the axes
/// `one` and `two`.
template <class Body>
void on_parts(topology const& whole, topology const& one, topology const& two, Body const& body) {
  fake::all_ranks(whole.ranks(), [&](world const& w) { body(two_parts(w, whole, one, two)); });
}

}  // namespace

TEST_CASE("every placement crosses to every placement of another part, and back") {
  fake::pause_up_to(30);
  on_parts({{"rank", 2}}, {{"gpu", 1}}, {{"gpu", 1}}, [](auto const& m) {
    CHECK(wrong_values_or_messages<float>(m, {5, 7}, 1) == 0);
  });
  on_parts({{"rank", 3}}, {{"gpu", 1}}, {{"gpu", 2}}, [](auto const& m) {
    CHECK(wrong_values_or_messages<ashlar::bfloat16>(m, {4, 7}, 1) == 0);
  });
  on_parts({{"rank", 4}}, {{"gpu", 2}}, {{"gpu", 2}}, [](auto const& m) {
    for (shape const& extents : {shape{5, 7}, {1, 3}, {0, 2}})
      CHECK(wrong_values_or_messages<float>(m, extents, 1) == 0);
  });
  on_parts({{"node", 2}, {"gpu", 3}}, {{"gpu", 2}}, {{"node", 2}, {"gpu", 2}}, [](auto const& m) {
    CHECK(wrong_values_or_messages<double>(m, {6, 5}, 7) == 0);
  });
  fake::pause_up_to(0);
}

TEST_CASE("many chunks, which the ranks of the target pass on") {
  fake::pause_up_to(30);
  for (int const gpus : {2, 3})
    fake::all_ranks(2 * gpus, [&](world const& w) { cross_in_chunks(w, gpus); });
  fake::pause_up_to(0);
}

TEST_CASE("tensors cross in the background while both parts compute and communicate") {
  fake::pause_up_to(200);
  on_parts({{"node", 2}, {"gpu", 2}}, {{"gpu", 2}}, {{"gpu", 2}}, cross_in_background);
  fake::pause_up_to(0);
}

TEST_CASE("parts of parts, and transfers of parts beside those of the whole mesh") {
  fake::pause_up_to(60);
  fake::all_ranks(4, [](world const& w) { use_parts_of_parts(w, 5); });
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
          // After the watchdog has aborted the communicators, a barrier throws.
          m.whole.barrier();
          std::this_thread::sleep_for(5ms);
        }
      },
      400ms);
  std::string all;
  for (auto const& text : said) all += text + "\n";
  INFO(all);
  // Rank 0 waits for rank 2 in the crossing. Rank 1 has nothing to send, and waits for rank 2 in
  // the barrier. Rank 0 or rank 1 reports the timeout.
  CHECK(has(all, " has not ended within 0.4 s."));
  CHECK(has(all, " in a crossing between two parts (number 1), for rank 2."));
  CHECK(fake::live_communicators() == 0);
}

}  // namespace ashlar_test
