// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The closed form of two micro-batches that take turns, on the example that figure 3 of HiDup draws:
// an all-to-all before a product, then a reduce-scatter before another product.

#include <array>

#include <ashlar/step/duplex_seconds.hpp>

namespace {

namespace search = ashlar::search;
using search::duplex_seconds, search::duplex_stage;

// Equations 4 and 5: ψ adds up the seconds until both micro-batches are through a stage, and -φ is
// the work of the last stage.
template <class Stages>
constexpr double by_equation_5(Stages const& stages) {
  auto const larger = [](double a, double b) { return a > b ? a : b; };
  double psi = 0, phi = 0;
  for (duplex_stage const& s : stages) {
    double const next = -s.work;
    psi = psi + phi + larger(-phi, s.communication) + larger(s.communication, s.work) - next;
    phi = next;
  }
  return psi;
}

// The first product of both micro-batches: 2 · 4 s. Its all-to-all takes 3 s, and the first stage of
// figure 1c takes 2 s. The reduce-scatter takes 5 s, which is more than the products beside it.
constexpr std::array<duplex_stage, 3> figure_3{{{0, 2}, {3, 4}, {5, 4}}};
// 2 | 3 beside 2 | 4 beside 3 | 5 beside 4 | 5 beside 4 | 4
static_assert(duplex_seconds(figure_3) == 2 + 3 + 4 + 5 + 5 + 4);
static_assert(by_equation_5(figure_3) == duplex_seconds(figure_3));

// Without communication, and with communication that the work hides completely.
static_assert(duplex_seconds(std::array<duplex_stage, 2>{{{0, 2}, {0, 3}}}) == 10);
static_assert(duplex_seconds(std::array<duplex_stage, 2>{{{0, 2}, {2, 3}}}) == 10);
static_assert(duplex_seconds(std::array<duplex_stage, 0>{}) == 0);
// It is symmetric in time.
static_assert(duplex_seconds(std::array<duplex_stage, 3>{{{0, 4}, {5, 4}, {3, 2}}}) ==
              duplex_seconds(figure_3));

}  // namespace
