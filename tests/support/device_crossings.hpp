// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Test cases for crossings of tensors between parts of a mesh of ranks with one device each. They
// run on a real device (tests/cuda) and on the fake device (tests/cuda/fake). Every rank calls each
// function.

#include <algorithm>
#include <random>
#include <vector>

#include <doctest/doctest.h>
#include <support/nccl_mesh_cases.hpp>
#include <support/numbers.hpp>

#include <ashlar/plan/crossing/transfers.hpp>
#include <ashlar/tensor/cross_mesh_async.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/gather.hpp>

namespace ashlar_test {

/// Two parts of a mesh: its first ranks, and the others in reverse order.
struct two_parts {
  mesh whole, a, b;

  two_parts(world const& w, ashlar::topology const& all, ashlar::topology const& one,
            ashlar::topology const& two)
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

/// Moves a tensor from placements on one part to placements on the other part, and back, for one in
/// `one_in` pairs of placements. Returns the number of wrong results. wrong_messages(plan) is
/// called after each crossing, and returns how much of what was sent differs from the plan.
template <class T, class WrongMessages>
int wrong_crossings(two_parts const& m, ashlar::shape const& extents, std::size_t one_in,
                    WrongMessages const& wrong_messages) {
  auto const values = numbers<T>(extents);
  auto const from = all_placements(2, m.a.axes(), {ashlar::reduction::sum});
  auto const to = all_placements(2, m.b.axes(), {ashlar::reduction::sum});
  int wrong = 0;
  auto const crossed = [&](auto const& x, mesh const& target, placement const& q) {
    auto y = ashlar::redistribute(x, target, q);
    wrong += wrong_messages(plan_redistribution(x, target, q).plan);
    wrong += !has_values(y, values) || !(y.placement() == q);
    return y;
  };
  for (std::size_t k = 0; k < from.size() * to.size(); k += one_in) {
    auto const& p = from[k / to.size()];
    auto const x = ashlar::from_full<2>(m.a, extents, p, std::span<T const>(values));
    crossed(crossed(x, m.b, to[k % to.size()]), m.a, p);
  }
  return wrong;
}

/// Moves a tensor from the first node of a mesh of two nodes to the second node. Each node has
/// `gpus` ranks, and every rank of a node has a copy of the tensor. The tensor moves in many
/// chunks, which the ranks of the second node pass on to each other.
inline void cross_in_chunks(world const& w, int gpus) {
  mesh const whole(w, {{"node", 2}, {"gpu", gpus}}, {{1e-12, 1e-9}, {1e-11, 1e-8}, 1e11, 1e10, 0});
  auto const parts = whole.split("node");
  auto const copies = placement::all_broadcast(1);
  auto const values = numbers<std::int32_t>({40, 30});
  auto const x = ashlar::from_full<2>(parts[0], {40, 30}, copies,
                                      std::span<std::int32_t const>(values));
  auto const plan = plan_redistribution(x, parts[1], copies).plan.across;
  CHECK(plan.chunks > 1);
  bool passes_on = false;
  for_each_transfer(plan, whole.topology(), [&](ashlar::crossing_transfer const& t) {
    passes_on = passes_on || t.from >= gpus;
  });
  CHECK(passes_on);
  CHECK(has_values(ashlar::redistribute(x, parts[1], copies), values));
}

/// Moves tensors in both directions between two parts with equally many axes, beside moves within
/// the parts. The ranks call progress() at different times.
inline void cross_in_background(two_parts const& m) {
  auto const placements = all_placements(2, m.a.axes());
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
}

/// Uses parts of parts, and transfers of parts beside those of the whole mesh, on four ranks.
inline void use_parts_of_parts(world const& w, int turns) {
  mesh const whole(w, {{"stage", 2}, {"gpu", 2}});
  auto const stages = whole.split("stage");
  auto const values = numbers<float>({6, 8});
  auto const rows = placement::all_broadcast(1).with_split(0, 0),
             copies = placement::all_broadcast(1);
  for (int turn = 0; turn < turns; ++turn) {
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
}

}  // namespace ashlar_test
