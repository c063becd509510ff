// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests streamed matrix products, which are computed in panels, one after another, to save memory.
// Panels divide one of the dimensions m, n and k of the product, the streamed dimension. The test
// checks:
// - The panels cover the streamed dimension exactly once.
// - A panel of a tensor has the same placement as the full tensor.
// - In each panel, all tensors with the streamed dimension have the same indices in the same order.
// - The predicted seconds and memory equal those of the formulas in plan/matmul_stream.hpp.

#include <algorithm>
#include <numeric>

#include <doctest/doctest.h>
#include <support/naive_placement.hpp>
#include <support/relative.hpp>

#include <ashlar/plan/matmul.hpp>

namespace ashlar_test {
namespace {

using ashlar::matmul_plan;
using ashlar::panel_cuts;
using ashlar::split;

/// Returns the global indices of one panel, in the order in which the panel holds them.
std::vector<int> indices(panel_cuts const& cuts, int panel) {
  std::vector<int> all;
  for (int q = 0; q < cuts.chunks(); ++q) {
    auto const slice = cuts.slice(q, panel);
    for (auto i = slice.begin; i < slice.end(); ++i) all.push_back(static_cast<int>(i));
  }
  return all;
}

/// Compares two ways to distribute each panel of a vector of n items with placement p. In the first
/// way, each rank takes the items of its shard that belong to the panel. In the second way, the
/// panel is a tensor of its own with placement p. Returns whether every rank gets the same items in
/// the same order.
bool lies_like_the_whole(panel_cuts const& cuts, placement const& p, ashlar::topology const& t) {
  auto const n = static_cast<int>(cuts.extent);
  naive_mesh const mesh(t);
  for (int panel = 0; panel < cuts.stream.count; ++panel) {
    auto const order = indices(cuts, panel);
    if (static_cast<std::int64_t>(order.size()) != cuts.panel_extent(panel)) return false;
    for (auto const& c : mesh.all_coordinates()) {
      std::vector<int> mine;
      auto const shard = held(n, p, 0, mesh, c);
      for (int i : order)
        if (std::find(shard.begin(), shard.end(), i) != shard.end()) mine.push_back(i);
      std::vector<int> expected;
      for (int at : held(static_cast<int>(order.size()), p, 0, mesh, c))
        expected.push_back(order[static_cast<std::size_t>(at)]);
      if (mine != expected) return false;
    }
  }
  return true;
}

matmul_plan product_of_blocks(placement const& a, placement const& b, placement const& c,
                              ashlar::shape const& extents, ashlar::topology const& t,
                              ashlar::matmul_options const& wanted) {
  return plan_matmul(extents, a, extents, b, false, false, c, 8, t, ashlar::machines::workstation,
                     wanted);
}

}  // namespace

TEST_CASE("a panel is placed like the complete tensor, for every tensor with its letter") {
  int joined = 0, refused = 0;
  for (auto const& t : {ashlar::topology{{"a", 2}, {"b", 3}}, ashlar::topology{{"a", 4}, {"b", 2}},
                        ashlar::topology{{"a", 2}, {"b", 1}, {"c", 2}}}) {
    auto const states = all_placements(1, t.axes(), {});
    for (auto const& p : states)
      for (auto const& q : states)
        for (int n : {0, 1, 5, 12, 13, 23, 24, 48})
          for (int count : {1, 2, 3, 5}) {
            ashlar::panel_stream panels{'k', count, {}};
            bool ok = true;
            for (auto const* x : {&p, &q})
              ok = ok && ashlar::detail::join_chunks(panels.chunks,
                                                     ashlar::detail::split_extents(*x, 0, t), n);
            if (!ok) {
              ++refused;
              continue;
            }
            ++joined;
            panel_cuts const cuts{n, panels};
            CHECK_MESSAGE((lies_like_the_whole(cuts, p, t) && lies_like_the_whole(cuts, q, t)),
                          n << " in " << count << ": " << p << " and " << q << " @" << t);
            std::vector<int> all, each(static_cast<std::size_t>(n));
            for (int i = 0; i < count; ++i)
              for (int item : indices(cuts, i)) all.push_back(item);
            std::sort(all.begin(), all.end());
            std::iota(each.begin(), each.end(), 0);
            CHECK(all == each);
          }
  }
  CHECK((joined > 1000 && refused > 100));
}

TEST_CASE("seconds and memory of a streamed product are those of the stated formulas") {
  ashlar::topology const t{{"row", 2}, {"column", 2}};
  auto const m = ashlar::machines::workstation;
  placement const blocks{split(0), split(1)};
  std::int64_t const block = 8 * 512 * 512;
  auto const plan = product_of_blocks(blocks, blocks, blocks, {1024, 1024}, t, {0, 'k', 4});
  // The product runs in 4 panels, each of extent 256 along k. To gather a panel of a or b, a rank
  // receives 512 x 128 elements. While a panel is multiplied, the next one is gathered. c is summed
  // in place.
  double const in = 2 * (m.intra.alpha + m.intra.beta * 8 * 512 * 128);
  double const gemm = 2.0 * 512 * 512 * 256 / m.flops;
  CHECK(plan.seconds == relative(in + 3 * std::max(gemm, in) + gemm));
  // At the peak, a rank holds
  // - the shards of a, b and c,
  // - the current and the next panels of a and b,
  // - a copy of its own part of a's next panel, and
  // - buffers.
  std::int64_t const panel = 8 * 512 * 256, rounds = 2 * 2 * 2 * 256 * 1024;
  // A rank's part of a panel of a is not contiguous, so it is packed. The send and the receive
  // buffer each hold two chunks of 256 KiB for each of two ranks. A rank's part of a panel of b
  // consists of contiguous rows and needs no buffers.
  CHECK(plan.peak_bytes == 3 * block + 2 * panel + panel + panel / 2 + panel + rounds);
  CHECK(received_bytes(plan, t, {}) ==
        received_bytes(product_of_blocks(blocks, blocks, blocks, {1024, 1024}, t, {}), t, {}));

  // Now the panels are rows of a and c. All of b is gathered first; the gathered b is as large as
  // two shards of b. The current and the next panel of a are in memory. A rank's part of a panel of
  // a is contiguous, so it is not copied. The panels of c are computed in place.
  auto rows = product_of_blocks(blocks, blocks, blocks, {1024, 1024}, t, {});
  rows.panels = {'m', 4, {}};
  REQUIRE(choose_chunks(rows, t));
  finish_stream(rows, t, m);
  std::int64_t const strip = 8 * 128 * 1024;
  CHECK(rows.peak_bytes == 3 * block + 2 * block + strip + strip + rounds);
}

TEST_CASE("a dim that its tensors split differently can be streamed if the splits divide it") {
  ashlar::topology const t{{"row", 2}, {"column", 4}};
  placement const blocks{split(0), split(1)};
  auto const plan = product_of_blocks(blocks, blocks, blocks, {64, 64}, t, {0, 'k', 2});
  CHECK(plan.panels.chunks == ashlar::inplace_vector<int, ashlar::max_axes>{4});
  CHECK_THROWS_AS(product_of_blocks(blocks, blocks, blocks, {66, 66}, t, {0, 'k', 2}),
                  ashlar::error);
  CHECK(product_of_blocks(blocks, blocks, blocks, {66, 66}, t, {0, 'm', 2}).panels.letter == 'm');
}

}  // namespace ashlar_test
