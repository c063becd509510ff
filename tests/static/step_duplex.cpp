// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests duplex_seconds, which computes the time of two micro-batches that take turns in closed
// form. The example is that of figure 3 in the paper on HiDup (step/duplex_seconds.hpp): an
// all-to-all before a product, and then a reduce-scatter before another product.

#include <array>

#include <ashlar/step/duplex_seconds.hpp>

#include "../support/equation_5.hpp"

namespace {

namespace search = ashlar::search;
using search::duplex_seconds, search::duplex_stage;

// Each stage is {communication, work} in seconds. In figure 3, one micro-batch communicates while
// the other one works. The reduce-scatter (5 s) takes longer than the products beside it (4 s).
constexpr std::array<duplex_stage, 3> figure_3{{{0, 2}, {3, 4}, {5, 4}}};
// The sum below lists the intervals in order: 2 s of work; 3 s of communication beside 2 s of work;
// 4 s of work beside 3 s of communication; twice 5 s of communication beside 4 s of work; 4 s of
// work.
static_assert(duplex_seconds(figure_3) == 2 + 3 + 4 + 5 + 5 + 4);
static_assert(ashlar_test::by_equation_5(figure_3) == duplex_seconds(figure_3));

// If there is no communication, or work hides it all, the time is that of the work.
static_assert(duplex_seconds(std::array<duplex_stage, 2>{{{0, 2}, {0, 3}}}) == 10);
static_assert(duplex_seconds(std::array<duplex_stage, 2>{{{0, 2}, {2, 3}}}) == 10);
static_assert(duplex_seconds(std::array<duplex_stage, 0>{}) == 0);
// The same sequence of work and communication takes the same time in reverse order.
static_assert(duplex_seconds(std::array<duplex_stage, 3>{{{0, 4}, {5, 4}, {3, 2}}}) ==
              duplex_seconds(figure_3));

}  // namespace
