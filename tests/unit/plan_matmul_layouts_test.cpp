// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests plans of matrix products in which the planner also chooses the placements of the operands
// and of the result. No element of a matrix may be stored on two ranks. The rank that receives most
// must receive as many elements as with the best grid of p1 x p2 x p3 ranks, which the test finds
// by trying all grids. With little memory, a plan must still be found, and must fit.

#include <algorithm>
#include <array>
#include <sstream>

#include <doctest/doctest.h>
#include <support/naive_placement.hpp>

#include <ashlar/plan/matmul_layouts.hpp>
#include <ashlar/plan/matmul_text.hpp>

namespace ashlar_test {
namespace {

using extents = std::array<std::int64_t, 3>;  // m, n, k

/// Returns the number of elements that a rank receives with the best grid, if all splits are even.
/// Tries all grids with p1 x p2 x p3 = p ranks along m, n and k.
double best_grid(extents const& e, int p) {
  auto const m = double(e[0]), n = double(e[1]), k = double(e[2]);
  double best = 1e300;
  for (int p1 = 1; p1 <= p; ++p1)
    for (int p2 = 1; p1 * p2 <= p; ++p2) {
      if (p % (p1 * p2) != 0) continue;
      int const p3 = p / (p1 * p2);
      best = std::min(best, m * k / (p1 * p3) * (1 - 1.0 / p2) +
                                k * n / (p2 * p3) * (1 - 1.0 / p1) +
                                m * n / (p1 * p2) * (1 - 1.0 / p3));
    }
  return best;
}

/// Returns the number of elements that a rank receives while the plan runs, for the rank that
/// receives most.
std::int64_t most_received(ashlar::matmul_plan const& plan, ashlar::topology const& t) {
  std::int64_t most = 0;
  for (int r = 0; r < t.ranks(); ++r)
    most = std::max(most, received_bytes(plan, t, t.coordinates_of(r)));
  return most / plan.a.element_size;
}

ashlar::topology cube_of(int ranks) {
  ashlar::topology t;
  char const* const names[] = {"a", "b", "c", "d"};
  for (; ranks > 1; ranks /= 2) t.axis.push_back({names[t.axes()], 2});
  return t;
}

bool is_spread(placement const& p) {
  return std::all_of(p.axis.begin(), p.axis.end(), [](auto const& r) { return r.is_split(); });
}

std::string text(ashlar::matmul_plan const& plan, ashlar::topology const& t,
                 ashlar::machine const& m) {
  std::ostringstream out;
  out << ashlar::matmul_report{plan, t, m};
  return out.str();
}

}  // namespace

TEST_CASE("received elements equal those of the best integer grid") {
  extents const shapes[] = {{1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096},
                            {512, 512, 32768},  {16384, 512, 512},  {4096, 4096, 256}};
  for (auto const& m : {ashlar::machines::workstation, ashlar::machines::gpu_cluster})
    for (auto const& e : shapes)
      for (int p : {2, 4, 8, 16}) {
        auto const t = cube_of(p);
        auto const best = ashlar::plan_matmul_layouts(e[0], e[1], e[2], t, 8, m, 0);
        CHECK_MESSAGE(double(most_received(best.plan, t)) == best_grid(e, p),
                      text(best.plan, t, m));
        CHECK((is_spread(best.a) && is_spread(best.b) && is_spread(best.c)));
        CHECK(
            (best.a == best.plan.a.from && best.b == best.plan.b.from && best.c == best.plan.c.to));
      }
}

TEST_CASE("uneven extents and meshes: stored once, and no placements found at random cost less") {
  std::mt19937 random(31);
  auto const m = ashlar::machines::workstation;
  for (auto const& t : {ashlar::topology{{"gpu", 3}}, ashlar::topology{{"node", 2}, {"gpu", 3}}}) {
    auto states = all_placements(2, t.axes(), {});
    states.erase(std::remove_if(states.begin(), states.end(),
                                [](placement const& p) { return !is_spread(p); }),
                 states.end());
    auto const any = [&] {
      return states[static_cast<std::size_t>(
          uniform(random, 0, static_cast<int>(states.size()) - 1))];
    };
    for (int i = 0; i < 12; ++i) {
      std::int64_t const rows = uniform(random, 1, 700), columns = uniform(random, 1, 700),
                         inner = uniform(random, 1, 700);
      auto const best = ashlar::plan_matmul_layouts(rows, columns, inner, t, 4, m, 0);
      CHECK((is_spread(best.a) && is_spread(best.b) && is_spread(best.c)));
      for (int j = 0; j < 20; ++j) {
        auto const other = plan_matmul({rows, inner}, any(), {inner, columns}, any(), false, false,
                                       any(), 4, t, m, {});
        CHECK(best.plan.seconds <= other.seconds * (1 + 1e-9) + 1e-11);
      }
    }
  }
}

TEST_CASE("with little memory a grid that fits is chosen, or the best one streams") {
  auto const t = cube_of(8);
  auto const m = ashlar::machines::workstation;
  auto const free = ashlar::plan_matmul_layouts(1024, 1024, 1024, t, 8, m, 0);
  std::int64_t const shards = 3 * 1024 * 1024 * 8 / 8;
  for (int part = 3; part < 10; ++part) {
    std::int64_t const limit = shards + (free.plan.peak_bytes - shards) * part / 10;
    auto const tight = ashlar::plan_matmul_layouts(1024, 1024, 1024, t, 8, m, limit);
    CHECK(tight.plan.peak_bytes <= limit);
    CHECK((is_spread(tight.a) && is_spread(tight.b) && is_spread(tight.c)));
  }
  CHECK_THROWS_AS(ashlar::plan_matmul_layouts(1024, 1024, 1024, t, 8, m, shards - 1),
                  ashlar::error);
}

}  // namespace ashlar_test
