// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests every legal step of a redistribution, even if no plan uses it. Executing the step element
// by element on simulated ranks must turn its placement `from` into its placement `to`. Both
// placements must be valid. The step must list its axes outermost first, so that the members of a
// group are in the order of their shards.

#include <doctest/doctest.h>
#include <support/replay.hpp>

#include <ashlar/mesh/text.hpp>
#include <ashlar/placement/text.hpp>
#include <ashlar/plan/packing.hpp>

using namespace ashlar_test;
using ashlar::collective;

namespace {

/// Returns whether the shards of a group of ranks are consecutive parts of one dimension, in the
/// order of the group. `c` are the coordinates of any member.
bool in_order(ashlar::redistribution_step const& s, ashlar::placement const& p,
              ashlar::shape const& extents, ashlar::topology const& t,
              ashlar::coordinates const& c) {
  int const d = p[s.axes[0]].dim;
  auto previous = ashlar::local_box(extents, t, p, t.member(c, s.axes, 0))[d];
  for (int i = 1; i < t.group_size(s.axes); ++i) {
    auto const next = ashlar::local_box(extents, t, p, t.member(c, s.axes, i))[d];
    if (next.begin != previous.end()) return false;
    previous = next;
  }
  return true;
}

int check_steps(index const& sizes, ashlar::topology const& t, reduction op) {
  std::mt19937 random(21);
  ashlar::shape extents;
  for (int n : sizes) extents.extent.push_back(n);
  auto const x = random_integers(random, sizes, -99, 99);
  int const rank = extents.rank();
  int count = 0;
  for (auto const& from : all_placements(rank, t.axes(), {op})) {
    ashlar::for_each_step(from, rank, t, op, [&](ashlar::redistribution_step const& s) {
      ++count;
      INFO(ashlar::to_string(s.kind), " ", ashlar::to_string(s.axes, t), ": ",
           ashlar::to_string(s.from), " -> ", ashlar::to_string(s.to));
      REQUIRE(s.from == from);
      REQUIRE_FALSE(s.from == s.to);
      REQUIRE(ashlar::check(s.to, rank, t.axes()) == nullptr);
      replay ranks(sizes, t);
      ranks.start(x, s.from, random);
      auto const report = ranks.run(s);
      REQUIRE(ranks.difference(x, s.to) == "");
      bool const gives_parts = s.kind == collective::all_gather || s.kind == collective::all_to_all;
      bool const makes_parts = s.kind == collective::reduce_scatter ||
                               s.kind == collective::all_to_all || s.kind == collective::slice;
      for (int r = 0; r < t.ranks(); ++r) {
        auto const c = t.coordinates_of(r);
        if (gives_parts) REQUIRE(in_order(s, s.from, extents, t, c));
        if (makes_parts) REQUIRE(in_order(s, s.to, extents, t, c));
        bool const reduces = s.kind == collective::all_reduce ||
                             s.kind == collective::reduce_scatter;
        auto const load = ashlar::step_traffic(s, extents, t, c);
        if (!reduces) REQUIRE(load.elements == report[static_cast<std::size_t>(r)].elements);
        if (!ashlar::communicates(s.kind)) REQUIRE(load == ashlar::traffic{});
      }
    });
  }
  return count;
}

}  // namespace

TEST_CASE("every step is right on every placement of a matrix, uneven extents") {
  CHECK(check_steps({7, 5}, {{"a", 2}, {"b", 2}, {"c", 2}}, reduction::sum) > 800);
  CHECK(check_steps({7, 5}, {{"a", 2}, {"b", 3}, {"c", 2}}, reduction::sum) > 800);
  CHECK(check_steps({7, 5}, {{"a", 3}, {"b", 2}, {"c", 4}}, reduction::sum) > 800);
}

