// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8

// Tests streamed matrix products. A streamed product is computed in panels, one after another, to
// save memory. Its values must be correct, and its memory must not exceed the prediction of the
// plan. It must move the bytes of the plan. If splits are even, a streamed product moves as many
// bytes as the same product without panels. Values are integers, so sums are exact.

#include <doctest/doctest.h>
#include <support/dense_product.hpp>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/traffic_check.hpp>

#include <ashlar/comm/mpi/pairwise_exchange.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/matmul.hpp>

namespace ashlar_test {
namespace {

using ashlar::matmul_options;

// The planner's bound for the buffers of a step assumes the chunk size of the transport.
static_assert(ashlar::packing_chunk_bytes == ashlar::mpi::pairwise_chunk_bytes);

/// Returns an upper bound for the memory that the mesh's allocator (the arena) uses for `bytes` in
/// at most 32 blocks. The arena enlarges blocks by at most an eighth, or to 512 bytes.
std::size_t rounded_up(std::int64_t bytes) {
  return static_cast<std::size_t>(bytes) / 8 * 9 + 32 * 512;
}

template <class X, class Y>
std::string try_streamed(X const& a, Y const& b, placement const& p, matmul_options const& wanted,
                         dense const& expected, transport on = transport::messages) {
  auto const& x = ashlar::detail::matmul_operand<X>::get(a);
  auto const& m = x.mesh();
  auto const& t = m.topology();
  auto const plan = plan_matmul(a, b, p, wanted);
  std::int64_t const given = bytes_of(plan.a, t, plan.a.from) + bytes_of(plan.b, t, plan.b.from);
  traffic_check const traffic(m, on);
  auto const& log = traffic.log();
  m.memory().reset_peak();
  auto const before = m.memory().bytes_in_use();
  auto const c = matmul(a, b, p, wanted);
  auto const used = m.memory().peak_bytes() - before;
  std::string wrong = traffic.difference(predicted(m, plan), false);
  wrong += wrong_with(c, expected);
  if (log.received_bytes() != received_bytes(plan, t, m.coordinate()))
    wrong += " bytes not as planned;";
  if (used > rounded_up(plan.peak_bytes - given))
    wrong += " " + std::to_string(used) + " bytes used, " +
             std::to_string(plan.peak_bytes - given) + " planned;";
  std::int64_t whole = 0;
  bool even = true;
  for (auto const* part : {&plan.a, &plan.b, &plan.c}) {
    whole += part->received_bytes(t, m.coordinate());
    for (auto const n : part->extents.extent)
      even = even && n % (plan.panels.count * t.ranks()) == 0;
  }
  if (even && log.received_bytes() != whole)
    wrong += " bytes differ from those of the complete product;";
  return wrong.empty() ? ""
                       : to_string(x.extents()) + " " + to_string(plan.a.from) + " x " +
                             to_string(plan.b.from) + " -> " + to_string(p, t) + " in " +
                             std::to_string(plan.panels.count) + " panels of " +
                             plan.panels.letter + ":" + wrong;
}

/// Tries products of random placements, in random numbers of panels. Returns how many of these
/// products could be computed in panels.
template <class T, int Rank>
int sample(ashlar::mesh const& m, index const& a_extents, index const& b_extents, bool ta, bool tb,
           int samples) {
  std::mt19937 random(17);
  dense const a = seeded_integers(a_extents, 1), b = seeded_integers(b_extents, 2);
  dense const c = product(a, b, ta, tb);
  auto const states = all_placements(Rank, m.axes());
  auto const any = [&] {
    return states[static_cast<std::size_t>(
        uniform(random, 0, static_cast<int>(states.size()) - 1))];
  };
  int streamed = 0;
  for (int i = 0; i < samples; ++i) {
    auto const x = placed<T, Rank>(m, a, any());
    auto const y = placed<T, Rank>(m, b, any());
    auto const p = any();
    char const letter = "mnkb"[uniform(random, 0, Rank)];
    matmul_options const wanted{0, letter, uniform(random, 1, 4)};
    auto const run = [&](auto const& left, auto const& right) {
      try {
        plan_matmul(left, right, p, wanted);
      } catch (ashlar::error const&) {
        return;  // panels along this letter are not possible here
      }
      ++streamed;
      CHECK(try_streamed(left, right, p, wanted, c) == "");
    };
    if (ta && tb) run(transposed(x), transposed(y));
    else if (ta) run(transposed(x), y);
    else if (tb) run(x, transposed(y));
    else run(x, y);
  }
  return streamed;
}

void check_limits(transport on) {
  int const n = world_size();
  auto const t = topologies(n).back();
  auto const m = mesh_on(on, t);
  placement blocks = placement::all_broadcast(t.axes());
  for (int a = 0; a < t.axes(); ++a) blocks = blocks.with_split(a, a % 2);
  int const size = 24 * n;
  dense const a = seeded_integers({size, size}, 3), b = seeded_integers({size, size}, 4);
  auto const x = placed<float, 2>(m, a, blocks), y = placed<float, 2>(m, b, blocks);
  auto const whole = plan_matmul(x, y, blocks);
  REQUIRE(whole.panels.letter == 0);
  dense const c = product(a, b, false, false);
  std::int64_t const least = 3 * bytes_of(whole.a, t, blocks);
  std::int64_t const limit = least + (whole.peak_bytes - least) * 2 / 3;
  auto const plan = plan_matmul(x, y, blocks, {limit});
  CHECK(plan.peak_bytes <= limit);
  CHECK(try_streamed(x, y, blocks, {limit}, c, on) == "");
  for (char const letter : {'m', 'n', 'k'})
    CHECK(try_streamed(x, y, blocks, {0, letter, 3}, c, on) == "");

  // Without an explicit limit, the machine's memory is the limit.
  auto machine = m.machine();
  machine.memory = limit;
  m.set_machine(machine);
  CHECK(plan_matmul(x, y, blocks) == plan);
  {
    traffic_check const traffic(m, on);
    CHECK(wrong_with(matmul(x, y, blocks), c) == "");
    CHECK(traffic.difference(predicted(m, plan), false) == "");
  }

  machine.memory = least / 2;
  m.set_machine(machine);
  auto const message = message_of([&] { matmul(x, y, blocks); });
  CHECK(message.find("fits " + std::to_string(least / 2) + " bytes per rank") != std::string::npos);
}

}  // namespace

TEST_CASE("panels of any letter give the product, with the bytes of the complete product") {
  for (auto const& m : all_meshes(bandwidth_bound)) {
    int streamed = 0;
    streamed += sample<float, 2>(m, {24, 48}, {48, 24}, false, false, 25);
    streamed += sample<float, 2>(m, {96, 48}, {48, 96}, false, false, 15);
    streamed += sample<double, 2>(m, {17, 13}, {13, 19}, false, false, 15);
    streamed += sample<float, 2>(m, {24, 12}, {36, 24}, true, true, 15);
    streamed += sample<float, 2>(m, {24, 7}, {24, 11}, true, false, 10);
    streamed += sample<float, 3>(m, {8, 5, 12}, {8, 12, 6}, false, false, 15);
    streamed += sample<float, 3>(m, {7, 5, 12}, {7, 6, 12}, false, true, 10);
    CHECK(streamed >= 30);
  }
}

TEST_CASE("the local product is released when the first step of the result's move has read it") {
  int const n = world_size();
  if (n < 4 || n % 2 != 0) return;  // on fewer ranks, the result moves in one step
  auto const m = mesh_on(transport::messages, {{"node", 2}, {"gpu", n / 2}}, bandwidth_bound);
  auto const p = placement::all_broadcast(2);
  auto const x = ashlar::full<float>(m, {1024, 2048}, ashlar::parse_placement("S(1),S(1)"), 1);
  auto const y = ashlar::full<float>(m, {2048, 1024}, ashlar::parse_placement("S(0),S(0)"), 1);
  auto const given = 4 * (x.local_elements() + y.local_elements());
  for (auto const& wanted : {matmul_options{}, matmul_options{0, 'k', 1}}) {
    auto const plan = plan_matmul(x, y, p, wanted);
    CHECK(plan.c.steps.size() > 1);
    m.memory().reset_peak();
    auto const before = m.memory().bytes_in_use();
    auto const c = matmul(x, y, p, wanted);
    CHECK(m.memory().peak_bytes() - before <= rounded_up(plan.peak_bytes - given));
    CHECK(c.local()[0] == 2048);
  }
}

TEST_CASE("if memory is short, a product streams and keeps to the limit") {
  if (world_size() == 1) return;
  for (auto const on : {transport::shared_memory, transport::messages}) check_limits(on);
}

}  // namespace ashlar_test