TEST_CASE("every step is correct if the order of nested splits moves the shard boundaries") {
  // At these extents, the shard boundaries of a third, inner axis depend on the order of the two
  // outer axes.
  CHECK(check_steps({8, 3}, {{"a", 2}, {"b", 3}, {"c", 4}}, reduction::sum) > 800);
  CHECK(check_steps({29, 3}, {{"a", 2}, {"b", 3}, {"c", 4}}, reduction::sum) > 800);
  CHECK(check_steps({14, 8}, {{"a", 3}, {"b", 2}, {"c", 2}}, reduction::sum) > 800);
}

TEST_CASE("every step is right with maxima and minima, whose padding is not zero") {
  CHECK(check_steps({7, 5}, {{"a", 2}, {"b", 3}}, reduction::max) > 100);
  CHECK(check_steps({7, 5}, {{"a", 2}, {"b", 2}}, reduction::min) > 100);
}

TEST_CASE("every step is right for extents below the axes, zero, and axes of one rank") {
  CHECK(check_steps({1, 2}, {{"a", 2}, {"b", 3}, {"c", 2}}, reduction::sum) > 800);
  CHECK(check_steps({0, 3}, {{"a", 2}, {"b", 3}}, reduction::sum) > 100);
  CHECK(check_steps({3, 4}, {{"a", 1}, {"b", 3}, {"c", 1}}, reduction::sum) > 800);
}

TEST_CASE("if shards have equal sizes, no step packs more than packing_bound permits") {
  for (auto const& extents : {ashlar::shape{48, 96}, ashlar::shape{480, 960, 48}})
    for (auto const* mesh : {"gpu=2", "node=2,gpu=3", "node=2,host=2,gpu=2"}) {
      auto const t = ashlar::parse_topology(mesh);
      int steps = 0;
      for (auto const& from : all_placements(extents.rank(), t.axes(), {reduction::sum}))
        ashlar::for_each_step(from, extents.rank(), t, reduction::sum,
                              [&](ashlar::redistribution_step const& s) {
                                if (s.kind == collective::permute) return;
                                // In an all-reduce, two ranks exchange small arrays as a whole, for
                                // which packing_bound does not hold.
                                if (s.kind == collective::all_reduce && t.group_size(s.axes) == 2)
                                  return;
                                auto const shard = std::max(max_local_elements(extents, t, s.from),
                                                            max_local_elements(extents, t, s.to));
                                auto const packed = packing_bytes(s, extents, 4, t);
                                steps += packed > 0;
                                if (packed > ashlar::packing_bound(4 * shard, t.ranks()))
                                  CHECK(to_string(s.from) == "");
                              });
      CHECK(steps > 0);
    }
  CHECK(ashlar::packing_bound(1000, 1) == 0);
  CHECK(ashlar::packing_bound(1000, 4) == 2000);
  std::int64_t const chunk = ashlar::packing_chunk_bytes;
  CHECK(ashlar::packing_bound(3 * chunk, 4) == 12 * chunk);
  // The send and the receive buffer each hold two chunks for each of 4 ranks: 2 x 2 x 4 chunks.
  CHECK(ashlar::packing_bound(7 * chunk, 4) == 16 * chunk);
  CHECK(ashlar::packing_bound(100 * chunk, 4) == 200 * chunk);  // NCCL packs all data at once
}

TEST_CASE("steps that do not combine values can be reversed") {
  // A gather or a slice along one axis, an all-to-all along one axis, and any permute can each be
  // reversed by a single step.
  ashlar::topology const t{{"a", 2}, {"b", 3}, {"c", 2}};
  for (auto const& from : all_placements(2, 3))
    ashlar::for_each_step(from, 2, t, reduction::sum, [&](ashlar::redistribution_step const& s) {
      bool const single = s.axes.size() == 1 || s.kind == collective::permute;
      if (!single || s.kind == collective::all_reduce || s.kind == collective::reduce_scatter ||
          s.kind == collective::zero_pad)
        return;
      bool back = false;
      ashlar::for_each_step(s.to, 2, t, reduction::sum, [&](ashlar::redistribution_step const& r) {
        back = back || r.to == s.from;
      });
      INFO(ashlar::to_string(s.kind), " ", ashlar::to_string(s.from), " -> ",
           ashlar::to_string(s.to));
      CHECK(back);
    });
}
